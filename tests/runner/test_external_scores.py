import re

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.runner.external_scores import ScoreColumns, read_scores, trials_from_arrays
from leakgauge.runner.in_memory import judge


def test_rounds_and_targets_are_numbered_by_name():
    trials = trials_from_arrays([1, 0, 1], [0, 1, 2], ["10", "9", "10"], ["b", "a", "a"], Coins.FAIR)
    assert trials.rounds.tolist() == [1, 0, 1]
    assert trials.targets.tolist() == [1, 0, 0]


def test_unnamed_targets_are_numbered_per_round():
    trials = trials_from_arrays([1, 0, 1, 0, 1], np.arange(5), [3, 1, 3, 1, 2], None, Coins.FAIR)
    assert trials.targets.tolist() == [0, 0, 1, 1, 0]


@pytest.fixture
def read(tmp_path):
    def write(text):
        path = tmp_path / "scores.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_scores(path)

    return write


def test_two_columns_suffice(read):
    assert read("member,score\n1,0.5\n0,-2e-3\n") == ScoreColumns(
        members=[True, False], scores=[0.5, -0.002], rounds=None, targets=None
    )


def test_columns_may_have_any_order_and_case(read):
    found = read("\ufeffTarget, Score ,ROUND,Member\r\nann,1,7,TRUE\r\n\r\nbob,2,7,false\r\n")
    assert found == ScoreColumns(
        members=[True, False], scores=[1.0, 2.0], rounds=["7", "7"], targets=["ann", "bob"]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; it needs a header line with member and score"),
        ("\n\n", "empty"),
        ("member,score\n", "has no trials"),
        ("member\n1\n", "column 'score' is missing; there are member"),
        ("score,round\n1,1\n", "column 'member' is missing"),
        ("round,target\n1,1\n", "column 'member' and 'score' are missing; there are round, target"),
        ("member,score,rounds\n1,1,1\n", "no column is called 'rounds'; did you mean 'round'?"),
        ("member,score,score\n1,1,1\n", "two columns are called 'score'"),
        ("1,0.5\n0,0.25\n", "no column is called '1'; known: member, score, round, target"),
        ("member,score\n1,0.5\n2,0.5\n", "line 3: member must be 0, 1, true or false, got '2'"),
        ("member,score\n1,high\n", "line 2: score must be a number, got 'high'"),
        ("member,score\n1,\n", "line 2: score must be a number, got ''"),
        ("member,score\n1,nan\n", "line 2: score must be a finite number, got 'nan'"),
        ("member,score\n1,0.5\n\n0,-inf\n", "line 4: score must be a finite number, got '-inf'"),
        ("member,score\n1,1e400\n", "line 2: score must be a finite number, got '1e400'"),
        (f"member,score\n1,{2**53 + 1}\n", "line 2: score must not be a whole number from 2^53 on"),
        (
            f"member,score,round\n1,1,{2**63}\n",
            f"line 2: round must be a number below 2^63, or a name, got '{2**63}'",
        ),
        (f"member,score,target\n1,1,{10**30}\n", "line 2: target must be a number below 2^63"),
        (f"member,score,round\n1,1,{'9' * 9000}\n", "line 2: round must be a number below 2^63"),
        ("member,score\n1,0.5,3\n", "line 2: 3 values for 2 columns"),
        ("member,score,round\n1,0.5,\n", "line 2: round must not be empty, got ''"),
        (b"member,score\n\xff,1\n", "not a CSV file in UTF-8"),
        ('member,score\n"1,2\n', "not a CSV file in UTF-8"),
    ],
)
def test_errors_have_line_numbers(read, text, message):
    with pytest.raises(BadInput) as caught:
        read(text)
    assert message in str(caught.value)
    assert "scores.csv" in str(caught.value)


def test_missing_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="cannot be read"):
        read_scores(tmp_path)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_delimiters_are_reported(tmp_path, mark):
    (tmp_path / "scores.csv").write_text(f"member{mark}score\n1{mark}0.5\n")
    with pytest.raises(BadInput, match="separate columns by commas"):
        read_scores(tmp_path / "scores.csv")


BITS = [0, 1, 1, 0]


@pytest.mark.parametrize("scores", [[1, 2, np.nan, 3], [1, 2, np.inf, 3], [-np.inf, 2, 3, 4]])
def test_scores_must_be_finite(scores):
    with pytest.raises(BadInput, match="not a finite number"):
        trials_from_arrays(BITS, scores, None, None, Coins.GIVEN)


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([10**400, 0, 1, 2], "too large"),
        ([10**30, 10**30 + 1, 3, 4], "from 2^53 on"),
        (np.array([2**53 + 1, 2, 3, 4]), "from 2^53 on"),
        (np.array([1, 2, 3, 4j]), "complex"),
    ],
)
def test_scores_that_no_float_holds_are_refused(scores, problem):
    with pytest.raises(BadInput, match=re.escape(problem)):
        trials_from_arrays(BITS, scores, None, None, Coins.GIVEN)


def test_scores_as_large_as_floats_can_be_are_judged():
    found = judge([0, 1] * 50, [-1.7e308, 1.7e308] * 50, epsilon=1.0, coins="fair")
    assert found.metrics["auc"].value == 1.0
    assert found.finding == "violated"


@pytest.mark.parametrize("what", ["rounds", "targets"])
@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([str(2**63), "1", "2", "3"], "below 2^63"),
        ([2**63, 2**63 + 1, 2**63 + 2, -1], "below 2^53"),
        ([0.0, 1.0, 2.0, np.nan], "must be finite"),
        ([0.0, 1.0, 2.0, np.inf], "must be finite"),
        ([0, 1, 2, None], "of different types, or missing"),
    ],
)
def test_round_and_target_numbers_that_cannot_be_told_apart_are_refused(what, names, problem):
    columns = {"rounds": None, "targets": None, what: names}
    with pytest.raises(BadInput, match=re.escape(problem)) as caught:
        trials_from_arrays(BITS, [0.1, 0.2, 0.3, 0.4], **columns, coins=Coins.GIVEN)
    assert str(caught.value).startswith(what)


def test_whole_numbers_of_64_bits_are_told_apart():
    rounds = np.array([2**64 - 1, 2**64 - 2, 2**63, 5], dtype=np.uint64)
    found = trials_from_arrays(BITS, [0.1, 0.2, 0.3, 0.4], rounds, None, Coins.GIVEN)
    assert found.rounds.tolist() == [3, 2, 1, 0]
