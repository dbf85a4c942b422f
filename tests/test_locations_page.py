"""The page on counts per place and hour: its plan works, and it names what a plan may say."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.cli.main import main
from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.plan_tables import (
    LocationsChallengerTable,
    LocationsKnowledgeTable,
    LocationsTargetsTable,
)
from leakgauge.plan import read_plan

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "locations.md"
ATTACKS = catalog.module_names("leakgauge.domains.locations.attacks")


def plan_of_the_page():
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (plan,) = (block for block in blocks if block.startswith("seed"))
    return plan


def test_plan_on_page_reads_a_visits_file(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        f"{person},2024-05-{day:02d} {hour:02d}:00:00,{45.4 + north:.4f},{9.1 + east:.4f}"
        for person, day, hour, north, east in zip(
            np.arange(26_400) // 12,
            rng.integers(6, 13, 26_400),
            rng.integers(24, size=26_400),
            rng.random(26_400) / 10,
            rng.random(26_400) / 10,
            strict=True,
        )
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["user,time,lat,lon", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(plan_of_the_page())
    plan = read_plan(tmp_path / "plan.toml")
    game = catalog.prepare_audit(plan.audits[0], plan)
    assert game.challenger.n_targets == 10
    assert game.challenger.traces.map.n_places == 100
    assert game.challenger.traces.map.n_epochs == 168


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_options_are_documented(attack):
    page = PAGE.read_text()
    assert f"| `{attack}` |" in page
    for option in fields(import_module(f"leakgauge.domains.locations.attacks.{attack}").Attack):
        assert f"`{option.name}`" in page, option.name


def test_release_and_knowledge_keys_are_documented():
    page = PAGE.read_text()
    for name in DOMAIN.knowledge_terms:
        assert f"| `{name}` |" in page
    for key in (
        field.name
        for table in (LocationsChallengerTable, LocationsTargetsTable, LocationsKnowledgeTable)
        for field in fields(table)
    ):
        assert re.search(rf"\b{key}\b", page), key


def test_page_on_cells_documents_its_keys_and_shows_the_example():
    from leakgauge.domains.locations.data.cell_files.cell_plan_table import CellColumnsTable, CellDataTable
    from leakgauge.domains.locations.data.synthetic_genotypes import SyntheticGenotypes

    page = (DOCS / "cell-tables.md").read_text()
    tables = (CellDataTable, CellColumnsTable, SyntheticGenotypes)
    for key in (field.name for table in tables for field in fields(table)):
        assert f"`{key}`" in page, key
    example = (DOCS.parent / "examples" / "genotypes" / "plan.toml").read_text()
    assert example[example.index("seed") :] in page


def test_data_keys_are_documented():
    from leakgauge.domains.locations.data.synthetic_city import SyntheticCity
    from leakgauge.domains.locations.plan_tables import LocationsDataTable

    page = (DOCS / "locations-data.md").read_text()
    for key in (field.name for table in (SyntheticCity, LocationsDataTable) for field in fields(table)):
        assert f"`{key}`" in page, key


PLAN_OF_PLACES = """
seed = 1
[[audit]]
name = "places"
domain = "locations"
rounds = 20
challenger = { group_size = 20, targets = 1, splits = 1 }
mechanism = { name = "laplace", epsilon = 1.0 }
[audit.data]
source = "visits.csv"
window = ["2024-05-06", "2024-05-13"]
"""


def test_dry_run_says_what_is_in_the_data_in_the_words_of_the_page(tmp_path, capsys):
    """Words only; tests/domains/locations/test_real_data.py also compares numbers, if it has the file."""
    rng = np.random.default_rng(1)
    rows = [
        f"{person},2024-05-{day:02d} {hour:02d}:00:00,p{place}"
        for person, day, hour, place in zip(
            np.arange(600) // 6,
            rng.integers(6, 20, 600),
            rng.integers(24, size=600),
            rng.integers(20, size=600),
            strict=True,
        )
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["user,time,place", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN_OF_PLACES)
    assert main(["run", str(tmp_path / "plan.toml"), "--dry-run"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    page = (DOCS / "locations-data.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    shown = " ".join(shown.split()).replace("visits.parquet", "visits.csv")
    number = r"\d(?:[\d,.:T-]*\d)?"
    assert re.sub(number, "#", shown) in re.sub(number, "#", output)


@pytest.mark.nightly
def test_exposure_on_the_page_is_that_of_the_example(tmp_path, capsys):
    number = r"\d+(?:,\d{3})*(?:\.\d+)?"
    blocks = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (shown,) = (" ".join(block.split()) for block in blocks if " can be recognised by " in block)
    example = DOCS.parent / "examples" / "city-table" / "plan.toml"
    assert main(["expose", str(example), "--out", str(tmp_path / "run")]) in (0, 1, 3)
    printed = " ".join(capsys.readouterr().out.split())
    pattern = re.escape(re.sub(number, "#", shown)).replace(r"\#", number)
    (found,) = (match.group() for match in re.finditer(pattern, printed))
    read = ([float(one.replace(",", "")) for one in re.findall(number, text)] for text in (shown, found))
    assert next(read) == pytest.approx(next(read), rel=0.02)
