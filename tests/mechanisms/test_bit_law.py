from itertools import product
from math import exp, prod

import numpy as np
import pytest
from scipy.stats import chisquare

from leakgauge.mechanisms._bit_law import bit_patterns


def by_hand(log_odds) -> list[float]:
    ones = [1 / (1 + exp(-odds)) for odds in log_odds]
    every = product((0, 1), repeat=len(ones))
    return [prod(p if bit else 1 - p for p, bit in zip(ones, bits)) for bits in every]


@pytest.mark.parametrize(
    "log_odds", [(0.0,), (-2.0, 3.0), (-4.6, 4.6, -13.8, 0.1, 0.7), (0.0,) * 6, (-40.0,) * 3]
)
def test_sampling_table_matches_independent_bits(log_odds):
    np.testing.assert_allclose(bit_patterns(log_odds).probabilities, by_hand(log_odds), atol=1e-15)


def test_ten_and_sixteen_bits_are_sampled_correctly():
    for n_bits in (10, 16):
        log_odds = tuple(np.linspace(-8, 0.6, n_bits).tolist())
        np.testing.assert_allclose(bit_patterns(log_odds).probabilities, by_hand(log_odds), atol=1e-15)


def test_samples_match_distribution():
    log_odds = (-2.0, 0.5, -0.3, 1.0)
    draws = bit_patterns(log_odds).draw((400, 500), np.random.default_rng(1))
    counts = np.bincount(draws.ravel(), minlength=16)
    assert chisquare(counts, np.array(by_hand(log_odds)) * draws.size).pvalue > 1e-3


def test_bits_with_certain_outcome_never_change():
    draws = bit_patterns((-800.0, 800.0, -800.0)).draw((10_000,), np.random.default_rng(1))
    assert set(draws.tolist()) == {0b010}
