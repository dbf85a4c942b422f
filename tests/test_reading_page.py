"""The page on how to read the answer explains every answer that the program gives."""

import inspect
import re
from pathlib import Path

import pytest

from leakgauge.report import answers
from leakgauge.risk import RiskStatus
from leakgauge.verdict import Finding

PAGE = (Path(__file__).parent.parent / "docs" / "reading-the-answer.md").read_text()
SOURCE = inspect.getsource(answers)
LAMPS = sorted(set(re.findall(r'"((?:Risk|Promise|High risk|Considerable risk|No) [^".]*)"', SOURCE)))


def test_answers_are_found_in_the_source():
    assert len(LAMPS) >= 12
    assert "Promise broken" in LAMPS


@pytest.mark.parametrize("words", [words for words in LAMPS if not words.startswith("No attack")])
def test_every_answer_is_explained(words):
    assert re.search(rf"^\| ([^|]*; )?{re.escape(words)}[ ;(][^|]*\|[^|]+\|[^|]+\|$", PAGE, re.MULTILINE), (
        words
    )


@pytest.mark.parametrize("status", [*Finding, *RiskStatus])
def test_every_status_is_named(status):
    assert status.value in PAGE


def test_every_exit_code_is_explained():
    for code in (0, 1, 2, 3):
        assert re.search(rf"^\| {code} \| ", PAGE, re.MULTILINE)
