"""The attacks of docs/own-attack.md, one for each domain, run from a file beside a plan as the page says."""

import json
import re
import shutil
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox import knowledge as blackbox
from leakgauge.domains.federated import knowledge as federated
from leakgauge.domains.federated.flower_app.knowledge import AppServerKnowledge
from leakgauge.domains.locations import knowledge as locations
from leakgauge.domains.models import knowledge as models
from leakgauge.domains.queries import knowledge as queries
from leakgauge.plan import read_plan
from leakgauge.runner.attack_check import check_attacks
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import study_attacks

PAGE = (Path(__file__).parents[1] / "docs" / "own-attack.md").read_text()
FILES = {
    name: text
    for text, name in re.findall(
        r"^```(?:python|toml)\n(# (\S+\.(?:py|toml))\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
}
DOMAINS = {
    tomllib.loads(text)["audit"][0]["domain"]: name.removesuffix(".toml")
    for name, text in FILES.items()
    if name.endswith(".toml")
}
KINDS = {
    ("blackbox", "law"): blackbox.LawKnowledge,
    ("blackbox", "simulator"): blackbox.SimulatorKnowledge,
    ("locations", "auxiliary"): locations.AuxiliaryKnowledge,
    ("locations", "past"): locations.PastReleasesKnowledge,
    ("locations", "zero"): locations.ZeroKnowledge,
    ("queries", "known"): queries.KnownRecords,
    ("queries", "attributes"): queries.KnownAttributes,
    ("federated", "server"): federated.ServerKnowledge,
    ("federated", "app_server"): AppServerKnowledge,
    ("models", "black_box"): models.BlackBoxKnowledge,
    ("models", "strong"): models.StrongKnowledge,
    ("models", "blind"): models.BlindKnowledge,
}
SPOILED = """

_study = {name}.study


def spoiled(self, knowledge, rng):
    found = _study(self, knowledge, rng)
    return Scorer(lambda view, rng: {scores}, found.reading)


{name}.study = spoiled
"""


@pytest.fixture(params=sorted(DOMAINS))
def stem(request, tmp_path, monkeypatch):
    """The name of an attack's file and plan, both in the current folder."""
    monkeypatch.chdir(tmp_path)
    stem = DOMAINS[request.param]
    for ending in (".py", ".toml"):
        Path(stem + ending).write_text(FILES[stem + ending])
    return stem


def spoil(stem, scores):
    file = Path(f"{stem}.py")
    name = re.search(r"^class (\w+)", FILES[file.name], re.MULTILINE)[1]
    file.write_text(FILES[file.name] + SPOILED.format(name=name, scores=scores))


def test_there_is_an_attack_for_every_domain():
    assert sorted(DOMAINS) == ["blackbox", "federated", "locations", "models", "queries"]


def test_the_table_names_what_knowledge_really_has():
    rows = [row.split(" | ") for row in re.findall(r"^\|(.*) \|$", PAGE, re.MULTILINE)[1:]]
    domain, seen = "", set()
    for place, names, given, _ in rows:
        domain = place.strip("|` ") or domain
        first = re.findall(r'"(\w+)"', names)[0]
        kind = KINDS[domain, first]
        seen.add((domain, first))
        outside = re.sub(r"\([^)]*\)", "", given)  # parentheses explain a field, or name arguments
        known = {field.name for field in fields(kind)} | set(dir(kind))
        if kind is not AppServerKnowledge:
            assert set(re.findall(r"`(\w+)`", outside)) <= known, (domain, first)
    assert seen == set(KINDS)


def scores_of(stem):
    """The scores of the attack alone in a few rounds."""
    plan = read_plan(f"{stem}.toml")
    audit = replace(plan.audits[0], contenders=plan.audits[0].contenders[1:])
    play = study_attacks(catalog.prepare_audit(audit, plan), 1, InProcessEngine())
    (trials,) = play(RoundBlock(0, range(4))).values()
    return trials.scores


def test_it_studies_and_scores(stem):
    scores = scores_of(stem)
    assert np.unique(scores).size > 1
    spoil(stem, "found.score(view, rng) * np.nan")
    with pytest.raises(BadInput, match="scores are NaN or infinite; return a finite number"):
        scores_of(stem)


@pytest.mark.nightly
def test_a_dry_run_estimates_it(stem, capsys):
    assert main(["run", f"{stem}.toml", "--dry-run"]) == 0
    assert "2 attackers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("found.score(view, rng) * np.nan", "NaN or infinite; return a finite number"),
        ("found.score(view, rng).ravel()[:-1]", "one row per release and one column per target"),
        ("None", "the scorer returned NoneType, which is no array of real numbers"),
        ("{}[0]", r"the scorer raised KeyError: 0 \("),
    ],
)
@pytest.mark.nightly
def test_wrong_scores_are_one_line(stem, scores, message, capsys):
    spoil(stem, scores)
    assert main(["run", f"{stem}.toml", "--out", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)
    assert not Path("run").exists()


@pytest.mark.nightly
def test_it_passes_the_checks_of_our_attacks(stem):
    assert set(check_attacks(f"{stem}.toml").values()) == {()}


def numbers(folder):
    return [
        (verdict["label"], verdict["metrics"])
        for verdict in json.loads(Path(folder, "verdicts.json").read_text())["verdicts"]
    ]


@pytest.mark.nightly
def test_it_is_run_continued_exposed_bundled_and_verified(stem, capsys):
    code = main(["run", f"{stem}.toml", "--out", "one"])
    assert code in (0, 3)  # some promises are too weak to test
    assert "passed by 2 of 2 attackers" in capsys.readouterr().out
    assert main(["run", f"{stem}.toml", "--out", "two", "--workers", "2"]) == code
    shutil.copytree("one", "interrupted")
    for file in ("verdicts.json", "report.html"):
        Path("interrupted", file).unlink()
    max(Path("interrupted", "audits").rglob("block-*.npz")).unlink()
    assert main(["run", f"{stem}.toml", "--out", "interrupted"]) == code
    assert numbers("one") == numbers("two") == numbers("interrupted")
    if FILES[f"{stem}.toml"].count('"locations"') or FILES[f"{stem}.toml"].count('"models"'):
        assert main(["expose", f"{stem}.toml", "--out", "one"]) == 0
        assert main(["run", f"{stem}.toml", "--out", "one"]) == code  # it is still the same run
    assert main(["bundle", "one"]) == 0
    capsys.readouterr()
    exposed = Path("one", "exposure.json").exists()
    assert main(["verify", "one.zip"]) == (3 if exposed else 0)  # computing it again would run this code
    Path(f"{stem}.py").write_text(FILES[f"{stem}.py"] + "# changed\n")
    assert main(["run", f"{stem}.toml", "--out", "one"]) == 2
    assert "changed" in capsys.readouterr().err
