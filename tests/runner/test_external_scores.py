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


@pytest.mark.parametrize("name", ["is_member", "Is_Train", "train", "in"])
def test_members_may_have_other_names(read, name):
    assert read(f"{name},score\n1,0.5\n0,0.25\n").members == [True, False]
    with pytest.raises(BadInput, match=r"values repeat|did you mean 'member'"):
        read(f"member,score,{name}\n1,0.5,1\n0,0.25,0\n1,2,1\n")


def test_a_second_column_of_numbers_is_refused(read):
    text = "member,score,loss\n" + "".join(f"{i % 2},{i / 7},{i / 9 + 0.01}\n" for i in range(40))
    with pytest.raises(BadInput, match="may tell members too; judge each score by itself"):
        read(text)


def test_a_column_that_numbers_the_rows_is_left_out(read):
    found = read("id,member,score,name\n17,1,0.5,Ada\n4,0,0.25,Alan\n")
    assert found == ScoreColumns(members=[True, False], scores=[0.5, 0.25], rounds=None, targets=None)


def test_columns_may_have_any_order_and_case(read):
    found = read("\ufeffTarget, Score ,ROUND,Member\r\nann,1,7,TRUE\r\n\r\nbob,2,7,false\r\n")
    assert found == ScoreColumns(
        members=[True, False], scores=[1.0, 2.0], rounds=["7", "7"], targets=["ann", "bob"]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: empty; the first line names the columns: write member,score"),
        ("\n\n", "line 1: empty"),
        ("member,score\n", "no trial below the header; write one line per trial, such as 1,0.73"),
        ("member\n1\n", "line 1: column 'score' missing; write member,score"),
        ("score,round\n1,1\n", "line 1: column 'member' missing"),
        ("round,target\n1,1\n", "line 1: columns 'member' and 'score' missing; write member,score"),
        ("member,score,rounds\n1,1,1\n", "column 3: no column is called 'rounds'; did you mean 'round'?"),
        (
            "member,score,name\n1,1,Ada\n0,2,Alan\n0,1,Ada\n",
            "column 3 ('name'): values repeat, so rows may depend on each other; rename it to round if",
        ),
        ("member,score,\n1,1,\n", "line 1: column 3 has no name"),
        ("member,score,score\n1,1,1\n", "line 1: two columns are called 'score'; remove one"),
        ("Ada,0.5\nAlan,0.25\n", "line 1: names none of the columns; write member,score"),
        ("member;score\n1;0,5\n0;0.25\n", "line 3, column score: a decimal comma beside decimal points"),
        ("member;score\n1;1,234.5\n", "line 2, column score: a decimal comma beside decimal points"),
        ("member;score\n1;1,234\n0;999\n0;12,345\n", "column score: commas may divide thousands"),
        ("member;score\n1;1,234,567\n", "line 2, column score: not a number"),
        ("member;score;round\n1;0,5\n", "line 2: 2 values for 3 columns; write member;score;round"),
        ("member,score\n1,0.5\n2,0.5\n", "line 3, column member: neither 0 nor 1; write 1 for a member"),
        ("member,score\n1,0.5\n,0.5\n", "line 3, column member: empty; write 1 for a member"),
        ("member,score\n1,Ada\n", "line 2, column score: not a number; write a number such as 0.73"),
        ("member,score\n1,\n", "line 2, column score: empty; write a number"),
        ("member,score\n1,nan\n", "line 2, column score: not a finite number"),
        ("member,score\n1,0.5\n\n0,-inf\n", "line 4, column score: not a finite number"),
        ("member,score\n1,1e400\n", "line 2, column score: not a finite number"),
        (f"member,score\n1,{2**53 + 1}\n", "line 2, column score: a whole number from 2^53 on"),
        (f"member,score,round\n1,1,{2**63}\n", "line 2, column round: not below 2^63"),
        (f"member,score,target\n1,1,{10**30}\n", "line 2, column target: not below 2^63"),
        (f"member,score,round\n1,1,{'9' * 9000}\n", "line 2, column round: not below 2^63"),
        ("member,score\n1,0,5\n", "line 2: 3 values for 2 columns; write member,score, and numbers with a"),
        ("member,score,round\n1,0.5,\n", "line 2, column round: empty; write a number or a name"),
        (b"member,score\n\xff,1\n", "not in UTF-8 (byte 13); save it as CSV in UTF-8"),
        ("member,score\n1,0.5\n".encode("utf-16"), "is in UTF-16, not in UTF-8; save it as CSV in UTF-8"),
        ("member,score\n1,0.5\n".encode("utf-16-le"), "is in UTF-16, not in UTF-8"),
        (b"PK\x03\x04 and so on", "is a workbook or another archive, not text; save it as CSV"),
        ('member,score\n"1,2\n', "not a CSV file"),
    ],
)
def test_errors_have_line_numbers(read, text, message):
    with pytest.raises(BadInput) as caught:
        read(text)
    assert message in str(caught.value)
    assert "scores.csv" in str(caught.value)
    assert "Ada" not in str(caught.value), "a cell may be about a person"


def test_missing_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="cannot be read"):
        read_scores(tmp_path)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters_are_read(read, mark):
    assert read(f"\ufeffscore{mark}member\r\n0.5{mark}1\r\n2{mark}0\r\n").scores == [0.5, 2.0]


def test_decimal_commas_are_read(read):
    assert read("member;score\n1;1,234\n0;-0,5\n1;3\n0;2,345\n").scores == [1.234, -0.5, 3.0, 2.345]


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


@pytest.mark.parametrize(
    ("yes", "no"), [("ja", "Nein"), ("oui", "non"), ("Y", "n"), ("train", "test"), ("in", "out")]
)
def test_members_may_be_said_in_words(tmp_path, yes, no):
    path = tmp_path / "scores.csv"
    path.write_text(f"member,score\n{yes},1\n{no},0\n")
    assert read_scores(path).members == [True, False]
