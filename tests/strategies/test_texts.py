import pytest

from leakgauge.strategies.cells import MISSING
from leakgauge.strategies.texts import parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("about -3.5 people", ["about", -3.5, "people"]),
        ("1e3;x2", [1000.0, "x2"]),
        ("", []),
    ],
)
def test_words_and_numbers_are_told_apart(text, words):
    found = dict(parts([text]))
    assert [column[0] for path, column in found.items() if path[0] == "#word"] == words


def test_rounds_without_a_text_miss_all_parts():
    assert dict(parts([None, "ab"])) == {
        ("#text length",): [MISSING, 2],
        ("#word", 0): [MISSING, "ab"],
        ("#character", 0): [MISSING, "a"],
        ("#character", 1): [MISSING, "b"],
    }
