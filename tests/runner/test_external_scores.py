import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.runner.external_scores import ScoreColumns, read_scores, trials_from_arrays


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
        ("member,score,rounds\n1,1,1\n", "no column is called 'rounds'; did you mean 'round'?"),
        ("member,score,score\n1,1,1\n", "two columns are called 'score'"),
        ("1,0.5\n0,0.25\n", "no column is called '1'; known: member, score, round, target"),
        ("member,score\n1,0.5\n2,0.5\n", "line 3: member must be 0, 1, true or false, got '2'"),
        ("member,score\n1,high\n", "line 2: score must be a number, got 'high'"),
        ("member,score\n1,\n", "line 2: score must be a number, got ''"),
        ("member,score\n1,nan\n", "line 2: score must be a finite number, got 'nan'"),
        ("member,score\n1,0.5\n\n0,-inf\n", "line 4: score must be a finite number, got '-inf'"),
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
