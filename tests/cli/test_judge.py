import json

import numpy as np
import pytest

import leakgauge
from leakgauge import api


@pytest.fixture(autouse=True)
def _no_report(monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)


@pytest.fixture
def scores(tmp_path):
    """Randomized response at epsilon 2: its promise is met with equality."""
    rng = np.random.default_rng(3)
    members = rng.random(2000) < 0.5
    said = members ^ (rng.random(2000) < 1 / (1 + np.exp(2)))
    lines = [f"{int(member)},{float(score)}" for member, score in zip(members, said)]
    (tmp_path / "scores.csv").write_text("\n".join(["member,score", *lines]))
    return "scores.csv"


def test_judges_a_score_file(call, scores):
    assert call("judge", scores).code == 3  # nothing was asked
    assert call("judge", scores, "--epsilon", "2", "--coins", "fair").code == 0
    violated = call("judge", scores, "--epsilon", "1", "--coins", "fair")
    assert violated.code == 1
    assert "Promise broken" in violated.out
    assert call("judge", scores, "--epsilon", "9", "--coins", "fair").code == 3


def test_equal_scores_are_said_to_show_nothing(call, tmp_path):
    (tmp_path / "equal.csv").write_text("member,score\n" + "0,1\n1,1\n" * 100)
    for coins in ([], ["--coins", "fair"]):
        outcome = call("judge", "equal.csv", "--epsilon", "1", *coins)
        assert outcome.code == 3
        assert "all scores are equal" in outcome.out
        assert "even in the positive control" not in outcome.out


def test_given_membership_is_not_compared_with_a_promise(call, scores):
    outcome = call("judge", scores, "--epsilon", "1")
    assert outcome.code == 3
    assert "Promise not tested" in outcome.out
    assert "membership was given" in outcome.out
    assert "coins fair" in outcome.out


def test_membership_counts_as_given_unless_declared_random(call, scores):
    given = json.loads(call("judge", scores, "--json").out)["verdicts"][0]
    fair = json.loads(call("judge", scores, "--json", "--coins", "fair").out)["verdicts"][0]
    assert (given["coins"], fair["coins"]) == ("given", "fair")
    assert given["metrics"]["epsilon"]["low"] < fair["metrics"]["epsilon"]["low"] <= 2.0


@pytest.mark.parametrize("settings", [{}, {"epsilon": 1.0}, {"epsilon": 1.7, "coins": "fair"}])
def test_python_and_command_line_find_the_same(call, scores, tmp_path, settings):
    """Fair coins can prove a violation, given membership cannot: the default matters."""
    members, said = np.loadtxt(tmp_path / scores, delimiter=",", skiprows=1).T
    direct = leakgauge.judge(members, said, **settings)
    options = [str(part) for name, value in settings.items() for part in (f"--{name}", value)]
    [shown] = json.loads(call("judge", scores, *options, "--json").out)["verdicts"]
    assert shown["finding"] == (None if direct.finding is None else direct.finding.value)
    assert shown["coins"] == direct.coins
    assert shown["metrics"]["epsilon"]["low"] == direct.metrics["epsilon"].low


def test_delta_and_confidence_are_used(call, scores):
    found = call("judge", scores, "--epsilon", "1", "--delta", "1e-5", "--confidence", "0.99", "--json")
    [verdict] = json.loads(found.out)["verdicts"]
    assert verdict["promised"]["delta"] == 1e-5
    assert verdict["metrics"]["epsilon"]["confidence"] == 0.99


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--epsilon", "-1"], "epsilon must be >= 0, got -1.0"),
        (["--epsilon", "nan"], "epsilon must be >= 0, got nan"),
        (["--delta", "0.1"], "needs an epsilon"),
        (["--epsilon", "1", "--delta", "2"], "delta must be in [0, 1), got 2.0"),
        (["--confidence", "0.9999999999"], "confidence must be in [0.5, 1 - 1e-9], got"),
        (["--epsilon", "1e7"], "epsilon = 1e+07 promises nothing, so nothing could violate it"),
        (["--confidence", "0.1"], "confidence must be in [0.5, 1 - 1e-9], got 0.1"),
    ],
)
def test_bad_options_exit_with_code_2(call, scores, flags, words):
    outcome = call("judge", scores, *flags)
    assert outcome.code == 2
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


def test_bad_file_exits_with_code_2_and_names_the_line(call, tmp_path):
    (tmp_path / "scores.csv").write_text("member,score\n1,0.5\n0,oops\n")
    assert call("judge", "scores.csv") == (
        2,
        "",
        "leakgauge: scores.csv, line 3, column score: not a number; write a number such as 0.73\n",
    )
    assert call("judge", "none.csv").code == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"1,0.5,{2**63},0", "line 3, column round: not below 2^63; write a smaller number, or a name"),
        (f"1,0.5,0,{10**40}", "line 3, column target: not below 2^63; write a smaller number, or a name"),
        ("1,1e999,0,0", "line 3, column score: not a finite number"),
        ("1,nan,0,0", "line 3, column score: not a finite number"),
        (f"1,{10**400},0,0", "line 3, column score: not a finite number"),
    ],
)
def test_numbers_that_are_too_large_exit_with_code_2(call, tmp_path, row, words):
    (tmp_path / "scores.csv").write_text(f"member,score,round,target\n0,0.5,1,0\n{row}\n")
    outcome = call("judge", "scores.csv", "--epsilon", "1")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"leakgauge: scores.csv, {words}")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 200


def test_run_folder_is_judged_again(call, plan):
    assert call("run", plan()).code == 0
    outcome = call("judge", "runs/coin", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["verdicts"][0]["rounds"] == 200
    assert call("judge", "runs/coin", "--epsilon", "1").code == 2


def test_incomplete_folder_exits_with_code_3(call, plan, tmp_path):
    call("run", plan())
    next((tmp_path / "runs").rglob("block-00000001.npz")).unlink()
    outcome = call("judge", "runs/coin")
    assert outcome.code == 3
    assert outcome.err.endswith("continue with: leakgauge run coin.toml --out runs/coin\n")


def test_non_run_folder_exits_with_code_2(call, tmp_path):
    assert call("judge", ".").code == 2


def test_too_few_trials_say_how_many_are_needed_and_no_report_is_promised(call, tmp_path):
    (tmp_path / "few.csv").write_text("member,score\n1,0.5\n0,0.2\n1,0.9\n0,0.1\n")
    out = call("judge", "few.csv").out
    assert "2 rounds beside those that choose thresholds are too few; at least 20 are needed" in out
    assert "10 with a member and 10 with a non-member." in out
    assert "report" not in out
