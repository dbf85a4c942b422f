"""An attack of the user's own, in a file beside the plan."""

from pathlib import Path

import pytest

import leakgauge
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.plan import read_plan
from leakgauge.runner.attack_check import check_attacks

MINE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Reading, Scorer


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Compare the first number with the middle of its two true values."""

    accepts: ClassVar[tuple[str, ...]] = ("law",)
    weight: float = 1.0

    def study(self, knowledge, rng):
        middle, weight = float(knowledge.low[0] + knowledge.high[0]) / 2, self.weight

        def score(view, rng):
            return weight * (np.asarray(view)[:, :1] - middle)

        return Scorer(score, Reading(signed=True, threshold=0.0))
'''
PLAN = """
seed = 1
[[audit]]
name = "count"
domain = "blackbox"
rounds = 200
block = 50
mechanism = { name = "laplace", epsilon = 1.0 }
challenger = { pair = [[0], [1]] }
attacks = ["likelihood", { name = "mine:Attack", knowledge = "law", weight = 2.0 }]
"""


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("plan.toml").write_text(PLAN)
    return Path("plan.toml")


def change(file, old, new):
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def test_it_faces_the_same_releases_as_the_others_on_any_number_of_workers(plan):
    likelihood, mine = leakgauge.run(plan, out="one")
    assert (mine.attack, mine.label) == ("mine:Attack", "Attack-law")
    assert mine.parameters["attack"] == {"weight": 2.0}
    # the sign of this score is that of the likelihood ratio, and a threshold sees nothing else
    assert mine.metrics["accuracy"].value == likelihood.metrics["accuracy"].value
    assert mine.instrument["control"]["status"] == "passed"
    two = leakgauge.run(plan, out="two", workers=2)
    assert [one.metrics for one in two] == [likelihood.metrics, mine.metrics]


def test_a_run_is_not_continued_with_other_code(plan):
    leakgauge.run(plan, out="one")
    change("mine.py", "/ 2, self", "/ 3, self")
    with pytest.raises(BadInput, match="the data or code behind audit 'count' changed"):
        leakgauge.run(plan, out="one")


def test_reading_a_plan_runs_no_code(plan):
    Path("mine.py").write_text("raise SystemExit('it was run')")
    assert read_plan(plan).audits[0].contenders[1].attack == "mine:Attack"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("plan.toml", ', knowledge = "law"', "", "states what it knows: knowledge ="),
        ("plan.toml", '"law"', '"simulator"', "mine:Attack cannot use knowledge 'simulator'; it needs 'law'"),
        (
            "plan.toml",
            "mine:Attack",
            "mine:Atack",
            "the module 'mine' has no 'Atack'; did you mean 'Attack'\\?",
        ),
        ("plan.toml", "mine:Attack", "mime:Attack", "no installed module 'mime'; did you mean 'mine'\\?"),
        ("plan.toml", "mine:Attack", "other:Attack", "there is no other.py in .*; check the name, or move"),
        ("plan.toml", "weight =", "wight =", "did you mean 'weight'"),
        ("mine.py", '("law",)', '("everything",)', "accepts: no knowledge is called 'everything'"),
        ("mine.py", '("law",)', "()", "must state what it can use"),
        ("mine.py", "@dataclass(frozen=True, kw_only=True)", "", "must be a dataclass with a method study"),
        ("mine.py", "def study", "def learn", "must be a dataclass with a method study"),
        (
            "mine.py",
            "(self, knowledge, rng)",
            "(self, knowledge)",
            r"line 17\) takes \(self, knowledge\); write: def study\(self, knowledge, rng\):",
        ),
        (
            "mine.py",
            "(view, rng)",
            "(view)",
            r"score \(mine\.py, line 20\) takes \(view\); write: def score\(view, rng\):",
        ),
        ("mine.py", "low[0]", "lowest[0]", r"study raised AttributeError: .*mine\.py, line 18"),
        ("mine.py", "return Scorer", "raise SystemExit", r"study raised SystemExit: .*mine\.py, line 23"),
        ("mine.py", "return weight *", "raise SystemExit", r"scorer raised SystemExit: .*mine\.py, line 21"),
        (
            "mine.py",
            "    def study",
            "    def __post_init__(self): raise SystemExit\n    def study",
            r"building it raised SystemExit: .*mine\.py, line 17",
        ),
        ("mine.py", "[:, :1]", "[:, 7]", r"the scorer raised IndexError: .*mine\.py, line 21"),
        (
            "mine.py",
            "return Scorer(score",
            "return (score",
            r"must return a Scorer, got tuple; .* Scorer\(score\)",
        ),
        (
            "mine.py",
            "return Scorer(score, Reading(signed=True, threshold=0.0))",
            "return score",
            r"study must return a Scorer, got function; write: return Scorer\(score\)$",
        ),
        (
            "mine.py",
            "- middle)\n",
            "- middle) * np.nan\n",
            "'mine:Attack': .* NaN or infinite; return a finite",
        ),
        (
            "mine.py",
            "- middle)\n",
            "- middle) + np.inf\n",
            "'mine:Attack': .* NaN or infinite; return a finite",
        ),
        (
            "mine.py",
            "[:, :1]",
            "[:, 0]",
            r"'Attack-law': returned scores of shape \((\d+),\), expected \(\1, 1\), .*: scores\[:, None\]",
        ),
        (
            "mine.py",
            "            return weight",
            "            view[0][:] = 0\n            return weight",
            "read-only|changed the release",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_way_out(plan, file, old, new, message):
    change(file, old, new)
    with pytest.raises(BadInput, match=message) as caught:
        leakgauge.run(plan, out="one")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_attack_that_ends_the_program_is_no_green_run(plan, workers, capsys):
    change("mine.py", "return weight *", "raise SystemExit(0)  #")
    assert main(["run", str(plan), "--workers", workers]) == 2
    err = capsys.readouterr().err
    assert "attack 'mine:Attack': the scorer raised SystemExit: 0 (" in err
    assert "mine.py, line 21)" in err


def test_the_checks_of_our_attacks_are_made_on_it(plan):
    assert check_attacks(plan) == {"likelihood-law": (), "Attack-law": ()}
    change("mine.py", "return weight *", "return -weight *")
    assert "higher must mean a member" in check_attacks(plan)["Attack-law"][0]
    change("mine.py", "return -weight *", "return np.random.random() + weight *")
    assert "draw all of them from rng" in check_attacks(plan)["Attack-law"][0]
    change("mine.py", "[:, :1]", "[:, :0]")
    assert "scores of shape" in check_attacks(plan)["Attack-law"][0]
