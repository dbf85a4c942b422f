import inspect

import numpy as np
import pytest

from leakgauge.domains.blackbox.event_search import discrete_features, numeric_features
from leakgauge.domains.blackbox.event_search.candidates import (
    RatioSum,
    SharedRatio,
    SingleFeature,
    SymbolMemory,
)
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees, FittedScore, WeightedRatios
from leakgauge.domains.blackbox.event_search.event_description import describe_event
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureSpec
from leakgauge.domains.blackbox.event_search.search import learn_event
from leakgauge.strategies import discriminant_analysis

PATHS = [(0,), (1,), ("Alice",), ("#length",)]
NUMBER, ENTRY = numeric_features.Coordinate(0), FeatureSpec(discrete_features.ExactValues((2,)))


@pytest.mark.parametrize(
    ("candidate", "phrase"),
    [
        (SingleFeature(FeatureSpec(NUMBER, 8)), "the number at position 0"),
        (SingleFeature(ENTRY), "the exact value under one key"),
        (SingleFeature(FeatureSpec(discrete_features.ExactValues((3,)))), "the length of a list"),
        (SingleFeature(FeatureSpec(discrete_features.ExactValues((0, 1, 2, 3)))), "the exact output"),
        (SymbolMemory(discrete_features.ExactValues((0,))), "saw this before"),
        (RatioSum((ENTRY, ENTRY)), "the exact value under one key, plus 1 other"),
        (RatioSum((ENTRY,), less=(ENTRY,)), "how 2 neighbouring values"),
        (WeightedRatios((ENTRY, ENTRY)), "plus 1 other"),
        (SharedRatio((0, 1), 8), "2 numbers, each compared in the same way"),
        (
            FittedScore((NUMBER, NUMBER), discriminant_analysis.fit_quadratic),
            "a quadratic combination of 2 numbers",
        ),
        (
            FittedScore((NUMBER,), discriminant_analysis.fit_fisher),
            "the number at position 0",
        ),
        (BoostedTrees((NUMBER,)), "trees"),
        (None, "never changes"),
    ],
)
def test_candidate_is_described(candidate, phrase):
    assert phrase in describe_event(candidate, PATHS)


def test_names_in_outputs_are_not_in_description():
    members = np.arange(400) % 2 == 0
    event = learn_event([{"Alice": 1} if member else {"Bob": 1} for member in members], members, delta=0.0)
    description = describe_event(event.candidate, event.paths)
    assert "Alice" not in description
    assert "Bob" not in description


def test_every_feature_can_be_described():
    examples = {
        "place": 0, "places": (0, 1), "first": 0, "second": 1, "step": 1.0,
        "how": discrete_features.PairOperation.SUM,
        "sign": 1, "centre": 0.0, "rank": -1, "upper": -1, "lower": 0, "order": 2, "key": 5,
    }  # fmt: skip
    found = [
        kind
        for module in (discrete_features, numeric_features)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "__dataclass_fields__")
    ]
    assert len(found) == 22
    for kind in found:
        feature = kind(**{name: examples[name] for name in kind.__dataclass_fields__})
        assert describe_event(SingleFeature(FeatureSpec(feature)), PATHS)
