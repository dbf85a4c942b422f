"""What a learned attack looks at, in words; positions are named, values and names of entries never."""

from collections.abc import Sequence
from typing import Any

from leakgauge.strategies import linear, marks, measures
from leakgauge.strategies.candidates import Lone, Recalled, Sum, Tied
from leakgauge.strategies.classifiers import Boosted, Fitted, Weighted
from leakgauge.strategies.outputs import Path


def describe(candidate: Any, paths: Sequence[Path]) -> str:
    """Say what a candidate looks at, as the end of a sentence "told apart by ...".

    >>> from leakgauge.strategies.clues import Clue
    >>> describe(Lone(Clue(marks.LowestBit(0))), [()])
    'the lowest set bit of the number (rounding of floating-point sums)'
    """
    match candidate:
        case Lone():
            return _feature(candidate.clue.feature, paths)
        case Recalled():
            return f"whether this was seen before, and in which world: {_feature(candidate.mark, paths)}"
        case Sum() if candidate.less:
            return f"log ratios along the chain of {len(candidate.clues) + 1} neighbouring values"
        case Sum() if len(candidate.clues) == 1:
            return _feature(candidate.clues[0].feature, paths)
        case Sum():
            first = _feature(candidate.clues[0].feature, paths)
            return f"the sum of {len(candidate.clues)} log ratios, such as that of {first}"
        case Weighted():
            first = _feature(candidate.clues[0].feature, paths)
            return f"a weighted sum of {len(candidate.clues)} log ratios, first of all that of {first}"
        case Tied():
            return f"one log ratio, added up over {len(candidate.places)} numbers"
        case Fitted():
            shape = "quadratic" if candidate.fit is linear.quadratic else "linear"
            only = _feature(candidate.measures[0], paths)
            several = f"{len(candidate.measures)} numbers" if len(candidate.measures) > 1 else only
            return f"a {shape} score of {several}"
        case Boosted():
            return f"boosted trees on {len(candidate.measures)} measures of the output"
        case _:
            return "nothing: the output never changes"


def _feature(feature: Any, paths: Sequence[Path]) -> str:
    match feature:
        case marks.Exact():
            return _exactly(feature.places, paths)
        case marks.Pattern():
            return "which values are missing, empty, or of another type"
        case marks.LowestBit():
            return f"the lowest set bit of {_number(feature.place, paths)} (rounding of floating-point sums)"
        case marks.Grid():
            return f"size and lowest bit of {_number(feature.place, paths)} (rounding of floating-point sums)"
        case marks.Residue():
            return f"the remainder of {_number(feature.place, paths)} after division by {feature.step:g}"
        case marks.Decimals():
            return f"how many decimals {_number(feature.place, paths)} has"
        case marks.Combined():
            return f"the exact {feature.how.value} of two numbers"
        case measures.Coordinate():
            return _number(feature.place, paths)
        case measures.Distance():
            return f"how far {_number(feature.place, paths)} lies from the usual"
        case measures.Pair():
            return f"the {'sum' if feature.sign > 0 else 'difference'} of two numbers"
        case measures.Ranked():
            rank = feature.rank + 1 if feature.rank >= 0 else -feature.rank
            return f"the number that comes {rank}. from the {'bottom' if feature.rank >= 0 else 'top'}"
        case _:
            return _PLAIN[type(feature)]


_PLAIN = {
    marks.Order: "the order of the numbers by size",
    marks.Extreme: "where the largest or smallest number stands",
    marks.Repeats: "how many values occur twice",
    measures.Gap: "how far the numbers lie apart",
    measures.Mean: "the mean of the numbers",
    measures.Norm: "the length of the vector of numbers",
    measures.Deviation: "how much the numbers of one output vary",
    measures.Tally: "how often a certain value occurs",
    measures.First: "where a certain value first occurs",
    measures.Last: "where a certain value last occurs",
    measures.Filled: "how many values there are",
}


def _exactly(places: Sequence[int], paths: Sequence[Path]) -> str:
    if len(places) == len(paths):
        return "the exact output"
    if len(places) > 1:
        return "the exact values of some places together"
    path = paths[places[0]]
    if path and path[-1] in _SHAPES:
        return _SHAPES[path[-1]]
    return f"the exact value{_at(path)}"


def _number(place: int, paths: Sequence[Path]) -> str:
    path = paths[place]
    return _SHAPES[path[-1]] if path and path[-1] in _SHAPES else f"the number{_at(path)}"


_SHAPES: dict[int | str, str] = {
    "#length": "the length of a list",
    "#keys": "which keys a table has, and in which order",
    "#text length": "the length of a text",
}


def _at(path: Path) -> str:
    if not path:
        return ""
    if all(isinstance(part, int) for part in path):
        return f" at position {', '.join(map(str, path))}"
    return " of one entry"
