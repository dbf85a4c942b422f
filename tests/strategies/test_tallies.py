import numpy as np
import pytest

from leakgauge.strategies.symbols import Symbols
from leakgauge.strategies.tallies import Tail, Tally
from leakgauge.strategies.tally_fits import moving

NONE = np.empty(0, dtype=np.int64)


def tally_of(release, counts) -> Tally:
    outputs = release(counts)
    return Tally.of(Symbols.of(outputs, counts), counts, outputs, (int(counts.min()), int(counts.max())))


def test_a_tally_counts_pairs():
    counts = np.array([2, 3, 3, 3])
    tally = tally_of(lambda c: c - np.array([0.0, 1.0, 0.0, 0.0]), counts)
    assert tally.times.tolist() == [[1, 0], [1, 2]]
    assert tally.distances.tolist() == [[0, 1], [-1, 0]]


def test_the_tail_has_the_middle_and_spread_of_what_was_seen_and_sums_to_one():
    distances = (
        np.random.default_rng(1).geometric(0.3, 4000) * np.random.default_rng(2).choice([-1, 1], 4000) + 5.0
    )
    tail = Tail.of(distances, np.ones(4000))
    assert abs(tail.middle - 5) <= 1
    assert np.exp(tail.log_at(np.arange(-400.0, 400.0))).sum() == pytest.approx(1)


def test_nothing_is_impossible():
    tally = tally_of(lambda c: c.astype(float), np.repeat([1, 2, 9], 50))
    law = tally.safe(moving(tally, NONE), np.full(9, 150.0))
    assert (law > 0).all()
    np.testing.assert_array_less(law.sum(axis=1), 1 + 1e-9)
    assert law[0, 0] > 0.98
