import pickle

import numpy as np
import pytest

from leakgauge.strategies import linear
from leakgauge.strategies.classifiers import Boosted, Fitted, Weighted
from leakgauge.strategies.clues import Clue, Reader, Sample
from leakgauge.strategies.measures import Coordinate
from leakgauge.strategies.outputs import tabulate

MEMBERS = np.random.default_rng(1).random(8000) < 0.5
PLACES = (0, 1)


def halves(rows):
    table = tabulate(list(rows))
    table = table.columns([table.paths.index((place,)) for place in PLACES])
    return (
        Sample(Reader(table.rows(slice(4000))), MEMBERS[:4000]),
        Sample(Reader(table.rows(slice(4000, None))), MEMBERS[4000:]),
    )


def accuracy(candidate, rows):
    learn, test = halves(rows)
    return np.mean((candidate.learn(learn)(test.reader) > 0) == test.members)


COORDINATES = tuple(Coordinate(place) for place in PLACES)


@pytest.mark.parametrize(
    "candidate",
    [
        Weighted(tuple(Clue(coordinate, 16) for coordinate in COORDINATES)),
        Fitted(COORDINATES, linear.logistic),
        Fitted(COORDINATES, linear.fisher),
        Fitted(COORDINATES, linear.fisher, bins=32),
        Fitted(COORDINATES, linear.quadratic, bins=32),
        Boosted(COORDINATES),
    ],
    ids=lambda candidate: type(candidate).__name__,
)
def test_normal_laws_are_told_apart_nearly_as_well_as_can_be(candidate):
    # Two values moved by 1 each under normal noise of one: at best Phi(sqrt(2) / 2) = .7602.
    rows = np.random.default_rng(2).normal(size=(8000, 2)) + MEMBERS[:, None]
    assert accuracy(candidate, rows) == pytest.approx(0.76, abs=0.025)


@pytest.mark.parametrize("candidate", [Fitted(COORDINATES, linear.quadratic, bins=32), Boosted(COORDINATES)])
def test_a_correlation_that_turns_its_sign_is_seen(candidate):
    first, second = np.random.default_rng(3).normal(size=(2, 8000))
    rows = np.column_stack([first, np.where(MEMBERS, 0.8, -0.8) * first + 0.6 * second])
    # At best the sign of the product is right: 1/2 + arcsin(.8) / pi = .795 (Sheppard 1899).
    assert accuracy(candidate, rows) == pytest.approx(0.5 + np.arcsin(0.8) / np.pi, abs=0.03)


def test_trees_travel_and_answer_the_same():
    learn, test = halves(np.random.default_rng(4).normal(size=(8000, 2)) + MEMBERS[:, None])
    score = Boosted(COORDINATES).learn(learn)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(score))(test.reader), score(test.reader))


def test_measures_that_never_differ_are_left_to_nobody():
    rows = np.column_stack([np.full(8000, np.nan), np.full(8000, 1.0)])
    learn, test = halves(rows)
    assert not Boosted(COORDINATES).learn(learn)(test.reader).any()
