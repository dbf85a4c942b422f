import json

import pytest

from leakgauge.cli.main import main

PLAN = """
seed = 3
[[audit]]
name = "one-count"
domain = "blackbox"
rounds = 200
mechanism = { name = "laplace", epsilon = 1.0 }
attacks = ["likelihood"]
challenger = { pair = [[0], [1]] }
"""


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "count.toml").write_text(PLAN)
    return "count.toml"


def test_the_answer_is_printed_with_the_files(plan, capsys):
    assert main(["tune", plan, "--limit", "accuracy=0.6"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Largest epsilon confirmed under your limit: 0.446."  # -2 log(2 (1 - 0.6)) is 0.4463
    assert out[-2:] == [
        "Plan to publish with: runs/count-tune/tuned-plan.toml",
        "Page: runs/count-tune/tune.html",
    ]


def test_json_says_that_nothing_was_confirmed(plan, capsys, tmp_path):
    (tmp_path / "policy.toml").write_text("[limits]\naccuracy = 0.5001\n")
    assert main(["tune", plan, "--policy", "policy.toml", "--json", "--out", "out", "--seed", "5"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert (printed["status"], printed["setting"], printed["seed"]) == ("not confirmed", None, 5)
    assert printed["closest"]["setting"] == {"mechanism.epsilon": 0.001}
    assert "plan" not in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no limit is stated"),
        (["--limit", "accuracy"], "write METRIC=VALUE, such as --limit accuracy=0.6"),
        (["--limit", "accuracy=0.4"], "must be above 0.5"),
        (["--limit", "accurracy=0.6"], "did you mean 'accuracy'"),
        (["--limit", "accuracy=0.6", "--vary", "mechanism.suppress"], "no key that can be tuned"),
        (["--limit", "accuracy=0.6", "--vary", ","], "no key in it"),
        (["--limit", "accuracy=0.6", "--audit", "other"], "no audit is called 'other'"),
        (["--limit", "accuracy=0.6", "--rounds", "0"], "rounds must be in"),
        (["--limit", "accuracy=0.6", "--workers", "0"], "workers must be >= 1"),
        (["--limit", "recognised=0.01"], "people cannot be counted in this domain"),
        (["--limit", "accuracy=0.6", "--policy", "policy.toml"], "leave out one of them"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(plan, arguments, words, capsys, tmp_path):
    assert main(["tune", plan, *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()
