import inspect

import numpy as np
import pytest

from leakgauge.strategies import linear, marks, measures
from leakgauge.strategies.candidates import Lone, Recalled, Sum, Tied
from leakgauge.strategies.classifiers import Boosted, Fitted, Weighted
from leakgauge.strategies.clues import Clue
from leakgauge.strategies.describing import describe
from leakgauge.strategies.learning import learn_event

PATHS = [(0,), (1,), ("Alice",), ("#length",)]
NUMBER, ENTRY = measures.Coordinate(0), Clue(marks.Exact((2,)))


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (Lone(Clue(NUMBER, 8)), "the number at position 0"),
        (Lone(ENTRY), "the exact value of one entry"),
        (Lone(Clue(marks.Exact((3,)))), "the length of a list"),
        (Lone(Clue(marks.Exact((0, 1, 2, 3)))), "the exact output"),
        (Recalled(marks.Exact((0,))), "seen before"),
        (Sum((ENTRY, ENTRY)), "sum of 2 log ratios"),
        (Sum((ENTRY,), less=(ENTRY,)), "chain"),
        (Weighted((ENTRY, ENTRY)), "weighted sum of 2"),
        (Tied((0, 1), 8), "added up over 2 numbers"),
        (Fitted((NUMBER, NUMBER), linear.quadratic), "a quadratic score of 2 numbers"),
        (Fitted((NUMBER,), linear.fisher), "a linear score of the number at position 0"),
        (Boosted((NUMBER,)), "trees"),
        (None, "never changes"),
    ],
)
def test_what_is_looked_at_is_said_in_words(candidate, words):
    assert words in describe(candidate, PATHS)


def test_names_in_the_outputs_stay_out_of_the_words():
    members = np.arange(400) % 2 == 0
    event = learn_event([{"Alice": 1} if member else {"Bob": 1} for member in members], members, delta=0.0)
    words = describe(event.candidate, event.paths)
    assert "Alice" not in words
    assert "Bob" not in words


def test_every_mark_and_measure_can_be_described():
    examples = {
        "place": 0, "places": (0, 1), "first": 0, "second": 1, "step": 1.0, "how": marks.Operation.SUM,
        "sign": 1, "centre": 0.0, "rank": -1, "upper": -1, "lower": 0, "order": 2, "key": 5,
    }  # fmt: skip
    found = [
        kind
        for module in (marks, measures)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "__dataclass_fields__")
    ]
    assert len(found) == 22
    for kind in found:
        feature = kind(**{name: examples[name] for name in kind.__dataclass_fields__})
        assert describe(Lone(Clue(feature)), PATHS)
