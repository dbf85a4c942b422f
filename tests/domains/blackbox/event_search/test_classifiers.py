import pickle

import numpy as np
import pytest

from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees, FittedScore, WeightedRatios
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, FeatureSpec, ShadowSample
from leakgauge.domains.blackbox.event_search.numeric_features import Coordinate
from leakgauge.domains.blackbox.event_search.output_table import tabulate
from leakgauge.strategies import discriminant_analysis

MEMBERS = np.random.default_rng(1).random(8000) < 0.5
PLACES = (0, 1)


def halves(rows):
    table = tabulate(list(rows))
    table = table.columns([table.paths.index((place,)) for place in PLACES])
    return (
        ShadowSample(FeatureReader(table.rows(slice(4000))), MEMBERS[:4000]),
        ShadowSample(FeatureReader(table.rows(slice(4000, None))), MEMBERS[4000:]),
    )


def accuracy(candidate, rows):
    learn, test = halves(rows)
    return np.mean((candidate.learn(learn)(test.reader) > 0) == test.members)


COORDINATES = tuple(Coordinate(place) for place in PLACES)


@pytest.mark.parametrize(
    "candidate",
    [
        WeightedRatios(tuple(FeatureSpec(coordinate, 16) for coordinate in COORDINATES)),
        FittedScore(COORDINATES, discriminant_analysis.fit_logistic),
        FittedScore(COORDINATES, discriminant_analysis.fit_fisher),
        FittedScore(COORDINATES, discriminant_analysis.fit_fisher, bins=32),
        FittedScore(COORDINATES, discriminant_analysis.fit_quadratic, bins=32),
        BoostedTrees(COORDINATES),
    ],
    ids=lambda candidate: type(candidate).__name__,
)
def test_normal_distributions_are_separated_nearly_optimally(candidate):
    # Two values moved by 1 each under normal noise of one: at best Phi(sqrt(2) / 2) = .7602.
    rows = np.random.default_rng(2).normal(size=(8000, 2)) + MEMBERS[:, None]
    assert accuracy(candidate, rows) == pytest.approx(0.76, abs=0.025)


@pytest.mark.parametrize(
    "candidate",
    [FittedScore(COORDINATES, discriminant_analysis.fit_quadratic, bins=32), BoostedTrees(COORDINATES)],
)
def test_sign_change_of_correlation_is_detected(candidate):
    first, second = np.random.default_rng(3).normal(size=(2, 8000))
    rows = np.column_stack([first, np.where(MEMBERS, 0.8, -0.8) * first + 0.6 * second])
    # At best the sign of the product is right: 1/2 + arcsin(.8) / pi = .795 (Sheppard 1899).
    assert accuracy(candidate, rows) == pytest.approx(0.5 + np.arcsin(0.8) / np.pi, abs=0.03)


def test_trees_can_be_pickled():
    learn, test = halves(np.random.default_rng(4).normal(size=(8000, 2)) + MEMBERS[:, None])
    score = BoostedTrees(COORDINATES).learn(learn)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(score))(test.reader), score(test.reader))


def test_constant_features_are_ignored():
    rows = np.column_stack([np.full(8000, np.nan), np.full(8000, 1.0)])
    learn, test = halves(rows)
    assert not BoostedTrees(COORDINATES).learn(learn)(test.reader).any()
