"""Rates of many units with few trials each, against units whose rates are known."""

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.referee.shrunken_rates import shrunken_rates


def test_equal_units_are_not_told_apart_by_luck() -> None:
    rng = np.random.default_rng(1)
    counts = rng.binomial(64, 0.5, size=5_000)
    rates = shrunken_rates(counts, 64)
    assert counts.max() / 64 > 0.68  # the luckiest unit by its own trials
    assert rates.mean.max() < 0.56
    assert rates.mean.mean() == pytest.approx(0.5, abs=0.01)


def test_units_selected_as_extreme_have_the_rate_that_is_stated() -> None:
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(20_000) < 0.05, rng.uniform(0.85, 1.0, 20_000), 0.55)
    counts = rng.binomial(64, truth)
    rates = shrunken_rates(counts, 64)
    for low, high in ((0.0, 0.7), (0.7, 0.9), (0.9, 1.0)):
        chosen = (rates.mean >= low) & (rates.mean < high)
        spread = truth[chosen].std() / np.sqrt(chosen.sum()) + 0.002
        assert rates.mean[chosen].mean() == pytest.approx(truth[chosen].mean(), abs=4 * spread)
    by_themselves = counts >= 0.9 * 64
    assert np.abs(counts[by_themselves] / 64 - truth[by_themselves]).mean() > 0.01


def test_the_stated_deviation_is_that_of_the_truth() -> None:
    rng = np.random.default_rng(3)
    truth = rng.beta(4, 3, size=20_000)
    rates = shrunken_rates(rng.binomial(32, truth), 32)
    standardised = (rates.mean - truth) / rates.deviation
    assert standardised.std() == pytest.approx(1.0, abs=0.05)


def test_with_a_known_beta_distribution_of_rates_it_is_near_the_exact_posterior() -> None:
    rng = np.random.default_rng(4)
    counts = rng.binomial(40, rng.beta(6, 3, size=50_000))
    rates = shrunken_rates(counts, 40)
    exact = stats.beta(6 + counts, 3 + 40 - counts)
    usual = (counts > 15) & (counts < 38)
    assert np.abs(rates.mean - exact.mean())[usual].max() < 0.015


@pytest.mark.parametrize("counts", [[-1, 3], [3, 17]])
def test_more_successes_than_trials_are_refused(counts: list[int]) -> None:
    with pytest.raises(BadInput, match="between 0 and the 16 trials"):
        shrunken_rates(np.array(counts), 16)
