from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binomtest

from leakgauge.core.errors import BadInput
from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import OurNumber
from leakgauge.referee.estimate import Estimate


def verdict(**rates):
    found = {
        name: Estimate(value=value, low=low, high=high, confidence=0.95, method="counted")
        for name, (low, value, high) in rates.items()
    }
    return SimpleNamespace(audit="it", label="attack", metrics=found)


def clopper_pearson(hits, n):
    """The exact interval of a share by quantiles of beta distributions: much faster than ``binomtest``."""
    low = betaincinv(hits, n - hits + 1, 0.025) if hits else 0.0
    high = betaincinv(hits + 1, n - hits, 0.975) if hits < n else 1.0
    return float(low), float(high)


@pytest.mark.parametrize("hits", [0, 1, 12, 20])
def test_exact_interval_of_the_tests_is_the_usual_one(hits):
    usual = binomtest(hits, 20).proportion_ci(0.95, "exact")
    assert clopper_pearson(hits, 20) == pytest.approx((usual.low, usual.high))


def test_errors_of_two_rates_add_in_quadrature():
    ours = metric_intervals.accuracy(verdict(tpr=(0.87, 0.90, 0.94), tnr=(0.76, 0.80, 0.83)))
    assert ours.value == pytest.approx(0.85)
    assert ours.low == pytest.approx(0.85 - 0.05 / 2)
    assert ours.high == pytest.approx(0.85 + 0.05 / 2)


def test_advantage_is_twice_accuracy_minus_one():
    ours = metric_intervals.advantage(verdict(tpr=(0.87, 0.90, 0.94), tnr=(0.76, 0.80, 0.83)))
    assert (ours.low, ours.value, ours.high) == pytest.approx((0.65, 0.70, 0.75))


@pytest.mark.parametrize("rates", [(0.97, 0.9), (0.6, 0.55), (0.999, 0.9999)])
def test_interval_covers_at_nominal_rate(rates):
    rng = np.random.default_rng(20240501)
    n, repeats, covered = 500, 400, 0
    for _ in range(repeats):
        found = {}
        for name, rate in zip(("tpr", "tnr"), rates, strict=True):
            hits = int(rng.binomial(n, rate))
            low, high = clopper_pearson(hits, n)
            found[name] = (low, hits / n, high)
        ours = metric_intervals.accuracy(verdict(**found))
        covered += ours.low <= sum(rates) / 2 <= ours.high
    assert covered >= 0.95 * repeats - 3 * np.sqrt(0.95 * 0.05 * repeats)


def test_attack_without_threshold_has_no_own_accuracy():
    with pytest.raises(BadInput, match="it, attack: no rates"):
        metric_intervals.accuracy(verdict(tpr=(0.5, 0.6, 0.7)))
    with pytest.raises(BadInput, match="increase rounds"):
        metric_intervals.accuracy(verdict(tpr=(None, 0.6, None), tnr=(None, 0.6, None)))


def test_confidence_is_that_of_the_rates():
    assert metric_intervals.confidence_text([verdict(tpr=(0.5, 0.6, 0.7))]) == "95%"


def test_metric_keeps_its_interval():
    found = verdict(auc_mean=(0.6, 0.7, 0.75))
    ours = metric_intervals.metric(found, "auc_mean")
    assert (ours.low, ours.value, ours.high) == (0.6, 0.7, 0.75)
    with pytest.raises(BadInput, match="it, attack: auc has no interval"):
        metric_intervals.metric(found, "auc")


def test_errors_of_difference_and_mean_add_in_quadrature():
    first, second = OurNumber(low=0.87, value=0.90, high=0.94), OurNumber(low=0.46, value=0.50, high=0.53)
    lead = metric_intervals.difference(first, second)
    assert (lead.value, lead.low, lead.high) == pytest.approx((0.4, 0.4 - 0.03 * 2**0.5, 0.4 + 0.04 * 2**0.5))
    mean = metric_intervals.mean([first, second])
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.7, 0.7 - 0.05 / 2, 0.7 + 0.05 / 2))
    assert metric_intervals.mean([first]).low == pytest.approx(first.low)
    with pytest.raises(BadInput, match="one game"):
        metric_intervals.mean([])


def test_interval_of_mean_covers_at_nominal_rate():
    rng = np.random.default_rng(20240501)
    rates, covered = (0.9, 0.7, 0.8), 0
    for _ in range(400):
        found = []
        for rate in rates:
            hits = int(rng.binomial(500, rate))
            low, high = clopper_pearson(hits, 500)
            found.append(OurNumber(low=low, value=hits / 500, high=high))
        mean = metric_intervals.mean(found)
        covered += mean.low <= 0.8 <= mean.high
    assert covered / 400 > 0.93


@pytest.mark.parametrize(
    ("low", "value", "high", "expected"),
    [
        (-0.2, -0.1, -0.05, (0.05, 0.1, 0.2)),
        (-0.2, 0.1, 0.3, (0.0, 0.1, 0.3)),
        (0.1, 0.2, 0.3, (0.1, 0.2, 0.3)),
    ],
)
def test_magnitude_holds_both_directions(low, value, high, expected):
    found = metric_intervals.magnitude(OurNumber(low=low, value=value, high=high))
    assert (found.low, found.value, found.high) == pytest.approx(expected)
