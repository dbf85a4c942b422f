import numpy as np
import pytest

from leakgauge.domains.locations.counts.estimated_distribution import fit_shift_distribution
from leakgauge.domains.locations.counts.output_frequencies import GeometricTail, OutputBins, OutputFrequencies


def test_integer_outputs_are_their_own_bins():
    outputs = np.array([3.0, -2.0, 5.0, 5.0])
    symbols = OutputBins.of(outputs, np.zeros(4, dtype=np.int64))
    assert symbols.whole
    assert (symbols.step, symbols.first, symbols.n, symbols.per_count) == (1.0, -2, 8, 1)
    assert symbols.columns(outputs).tolist() == [5, 0, 7, 7]


def test_real_outputs_get_bins_aligned_with_counts():
    rng = np.random.default_rng(1)
    counts = rng.poisson(4, 5000)
    symbols = OutputBins.of(counts + rng.laplace(scale=0.7, size=5000), counts)
    assert not symbols.whole
    assert symbols.per_count * symbols.step == 1
    assert 0.7 / 32 < symbols.step < 0.7 / 8
    outputs = np.array([2.3, 3.3])
    assert np.diff(symbols.columns(outputs)).tolist() == [symbols.per_count]


def test_recurring_values_get_own_bins():
    rng = np.random.default_rng(1)
    outputs = np.maximum(rng.laplace(scale=2.0, size=5000), 0.0)
    outputs = np.where(outputs > 7, 7.0, outputs)
    symbols = OutputBins.of(outputs, np.zeros(5000, dtype=np.int64))
    assert symbols.atoms.tolist() == [0.0, 7.0]
    assert symbols.columns(np.array([0.0, 7.0])).tolist() == [symbols.n_bins, symbols.n_bins + 1]
    assert symbols.atom(np.array([0.01, 3.0])).tolist() == [-1, -1]


NONE = np.empty(0, dtype=np.int64)


def tally_of(release, counts) -> OutputFrequencies:
    outputs = release(counts)
    return OutputFrequencies.of(
        OutputBins.of(outputs, counts), counts, outputs, (int(counts.min()), int(counts.max()))
    )


def test_tally_counts_pairs():
    counts = np.array([2, 3, 3, 3])
    tally = tally_of(lambda c: c - np.array([0.0, 1.0, 0.0, 0.0]), counts)
    assert tally.times.tolist() == [[1, 0], [1, 2]]
    assert tally.distances.tolist() == [[0, 1], [-1, 0]]


def test_tail_matches_observed_mean_and_spread():
    distances = (
        np.random.default_rng(1).geometric(0.3, 4000) * np.random.default_rng(2).choice([-1, 1], 4000) + 5.0
    )
    tail = GeometricTail.of(distances, np.ones(4000))
    assert abs(tail.middle - 5) <= 1
    assert np.exp(tail.log_at(np.arange(-400.0, 400.0))).sum() == pytest.approx(1)


def test_every_output_has_positive_probability():
    tally = tally_of(lambda c: c.astype(float), np.repeat([1, 2, 9], 50))
    law = tally.safe(fit_shift_distribution(tally, NONE), np.full(9, 150.0))
    assert (law > 0).all()
    np.testing.assert_array_less(law.sum(axis=1), 1 + 1e-9)
    assert law[0, 0] > 0.98
