"""What docs/flower.md tells a reader to do, done."""

import json
import re
import tomllib
from math import log, sqrt
from pathlib import Path
from shutil import copytree

import pytest
from scipy.stats import beta, norm

from leakgauge.cli.main import main
from leakgauge.domains.federated.flower_app.app_table import AppTable
from leakgauge.plan import read_plan

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "flower.md").read_text()
(PLAN,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
(INJECT,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def verdicts_of(plan, folder, name="run"):
    """Run a plan; return its verdicts and the exit code."""
    code = main(["run", str(plan), "--out", str(folder / name)])
    return json.loads((folder / name / "verdicts.json").read_text())["verdicts"], code


def copy_example(folder, plan):
    """Copy the project of the page, with a plan beside it."""
    project = folder / "project"
    copytree(ROOT / "examples" / "flower-app", project, ignore=lambda *_: {"__pycache__"})
    (project / "plan.toml").write_text(plan)
    return project


def test_keys_on_the_page_are_those_of_the_table():
    section = PAGE.partition("## Keys")[2].partition("###")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"challenger"}
    assert told == set(AppTable.__dataclass_fields__)


def test_example_has_the_plan_of_the_page():
    here, there = (
        tomllib.loads(text) for text in (PLAN, (ROOT / "examples/flower-app/plan.toml").read_text())
    )
    assert [audit["challenger"] for audit in here["audit"]] == [
        audit["challenger"] for audit in there["audit"]
    ]
    assert here["limits"] == there["limits"]


@pytest.mark.nightly
def test_ten_minutes(tmp_path, capsys):
    """The plan of the page beside a project, with fewer rounds than a reader would take."""
    project = copy_example(tmp_path, PLAN.replace("rounds = 100", "rounds = 40"))
    assert [one.attack for one in read_plan(project / "plan.toml").audits[0].contenders] == ["planted_layers"]
    (verdict,), code = verdicts_of(project / "plan.toml", tmp_path)
    assert code == 1  # over the limit
    assert verdict["risk"]["status"] == "over"
    assert verdict["instrument"]["control"]["status"] == "passed"
    assert verdict["metrics"]["accuracy_own"]["low"] > 0.8
    assert "crafted weights are in fc1 and fc2 and fc3" in capsys.readouterr().out


def cells(header):
    """The cells of the rows of a table of the page."""
    table = PAGE.partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_limits_and_intervals_beside_the_games():
    """The numbers of games are those of tests/domains/federated/flower_app/test_variants.py, at night."""
    sigma = sqrt(2 * log(1.25 / 1e-5)) / 8  # of LocalDpMod, in units of the bound
    local, weak, opacus = 1 / sigma, 1 / (8 * sigma), 2 / (0.5 * sqrt(6))
    steps = 2 * sqrt(2) / 0.5  # an attacker who sees the two steps of a record, and turns it around
    limits = [  # distances of the two worlds in standard deviations: others silent, anybody
        (local, 2 * local),
        (weak, 2 * weak),
        (opacus, steps),
        (2 * opacus, 2 * steps),
        None,
        (opacus, steps),
        (local, 2 * local),
    ]
    table = cells("| the app | right of 100 | another target | 95% interval")
    for (_, right, _, interval, *stated), limit in zip(table, limits, strict=True):
        low, high = (
            beta.ppf(0.025, int(right), 101 - int(right)),
            beta.ppf(0.975, int(right) + 1, 100 - int(right)),
        )
        assert interval == f"{low:.1%} to {high:.1%}"
        if limit is None:
            assert stated == ["", ""]
        for text, distance in zip(stated, limit or ()):
            most = norm.cdf(distance / 2)
            assert text == (">99.9%" if most > 0.9995 else f"{most:.1%}")
    assert f"{norm.cdf(2 / 4):.1%}" in PAGE
    assert f"{norm.cdf(2 / 2):.1%}" in PAGE


@pytest.mark.nightly
def test_the_command_and_its_answer(tmp_path, capsys):
    (command,) = re.findall(r"^leakgauge run (\S+) --out \S+$", PAGE, re.MULTILINE)
    (verdict,), _ = verdicts_of(ROOT / command, tmp_path)
    (right, rounds, least) = re.search(r"is right (\d+) times of (\d+) \(at least (.*)%\)", PAGE).groups()
    found = verdict["metrics"]["accuracy_own"]
    assert (found["value"], verdict["rounds"]) == (int(right) / int(rounds), int(rounds))
    assert f"{right}% ({least}% to 100%)" in capsys.readouterr().out


@pytest.mark.nightly
def test_the_stealthy_variant_stands_beside_the_plain_one(tmp_path):
    (attacks,) = re.findall(r"`(attacks = \[.*?\])`", PAGE)
    project = copy_example(
        tmp_path, PLAN.replace("rounds = 100", "rounds = 40").replace("\n[limits]", f"{attacks}\n\n[limits]")
    )
    plain, stealthy = verdicts_of(project / "plan.toml", tmp_path)[0]
    assert [one["parameters"]["attack"].get("stealthy") for one in (plain, stealthy)] == [None, True]
    for verdict in (plain, stealthy):
        assert verdict["metrics"]["accuracy_own"]["low"] > 0.8
    distances = [
        {name: value for name, value in verdict["studied"].items() if name != "whole_update"}
        for verdict in (plain, stealthy)
    ]
    assert distances[0].keys() == distances[1].keys()
    assert distances[0] != distances[1]


@pytest.mark.nightly
def test_the_function_that_injects_rows(tmp_path):
    """The page's own function, with a data set, for an app that cannot load its data."""
    plan = PLAN.replace("rounds = 100", "rounds = 40").replace(
        "targets = 1", 'inject = "mine:rows_for", targets = 1'
    )
    project = copy_example(tmp_path, plan)
    task = project / "flower_example" / "task.py"
    text = task.read_text()
    hooked = "def load_data(partition_id: int, num_partitions: int, batch_size: int):\n"
    assert hooked in text
    task.write_text(text.replace(hooked, f"{hooked}    raise OSError('no data here')\n"))
    (project / "mine.py").write_text(
        "from flower_example.task import images as my_dataset\n"
        f"from torch.utils.data import DataLoader\n\n\n{INJECT}"
    )
    (verdict,), code = verdicts_of(project / "plan.toml", tmp_path)
    assert code == 1
    assert verdict["metrics"]["accuracy_own"]["low"] > 0.8
