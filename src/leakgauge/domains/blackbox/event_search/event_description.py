"""Describe in one phrase what a learned attack uses; positions are named, values and entry names never."""

from collections.abc import Sequence
from typing import Any

from leakgauge.domains.blackbox.event_search import discrete_features, numeric_features
from leakgauge.domains.blackbox.event_search.candidates import (
    OutstandingNumbers,
    RatioSum,
    SharedRatio,
    SingleFeature,
    SymbolMemory,
)
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees, FittedScore, WeightedRatios
from leakgauge.domains.blackbox.event_search.output_table import WINDOW, ValuePath
from leakgauge.strategies import discriminant_analysis

_DESCRIPTIONS = {
    discrete_features.SizeOrder: "the order of the numbers by size",
    discrete_features.ExtremePosition: "the position of the largest or smallest number",
    discrete_features.RepeatedValues: "how many values occur twice",
    numeric_features.OrderGap: "the distances between the numbers",
    numeric_features.MeanValue: "the mean of the numbers",
    numeric_features.VectorNorm: "the length of the vector of numbers",
    numeric_features.OutputVariance: "how much the numbers of one output vary",
    numeric_features.SymbolCount: "how often a certain value occurs",
    numeric_features.FirstPosition: "where a certain value first occurs",
    numeric_features.LastPosition: "where a certain value last occurs",
    numeric_features.FilledCount: "how many values there are",
}
_SHAPE_DESCRIPTIONS: dict[int | str, str] = {
    "#length": "the length of a list",
    "#keys": "which keys a table has, and in which order",
    "#text length": "the length of a text",
    "#type": "the type of a value",
}

_SHAPES: tuple[str | None, ...] = tuple(_SHAPE_DESCRIPTIONS.values())


def describe_event(candidate: Any, paths: Sequence[ValuePath]) -> str:
    """Describe which part of the output a candidate uses, as a phrase for the report.

    >>> from leakgauge.domains.blackbox.event_search.discrete_features import LowestBit
    >>> from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureSpec
    >>> describe_event(SingleFeature(FeatureSpec(LowestBit(0))), [()])
    'the lowest set bit of the number (rounding of floating-point sums)'
    """
    match candidate:
        case SingleFeature():
            return _describe_feature(candidate.spec.feature, paths)
        case SymbolMemory():
            seen = _describe_feature(candidate.feature, paths)
            return f"whether the attacker saw this before, with or without the target: {seen}"
        case OutstandingNumbers():
            return f"{_describe_number(candidate.place, paths)}, where it is one that occurs often"
        case RatioSum() if candidate.less:
            return f"how {len(candidate.specs) + 1} neighbouring values follow one another"
        case RatioSum() if len(candidate.specs) == 1:
            return _describe_feature(candidate.specs[0].feature, paths)
        case RatioSum():
            first = _describe_feature(candidate.specs[0].feature, paths)
            return _with_others(first, len(candidate.specs) - 1)
        case WeightedRatios():
            first = _describe_feature(candidate.specs[0].feature, paths)
            return _with_others(first, len(candidate.specs) - 1)
        case SharedRatio():
            return f"{len(candidate.places)} numbers, each compared in the same way"
        case FittedScore():
            shape = "quadratic" if candidate.fit is discriminant_analysis.fit_quadratic else "linear"
            only = _describe_feature(candidate.features[0], paths)
            several = f"{len(candidate.features)} numbers" if len(candidate.features) > 1 else only
            return f"a {shape} combination of {several}" if len(candidate.features) > 1 else several
        case BoostedTrees():
            return f"a classifier (boosted trees) on {len(candidate.features)} features of the output"
        case _:
            return "nothing: the output never changes"


def known_cause(candidate: Any, paths: Sequence[ValuePath]) -> str | None:
    """Name the cause of what a candidate looks at first, where it is known.

    >>> from leakgauge.domains.blackbox.event_search.discrete_features import LowestBit
    >>> from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureSpec
    >>> known_cause(SingleFeature(FeatureSpec(LowestBit(0))), [()])
    'floating_point'
    """
    match candidate:
        case SingleFeature():
            feature = candidate.spec.feature
        case SymbolMemory():
            feature = candidate.feature
        case RatioSum() | WeightedRatios() if candidate.specs:
            feature = candidate.specs[0].feature
        case _:
            return None
    if isinstance(feature, (discrete_features.LowestBit, discrete_features.FloatGrid)):
        return "floating_point"
    exact = isinstance(feature, discrete_features.ExactValues) and len(feature.places) == 1
    place = feature.places[0] if exact else getattr(feature, "place", None)
    return "shape" if place is not None and _describe_shape(paths[place]) in _SHAPES else None


def _with_others(first: str, n_others: int) -> str:
    """The first of several clues, and how many more there are."""
    return first if not n_others else f"{first}, plus {n_others} other{'s' if n_others > 1 else ''}"


def _describe_feature(feature: Any, paths: Sequence[ValuePath]) -> str:
    match feature:
        case discrete_features.ExactValues():
            return _describe_exact_values(feature.places, paths)
        case discrete_features.KindPattern():
            return "which values are missing, empty, or of another type"
        case discrete_features.LowestBit():
            number = _describe_number(feature.place, paths)
            return f"the lowest set bit of {number} (rounding of floating-point sums)"
        case discrete_features.FloatGrid():
            number = _describe_number(feature.place, paths)
            return f"the size and lowest bit of {number} (rounding of floating-point sums)"
        case discrete_features.Residue():
            number = _describe_number(feature.place, paths)
            return f"the remainder of {number} after division by {feature.step:g}"
        case discrete_features.DecimalPlaces():
            return f"how many decimals {_describe_number(feature.place, paths)} has"
        case discrete_features.CombinedPair():
            return f"the exact {feature.how.value} of two numbers"
        case numeric_features.Coordinate():
            return _describe_number(feature.place, paths)
        case numeric_features.DistanceFromCentre():
            return f"how far {_describe_number(feature.place, paths)} is from its usual value"
        case numeric_features.PairSum():
            return f"the {'sum' if feature.sign > 0 else 'difference'} of two numbers"
        case numeric_features.OrderStatistic():
            rank = feature.rank + 1 if feature.rank >= 0 else -feature.rank
            end = "smallest" if feature.rank >= 0 else "largest"
            return f"the {end} number" if rank == 1 else f"number {rank} counted from the {end}"
        case _:
            return _DESCRIPTIONS[type(feature)]


def _describe_exact_values(places: Sequence[int], paths: Sequence[ValuePath]) -> str:
    if len(places) == len(paths):
        return "the exact output"
    if len(places) > 1:
        return "the exact values of some places together"
    path = paths[places[0]]
    return _describe_shape(path) or f"the exact value{_at(path)}"


def _describe_number(place: int, paths: Sequence[ValuePath]) -> str:
    path = paths[place]
    return _describe_shape(path) or f"the number{_at(path)}"


def _describe_shape(path: ValuePath) -> str | None:
    """Describe a place that is not a value of its own, but a property of one."""
    last = path[-1] if path else 0
    if isinstance(last, str) and last.startswith(WINDOW):
        return "some digits of a large whole number"
    return _SHAPE_DESCRIPTIONS.get(last)


def _at(path: ValuePath) -> str:
    if not path:
        return ""
    if all(isinstance(part, int) for part in path):
        return f" at position {', '.join(map(str, path))}"
    return " under one key"
