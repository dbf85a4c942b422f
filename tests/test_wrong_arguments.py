"""Public functions called with wrong arguments: one clear line each, and nothing written."""

import numpy as np
import pytest

import leakgauge
from leakgauge import BadInput

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
