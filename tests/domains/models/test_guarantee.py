"""The promise to several dependent records, against closed forms and simulated losses."""

import math

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.guarantee import records_together
from leakgauge.domains.models.training.noise_calibration import DpTraining, group_epsilon, training_epsilon
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule


def poisson(rows: int, batch: int, epochs: int) -> TrainingSchedule:
    return TrainingSchedule(rows=rows, batch=batch, epochs=epochs, sampling=BatchSampling.POISSON)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of one Gaussian release (Balle and Wang 2018)."""
    inside = stats.norm.cdf(mu / 2 - epsilon / mu)
    return float(inside - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu))


def test_one_record_has_the_promise_to_one_record() -> None:
    schedule = poisson(400, 40, 3)
    tight = group_epsilon(1.1, 1e-5, 1, schedule)
    assert tight == pytest.approx(training_epsilon(1.1, 1e-5, Relation.ADD_REMOVE, schedule), rel=0.01)


@pytest.mark.parametrize("k", [2, 5])
def test_all_rows_in_one_step_are_one_gaussian_of_k_clips(k: int) -> None:
    tight = group_epsilon(4.0, 1e-5, k, poisson(100, 100, 1))
    assert tight is not None
    assert gaussian_delta(k / 4.0, tight) == pytest.approx(1e-5, rel=0.05)


def test_a_sampled_step_has_the_losses_of_a_simulated_mixture() -> None:
    k, share, sigma, delta = 3, 0.2, 2.0, 0.01
    tight = group_epsilon(sigma, delta, k, poisson(100, 20, 1))  # one epoch has five steps
    rng = np.random.default_rng(1)
    chances = stats.binom.pmf(np.arange(k + 1), k, share)

    def losses(outputs: np.ndarray) -> np.ndarray:
        densities = stats.norm.pdf(outputs[..., None], np.arange(k + 1), sigma) @ chances
        return (np.log(densities) - stats.norm.logpdf(outputs, 0, sigma)).sum(axis=-1)

    numbers = rng.binomial(k, share, size=(400_000, 5))
    added = losses(rng.normal(numbers, sigma))
    removed = -losses(rng.normal(0.0, sigma, size=(400_000, 5)))
    assert tight is not None
    found = max(np.maximum(1 - np.exp(tight - loss), 0).mean() for loss in (added, removed))
    assert found == pytest.approx(delta, rel=0.05)


def test_group_privacy_of_the_stated_promise() -> None:
    noise = DpTraining(relation=Relation.ADD_REMOVE, epsilon=0.5, delta=1e-5)
    schedule = poisson(1_000, 50, 2)
    together = records_together(noise.guarantee(schedule), 4, noise, schedule)
    assert together.epsilon == pytest.approx(2.0, rel=1e-3)
    by_hand = sum(1e-5 * math.exp(i * together.epsilon / 4) for i in range(4))
    assert together.delta == pytest.approx(by_hand)
    assert together.tight is not None
    assert 0.5 < together.tight < together.epsilon * 1.5  # at a smaller delta than group privacy has
    assert "4 dependent records together is weaker" in together.note


def test_without_the_noise_only_group_privacy_is_stated() -> None:
    noise = DpTraining(relation=Relation.REPLACE_ONE, epsilon=1.0)
    schedule = TrainingSchedule(rows=100, batch=10, epochs=1, sampling=BatchSampling.SHUFFLED)
    together = records_together(noise.guarantee(schedule), 3, noise, schedule)
    assert together.tight is None
    assert "by the noise itself" not in together.note
