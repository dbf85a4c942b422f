import csv
import io

import pytest

from leakgauge.support.csv_cells import csv_lines, read_csv_lines

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "=",
    "-",
    "+1-1",
    "-inf",
    "-1_000",
]
KEPT = ["-0.5", "+3", "-1e-7", ".5", "anna", "it's", "'quoted'", "", "a=b", "1-1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_is_written_that_a_spreadsheet_takes_for_a_formula(text):
    (row,) = csv.reader(io.StringIO(csv_lines([[text, "x"]]), newline=""))
    assert row == [f"'{text}", "x"]


@pytest.mark.parametrize("text", KEPT)
def test_numbers_and_other_texts_are_written_as_they_are(text):
    assert csv_lines([["x", text]]) == f"x,{text}\n"


def test_characters_that_act_are_written_as_escapes():
    assert csv_lines([["\r=1", "a\x1b[2J", "\u202eexe"]]) == "\\r=1,a\\x1b[2J,\\u202eexe\n"


def test_what_is_written_is_read_again():
    rows = [[text, f"'{text}", f"''{text}"] for text in FORMULAS + KEPT]
    assert list(read_csv_lines(io.StringIO(csv_lines(rows), newline=""))) == rows
