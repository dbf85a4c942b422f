import numpy as np
import pytest
from scipy.stats import binom, binomtest

from known_trials import laplace, randomized_response, trials
from leakgauge.core.game import Coins
from leakgauge.referee import instrument_check
from leakgauge.referee.metrics import epsilon_clopper_pearson, epsilon_dkw, epsilon_one_run


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize(
    "metric", [epsilon_one_run.Metric(), epsilon_clopper_pearson.Metric(), epsilon_dkw.Metric()]
)
def test_false_alarms_are_rare_and_counted(metric):
    found = instrument_check.null_release(laplace(1.0, 1_000, rng()), metric, 0.95, rng())
    assert found["draws"] == 200
    alarms = round(found["rate"] * 200)
    assert found["p_value"] == pytest.approx(binomtest(alarms, 200, 0.05, alternative="greater").pvalue)
    assert found["low"] <= found["rate"] <= found["high"]
    assert found["rate"] <= 0.09


def test_metric_with_false_alarms_is_detected():
    class CriesWolf(epsilon_one_run.Metric):
        def lows(self, trials, worlds):
            return [0.1 for _ in worlds]

    assert instrument_check.null_release(laplace(1.0, 300, rng()), CriesWolf(), 0.95, rng())["low"] > 0.9


def test_given_bits_are_permuted():
    given = trials(np.arange(400) < 40, rng().normal(size=400), coins=Coins.GIVEN)
    assert instrument_check.null_release(given, epsilon_one_run.Metric(), 0.95, rng())["rate"] <= 0.09


@pytest.mark.parametrize("n", [129, 3_136])
def test_smallest_detectable_leak_matches_binomial_power(n):
    """One-run on randomized response is a one-sided binomial test."""
    found = instrument_check.planted_leak(n, epsilon_one_run.Metric(), None, rng())
    critical = binom.isf(0.05, n, 0.5) + 1
    rate = np.exp(found["epsilon"]) / (1 + np.exp(found["epsilon"]))
    assert binom.sf(critical - 1, n, rate) == pytest.approx(0.8, abs=1e-3)
    assert found["found"] == pytest.approx(0.8, abs=0.1)
    assert found["violating_epsilon"] is None


def test_smallest_detectable_violation_matches_table():
    """3,136 rounds give an 80 % chance of a bound above 0.9 where the truth is 1."""
    found = instrument_check.planted_leak(3_136, epsilon_one_run.Metric(), 0.9, rng())
    assert found["violating_epsilon"] == pytest.approx(1.0, abs=0.005)


def test_undetectable_leak_is_null():
    assert (
        instrument_check.planted_leak(20, epsilon_one_run.Metric(), 5.0, rng())["violating_epsilon"] is None
    )
    assert instrument_check.planted_leak(3, epsilon_one_run.Metric(), None, rng())["epsilon"] is None


def test_planted_leak_is_detected_in_simulation():
    epsilon = instrument_check.planted_leak(500, epsilon_one_run.Metric(), None, rng())["epsilon"]
    stream = rng()
    seen = [epsilon_one_run.Metric()(randomized_response(epsilon, 500, stream)).low > 0 for _ in range(200)]
    assert 0.68 <= np.mean(seen) <= 0.9
