import pytest

from domains.drafted import drafted, drafted_plan, drafted_table, recognised
from leakgauge import draft
from leakgauge.core.errors import BadInput

CODE = '''
import numpy as np


def helper(x):
    return x


def publish(table, rng):
    """Noisy counts."""
    return table + rng.laplace(size=table.shape)


pair = (np.array([1, 2]), np.array([2, 2]))
'''


def test_a_function_of_an_input_and_a_generator_is_found_without_running_the_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("raise SystemExit\n" + CODE)
    assert recognised(path) == "function"
    audit = drafted_table(path, "function", tmp_path)
    assert audit["challenger"] == {"release": "mine:publish", "pair": "mine:pair"}  # no promise is assumed


def test_the_promise_is_stated_where_it_was_given(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    audit = drafted_table(path, "function", tmp_path, epsilon="2", delta="1e-5", function="helper")
    assert audit["challenger"]["epsilon"] == 2.0
    assert audit["challenger"]["delta"] == 1e-5
    assert audit["challenger"]["release"] == "mine:helper"


def test_a_pair_that_is_not_in_the_file_is_refused_with_an_example(tmp_path):
    path = tmp_path / "mech.py"
    path.write_text("def publish(data, rng):\n    inner = 1\n    return len(data) + rng.laplace()\n")
    with pytest.raises(
        BadInput, match=r"such as pair = \(\[1, 0, 1\], .* in mech\.py: .* answer with --pair"
    ):
        drafted(path, "function", tmp_path)
    for wrong in ("inputs", "inner", "[1, 0]"):
        with pytest.raises(
            BadInput, match=r"--pair: mech\.py has no '.*' at its top level; write a line such"
        ):
            drafted(path, "function", tmp_path, pair=wrong)
    (question,) = [
        question
        for question in draft.draft_kinds()["function"].questions(draft.open_file(path, None))
        if question.key == "pair"
    ]
    with pytest.raises(BadInput):
        question.value("inputs")
    path.write_text(path.read_text() + "inputs = ([1], [1, 2])\n")  # while the question is open
    assert question.value("inputs") == "inputs"


@pytest.mark.parametrize(
    "line",
    [
        "both: tuple = ([1], [1, 2])",
        "both, other = ([1], [1, 2]), 3",
        "if True:\n    both = ([1], [1, 2])",
        "def both():\n    return ([1], [1, 2])",
        "from elsewhere import x as both",
        "from elsewhere import *",
    ],
)
def test_every_way_to_have_a_name_is_accepted(tmp_path, line):
    path = tmp_path / "mech.py"
    path.write_text(f"def publish(data, rng):\n    return len(data)\n\n\n{line}\n")
    assert drafted_table(path, "function", tmp_path, pair="both")["challenger"]["pair"] == "mech:both"


def test_without_a_file_an_example_is_written_that_keeps_its_promise(tmp_path):
    plan = drafted_plan(None, "function", tmp_path)
    assert plan.audits[0].challenger["epsilon"] == 1.0
    assert (tmp_path / "release.py").is_file()


@pytest.mark.parametrize(
    ("code", "message"),
    [("x = 1\n", "has no public function"), ("def f(:\n", "is no Python file that can be read")],
)
def test_a_file_without_a_function_is_refused(tmp_path, code, message):
    path = tmp_path / "mine.py"
    path.write_text(code)
    with pytest.raises(BadInput, match=message):
        drafted(path, "function", tmp_path)


def test_scores_are_judged_without_a_plan(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("is_member,score\n1,0.5\n0,0.25\n")
    assert recognised(path) == "scores"
    command = drafted(path, "scores", tmp_path, assignment="random", epsilon="1").command
    assert command[:1] == ("judge",)
    assert command[2:6] == ("--coins", "fair", "--epsilon", "1.0")
