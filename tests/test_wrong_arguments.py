"""Public functions called with wrong arguments: one clear line each, and nothing written."""

import re

import numpy as np
import pytest

import leakgauge
from leakgauge import BadInput
from leakgauge.cli.main import main
from leakgauge.limits import read_policy

NAN, INF = float("nan"), float("inf")
PLAN = {
    "audit": [
        {
            "name": "noise",
            "domain": "blackbox",
            "rounds": 20,
            "challenger": {"pair": [0, 1]},
            "mechanism": {"name": "laplace", "epsilon": 1.0},
        }
    ]
}
BITS, SCORES = [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(function, *arguments, **settings):
    with pytest.raises(BadInput) as caught:
        function(*arguments, **settings)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("function", [leakgauge.run, leakgauge.expose])
@pytest.mark.parametrize(
    "plan", [None, 7, NAN, [], [PLAN], "", "no.toml", ".", "a\0b", b"plan.toml", {}, object()]
)
def test_wrong_plan(function, plan, tmp_path):
    assert refused(function, plan).startswith(("plan", "no.toml: no such plan file", ".: cannot be read"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "out": [7, NAN, "", [], b"out", "a\0b"],
        "seed": ["7", -1, 2**63, NAN, 1.0, [], True],
        "fresh": ["no", 1, None, []],
        "engine": [None, 7, "cluster", []],
        "workers": [0, -1, "2", None, 1.5, NAN, True],
        "address": [7, "tcp://nowhere:1", []],
    }.items(),
)
def test_wrong_arguments_of_run(name, values, tmp_path):
    for value in values:
        message = refused(leakgauge.run, PLAN, **{name: value})
        assert name in message
        assert "--" not in message.replace("(in Python", ""), "advice must fit the caller"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "members": [
            None,
            7,
            "yes",
            [],
            [0, 1],
            [[0, 1], [1, 0]],
            [0, 1, 2, 0],
            [0, 1, NAN, 0],
            [0] * 4,
            [[0], 1],
        ],
        "scores": [
            None,
            7,
            "yes",
            [],
            [0.1],
            [["a"], 1],
            ["a"] * 4,
            [0.1, NAN, 1, 2],
            [0.1, INF, 1, 2],
            [1j] * 4,
        ],
        "rounds": [7, "yes", [], [1], [[1], 2], [1, 2, 3, None], [NAN] * 4, {"a": 1}],
        "targets": [7, "yes", [], [1], [[1], 2], [1, 2, 3, None], [NAN] * 4],
        "epsilon": ["1", -1, NAN, [], True],
        "delta": ["0", -1, NAN, 1, 0.1, None],
        "confidence": ["0.9", 0.1, 1.0, NAN, None, -1],
        "coins": [None, 7, "biased", []],
        "seed": ["7", -1, 2**63, NAN, 1.5, None],
        "limits": [None, 7, "accuracy", {"accuracy": 2}, {"acuracy": 0.6}, {"accuracy": None}, []],
    }.items(),
)
def test_wrong_arguments_of_judge(name, values):
    for value in values:
        settings = {"members": BITS, "scores": SCORES, name: value}
        message = refused(leakgauge.judge, settings.pop("members"), settings.pop("scores"), **settings)
        assert name.rstrip("s") in message, value
        assert "--" not in message


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "release": [None, 7, "mine:release"],
        "pair": [None, 7, "ab", (1,), (1, 2, 3), []],
        "epsilon": ["1", -1, NAN, []],
        "delta": ["0", -1, NAN, 1, None],
        "rounds": ["20", 0, -1, NAN, None, 2.5, 10**12],
        "confidence": ["0.9", 0.1, 1.0, NAN, None],
        "seed": ["7", -1, 2**63, NAN, None],
        "workers": ["2", 0, None, 1.5],
    }.items(),
)
def test_wrong_arguments_of_audit_mechanism(name, values):
    given = {
        "release": lambda value, rng: value + rng.laplace(),
        "pair": (0, 1),
        "epsilon": 1.0,
        "rounds": 50,
    }
    for value in values:
        settings = {**given, name: value}
        message = refused(
            leakgauge.audit_mechanism, settings.pop("release"), settings.pop("pair"), **settings
        )
        assert name in message, value
        assert "--" not in message


@pytest.mark.parametrize("name", ["query_log", "contains", "data", "id_column", "delta", "out"])
def test_wrong_arguments_of_expose_log(name, tmp_path):
    (tmp_path / "log.csv").write_text("query,records,epsilon\n1,a,1\n")
    for value in (7, NAN, [], b"log.csv", "" if name not in ("delta", "id_column") else 2.0):
        refused(leakgauge.expose_log, **{"query_log": "log.csv", name: value})
    refused(leakgauge.expose_log, None)
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "paper": [None, 7, "", "liu2024", []],
        "only": [7, "", "figure_99", []],
        "scale": [None, 7, "huge"],
        "data": [7, "", "nowhere", []],
        "out": [7, "", []],
        "seed": [None, "7", -1, NAN, 2**63],
        "fresh": [None, "no", 1],
        "engine": [None, "cluster"],
        "workers": [None, 0, "2"],
    }.items(),
)
def test_wrong_arguments_of_reproduce(name, values, tmp_path):
    for value in values:
        settings = {"paper": "liu24", name: value}
        message = refused(leakgauge.reproduce, settings.pop("paper"), **settings)
        assert name in message or name == "only"
        assert list(tmp_path.iterdir()) == []


def test_a_run_is_not_cleared_by_a_string_that_says_no(tmp_path):
    leakgauge.run(PLAN, out="run")
    blocks = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.npz")}
    refused(leakgauge.run, PLAN, out="run", fresh="no")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.npz")} == blocks


def test_numbers_of_numpy_are_numbers():
    assert leakgauge.judge(np.array(BITS * 50), np.array(SCORES * 50), seed=np.int64(3)).seed == 3


def untold(text):
    """The words of a plan in a text for people who have none."""
    return [word for word in ("plan", "challenger.", "[[audit", "--") if word in text]


CLAIM = {"epsilon": 4.0, "sample_rate": 0.1, "steps": 20}


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "train": [None, 7, "mine:train", lambda x: None],
        "epsilon": ["4", -1, NAN, []],
        "delta": ["0", -1, 2],
        "sample_rate": [0, 2, "x"],
        "steps": [0, "4", 2.5],
        "sampling": ["x", 7],
        "relation": ["x", 7],
        "noise_multiplier": [-1, "x"],
        "coin": ["x", 7],
        "canaries": [0, "x"],
        "rounds": [0, "x"],
        "confidence": [2, "x"],
        "seed": [-1, "x"],
    }.items(),
)
def test_wrong_arguments_of_audit_training(name, values):
    for value in values:
        settings = {"train": lambda watch: None, **CLAIM, name: value}
        message = refused(leakgauge.audit_training, settings.pop("train"), **settings)
        assert name in message or name == "train", value
        assert untold(message) == [], message


def test_wrong_attacks_of_audit_model_are_named_without_a_plan():
    rng = np.random.default_rng(0)
    losses = (rng.random(60), None, rng.random(60), None)
    for attacks, said in (
        (["nope"], "attacks[0].name: no attack on models is called 'nope'"),
        ([7], "attacks[0]: must be a table, got 7"),
        (["lira"], "it is not stated how this one was trained; use loss_threshold, or state it: train, or"),
    ):
        message = refused(leakgauge.audit_model, None, *losses, attacks=attacks)
        assert said in message
        assert untold(message) == [], message
    assert untold(refused(leakgauge.audit_model, None, *losses, confidence=2)) == []


def test_report_of_a_python_call_does_not_speak_of_a_plan(tmp_path):
    rng = np.random.default_rng(0)
    members = rng.random(60) < 0.5
    calls = {
        "mechanism": leakgauge.audit_mechanism(lambda x, rng: rng.laplace(x), (0, 1), epsilon=6.0, rounds=30),
        "scores": leakgauge.judge(members, members + rng.normal(size=60), epsilon=9.0, coins="fair"),
        "model": leakgauge.audit_model(None, rng.random(60), None, 1 + rng.random(60), None),
    }
    for name, result in calls.items():
        html = result.save_report(tmp_path / f"{name}.html").read_text()
        text = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
        text = re.sub(r"<[^>]+>", " ", text).replace("or under [limits] in a plan", "")
        text = text.replace("below [limits] in the plan or a policy file (in Python: ", "")
        assert re.findall(r"[^.]*\bplan\b[^.]*|--fresh|--seed", text) == [], name


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("new visits.csv --kind location --yes", "known: function, scores"),
        ("new book.xlsx --yes", "unknown ending; .* save the sheet as CSV"),
        ("run plan.toml --rounds 10", "unrecognized arguments: --rounds 10; see: leakgauge run --help"),
        ("judge plan.toml", "scores are read from a CSV file; to run a plan: leakgauge run plan.toml"),
        ("schema --out plan.toml", "plan.toml: is there already and is no JSON; choose another --out"),
    ],
)
def test_a_wrong_command_is_one_line_with_a_way_out(command, message, tmp_path, capsys):
    files = {"visits.csv": "user,time\n1,2\n", "book.xlsx": "PK", "plan.toml": "[[audit]]\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line), line
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == files


def test_a_limit_outside_of_its_table_is_named(tmp_path):
    (tmp_path / "policy.toml").write_text("accuracy = 0.6\n")
    with pytest.raises(BadInput, match=r"'accuracy' stands outside of a table; write \[limits\] above it"):
        read_policy(tmp_path / "policy.toml")


def test_a_bundle_does_not_replace_another_file(tmp_path):
    (tmp_path / "visits.csv").write_text("user,time\n")
    with pytest.raises(BadInput, match=r"visits\.csv: is there already and is no bundle"):
        leakgauge.bundle(tmp_path / "run", out=tmp_path / "visits.csv")
    assert (tmp_path / "visits.csv").read_text() == "user,time\n"
