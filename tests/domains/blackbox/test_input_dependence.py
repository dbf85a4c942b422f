import numpy as np
import pytest

from leakgauge import audit_mechanism
from leakgauge.api import run
from leakgauge.cli.main import main
from leakgauge.domains.blackbox.input_dependence import unread_of_output, why_input_is_ignored
from leakgauge.verdict import Finding

PAIR = ([1, 0, 1], [1, 0, 1, 1])
TABLE = [3, 4, 5]


def published_table(rows, rng):
    return sum(TABLE) + rng.laplace()


def published_with_own_generator(rows, rng):
    return sum(TABLE) + np.random.default_rng().laplace()


def constant(rows, rng):
    return "published"


@pytest.mark.parametrize("release", [published_table, published_with_own_generator, constant])
def test_a_release_that_ignores_its_input_is_not_audited(release):
    found = audit_mechanism(release, PAIR, epsilon=1.0, rounds=500)
    assert (found.finding, found.rounds, found.risk.status) == (Finding.UNTESTABLE, 0, "undecided")
    assert "nothing was audited" in found.withdrawn
    assert audit_mechanism(release, PAIR, epsilon=None, rounds=500).finding is None


def test_the_same_output_is_said_with_the_number_of_calls():
    calls = []
    why = why_input_is_ignored(lambda rows, rng: calls.append(rows) or 7, PAIR)
    assert "the same in 200 of 200 calls: nothing was audited" in why
    assert sum(rows == PAIR[0] for rows in calls) >= 200


@pytest.mark.parametrize(
    "release",
    [
        lambda rows, rng: sum(rows) + rng.laplace(),
        lambda rows, rng: round(sum(rows) + rng.laplace()),
        lambda rows, rng: max(sum(rows), 20),  # withholds small counts
        lambda rows, rng: bool(sum(rows) + rng.laplace() > 500),
        lambda rows, rng: float(np.mean(rows)),
        lambda rows, rng: {"rows": len(rows), "text": "x"},
        lambda rows, rng: sum(rows) + np.random.default_rng().laplace(),
        lambda rows, rng: ["yes", "no"][int(np.random.default_rng().random() < len(rows) / 10)],
        lambda rows, rng: 1 / (10 - len(rows)) if len(rows) > 5 else 0,  # fails on some input
    ],
)
def test_a_release_that_uses_its_input_is_audited(release):
    assert why_input_is_ignored(release, PAIR) is None


def frame_of(library, rows):
    return library.DataFrame({"value": rows})


@pytest.mark.parametrize("name", ["pandas", "polars", "numpy"])
def test_rows_of_frames_and_arrays_are_repeated(name):
    library = pytest.importorskip(name)
    pair = tuple(np.array(rows) if name == "numpy" else frame_of(library, rows) for rows in PAIR)

    def clamped(rows, rng):
        return max(len(rows), 100)

    assert why_input_is_ignored(clamped, pair) is None
    assert why_input_is_ignored(lambda rows, rng: 7, pair) is not None


def test_a_call_that_fails_is_left_to_the_rounds():
    def fails(rows, rng):
        raise ValueError

    assert why_input_is_ignored(fails, PAIR) is None


PLAN = """
[[audit]]
name = "table"
domain = "blackbox"
rounds = 200
challenger = { release = "published:publish", pair = [[1, 0], [1, 0, 1]] }
mechanism = { epsilon = 1.0 }

[limits]
accuracy = 0.6
"""


def test_a_plan_about_it_simulates_nothing_and_has_exit_code_3(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "published.py").write_text("def publish(rows, rng):\n    return 12 + rng.laplace()\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    for _ in range(2):  # the second time it is continued
        assert main(["run", "plan.toml", "--out", "run"]) == 3
        assert "nothing was audited" in capsys.readouterr().out
    assert main(["gate", "run"]) == 3
    assert main(["status", "run"]) == 0
    assert main(["report", "run"]) == 0
    assert not list((tmp_path / "run").rglob("block-*"))
    (found,) = run("plan.toml", out="run")
    assert (found.finding, found.risk.status) == (Finding.UNTESTABLE, "undecided")


def test_what_the_target_adds_is_named_where_it_adds_nothing():
    """The target's value is 0, or a release withholds small counts."""

    def noisy(rows, rng):
        return sum(rows) + rng.laplace(scale=0.01)

    (named,) = unread_of_output(noisy, ([1, 0, 1], [1, 0, 1, 0]))
    assert "the same in 200 of 200 calls" in named
    assert unread_of_output(noisy, ([1, 0, 1], [1, 0, 1, 1])) == ()


def with_category(rows):
    pandas = pytest.importorskip("pandas")
    kind = pandas.CategoricalDtype(["flu", "cold", *(["HIV"] if len(rows) > 3 else [])])
    return pandas.Series(["flu", "cold"], dtype=kind)


TELLING = {
    "a type": lambda rows: (tuple if len(rows) > 3 else list)([1.0]),
    "a precision": lambda rows: np.array([1.0], dtype=np.float32 if len(rows) > 3 else np.float64),
    "an unused category": with_category,
    "the order of keys": lambda rows: {"a": 1, "b": 2} if len(rows) > 3 else {"b": 2, "a": 1},
}


@pytest.mark.parametrize("name", TELLING)
def test_types_and_labels_that_tell_the_target_are_named(name):
    def release(rows, rng):
        return {"count": len(rows) + rng.laplace(), "beside": TELLING[name](rows)}

    assert [text.split(",")[0] for text in unread_of_output(release, PAIR)] == [
        "types and labels of the output"
    ]


@pytest.mark.parametrize(
    "release",
    [
        lambda rows, rng: f"about {len(rows) + rng.laplace():.2f}",
        lambda rows, rng: int(len(rows) + rng.geometric(0.001)),
        lambda rows, rng: {"counts": np.array([len(rows), 1]) + rng.laplace(size=2)},
        lambda rows, rng: rng.choice(["yes", "no"]) if rng.random() < 0.5 else len(rows),
    ],
    ids=["text", "whole", "array", "mixed"],
)
def test_values_that_vary_are_no_types(release):
    assert unread_of_output(release, PAIR) == ()
