"""Loops written by hand: what the steps of honest and of wrong trainings show."""

import re

import numpy as np
import pytest
from scipy.special import ndtr

from domains.models.dp_training.watched_trainings import (
    CLAIM,
    SIGMA,
    STEPS,
    numpy_loop,
    our_training,
    watched,
)
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.claim import TrainingClaim
from leakgauge.domains.models.dp_training.plan_tables import read_dp_training_table
from leakgauge.domains.models.dp_training.step_watch import number_spacing
from leakgauge.domains.models.training.schedule import BatchSampling
from page_numbers import rows

HALF = 0.0005  # the error of the tests at confidence .999


def test_claim_needs_the_noise_that_the_tests_use():
    assert TrainingClaim(**CLAIM).needed_sigma == pytest.approx(SIGMA, rel=1e-4)


@pytest.mark.parametrize(("steps", "epochs"), [(5, 1), (20, 1), (30, 2), (40, 2)])
def test_begun_epoch_of_shuffled_batches_counts_whole(steps, epochs):
    """20 batches; after 5 of them a record was used with probability 1/4, and then it was used once."""
    claim = TrainingClaim(epsilon=4.0, sample_rate=0.05, steps=steps, sampling=BatchSampling.SHUFFLED)
    mu = 2 * np.sqrt(epochs) / claim.needed_sigma
    delta = ndtr(mu / 2 - 4 / mu) - np.exp(4) * ndtr(-mu / 2 - 4 / mu)
    assert delta == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize("n_audits", [12, pytest.param(60, marks=pytest.mark.nightly)])
def test_honest_loop_is_accused_at_most_once_in_60_audits(n_audits):
    found = [watched(numpy_loop(), seed=seed) for seed in range(n_audits)]
    decided = [one.decided(HALF) for one in found]
    assert sum(bool(one.violations or one.departures) for one in decided) <= 1
    assert not any(one.conformance.certain or one.conformance.departures for one in found)


def test_more_noise_than_needed_is_a_departure_only_from_a_stated_multiplier():
    more = numpy_loop(1.5)
    decided = watched(more).decided(HALF)
    assert not decided.violations
    assert not decided.departures
    stated = watched(more, claim=CLAIM | {"noise_multiplier": SIGMA}).decided(HALF)
    assert "more noise than is stated" in str(stated.departures)


@pytest.mark.parametrize("n_audits", [4, pytest.param(60, marks=pytest.mark.nightly)])
def test_our_training_is_accused_at_most_once_in_60_audits(n_audits):
    decided = [watched(our_training(), seed=seed).decided(HALF) for seed in range(n_audits)]
    assert sum(bool(one.violations or one.departures) for one in decided) <= 1
    assert watched(our_training(0.8)).decided(HALF).violations


def test_third_of_the_noise_is_found_from_one_training_of_500_steps():
    claim = CLAIM | {"steps": 500}
    sigma = TrainingClaim(**claim).needed_sigma
    found = watched(numpy_loop(1 / 3, steps=500, sigma=sigma), rounds=500, claim=claim)
    assert found.p_value("step_guesses") < 1e-6
    assert found.p_value("too_little_noise") < 1e-12
    assert "less noise than accounted" in found.decided(HALF).violations[0]
    assert "model-based" in found.decided(HALF).violations[0]
    assert found.decided(HALF).certain


def test_half_of_the_noise_is_found_from_five_trainings_of_500_steps():
    claim = CLAIM | {"steps": 500}
    sigma = TrainingClaim(**claim).needed_sigma
    found = watched(numpy_loop(1 / 2, steps=500, sigma=sigma), rounds=2_500, claim=claim)
    assert found.p_value("step_guesses") < 1e-6


@pytest.mark.nightly
def test_how_much_guesses_about_canaries_find():
    """The p-values of docs/dp-training.md."""
    one, five, small, _ = (row[2] for row in rows("dp-training.md", "| training | true noise"))
    claim = CLAIM | {"steps": 500}
    sigma = TrainingClaim(**claim).needed_sigma

    def p_values(scale, n_rounds):
        loop = numpy_loop(scale, steps=500, sigma=sigma)
        audits = [watched(loop, rounds=n_rounds, claim=claim, seed=seed) for seed in range(10)]
        return [audit.p_value("step_guesses") for audit in audits]

    smallest, largest = re.fullmatch(r"p from (\S+) to (\S+) in 10 audits", one).groups()
    found = p_values(1 / 3, 500)
    assert np.log10(min(found)) == pytest.approx(np.log10(float(smallest)), abs=0.3)
    assert np.log10(max(found)) == pytest.approx(np.log10(float(largest)), abs=0.3)
    assert five == "p below 1e-9 in 10 audits"
    assert max(p_values(1 / 2, 2_500)) < 1e-9
    claim = {"epsilon": 4.0, "sample_rate": 0.2, "steps": 20}
    loop = numpy_loop(1 / 3, 20, TrainingClaim(**claim).needed_sigma)
    audits = [watched(loop, rounds=400, claim=claim, coin="training", seed=seed) for seed in range(3)]
    assert small == "p below 1e-200 in 3 audits"
    assert max(audit.p_value("step_rates") for audit in audits) < 1e-200


@pytest.mark.parametrize("n_trainings", [60, pytest.param(400, marks=pytest.mark.nightly)])
def test_third_of_the_noise_is_found_from_small_trainings_with_one_coin_each(n_trainings):
    claim = {"epsilon": 4.0, "sample_rate": 0.2, "steps": 20}
    sigma = TrainingClaim(**claim).needed_sigma
    wrong = watched(numpy_loop(1 / 3, 20, sigma), rounds=n_trainings, claim=claim, coin="training")
    assert wrong.p_value("step_rates") < HALF
    honest = watched(numpy_loop(1.0, 20, sigma), rounds=n_trainings, claim=claim, coin="training")
    assert not honest.decided(HALF).violations
    assert honest.p_value("step_rates") > HALF


def test_no_noise_is_found_and_the_canary_is_always_seen():
    found = watched(numpy_loop(0.0))
    assert found.accuracy == 1.0
    assert found.decided(HALF).certain


def test_attack_is_right_as_often_as_the_noise_allows():
    accuracies = [watched(numpy_loop(), seed=seed).accuracy for seed in range(10)]
    assert np.mean(accuracies) == pytest.approx(0.6408, abs=0.05)  # Phi(1 / (2 sigma)), 1,000 steps


def test_sums_alone_are_enough_for_the_noise():
    def train(watch, rng):
        for _ in range(STEPS):
            watch.step(np.zeros(20), SIGMA / 2 * rng.normal(size=20), clip=1.0)

    found = watched(train)
    assert found.p_value("too_little_noise") < 1e-12
    assert "step_guesses" not in [test.name for test in found.conformance.tests]


def test_own_canary_gives_the_direction():
    def train(watch, rng):
        for _ in range(STEPS):
            own = 0.1 * rng.normal(size=6)
            gradients = watch.add_canary(np.zeros((3, 6)), clip=1.0, canary=own)
            total = gradients.sum(axis=0)
            watch.step(total, total + 0.001 * rng.normal(size=6))

    assert watched(train).accuracy == 1.0


@pytest.mark.parametrize(("scale", "guilty"), [(1.0, False), (1 / 3, True)])
def test_batch_in_parts_is_one_step(scale, guilty):
    def train(watch, rng):
        for _ in range(STEPS):
            total = np.zeros(8)
            for part in np.split(rng.normal(size=(12, 8)), 3):
                gradients = watch.add_canary(part, clip=1.0)
                total += np.minimum(1.0, 1 / np.linalg.norm(gradients, axis=1)) @ gradients
            watch.step(total, total + scale * SIGMA * rng.normal(size=8))

    found = watched(train, claim=CLAIM | {"sample_rate": 1.0, "epsilon": 100.0, "noise_multiplier": SIGMA})
    assert not any("one by one" in text for text in found.conformance.departures)
    assert (found.p_value("less_noise_than_accounted") < 1e-12) == guilty
    assert found.accuracy == pytest.approx(ndtr(1 / (2 * scale * SIGMA)), abs=0.15)


def test_more_noise_than_epsilon_needs_is_as_stated():
    assert not watched(numpy_loop(1.3, n_parameters=200)).decided(HALF).departures


def test_training_that_goes_on_is_not_as_stated():
    (text,) = watched(numpy_loop(steps=STEPS + 1)).conformance.departures
    assert "goes on after the 100 steps" in text


def test_clipping_the_sum_of_a_batch_is_not_as_stated():
    def train(watch, rng):
        for _ in range(STEPS):
            total = watch.add_canary(rng.normal(size=(5, 6)), clip=1.0).sum(axis=0)
            total = total / max(1.0, np.linalg.norm(total))
            watch.step(total, total + SIGMA * rng.normal(size=6))

    assert "not that of gradients clipped one by one" in watched(train).conformance.departures[0]


def test_noise_from_a_short_list_is_found():
    def train(watch, rng):
        noise = SIGMA * rng.normal(size=(10, 6))
        for step in range(STEPS):
            watch.step(np.zeros(6), noise[step % 10], clip=1.0)

    found = watched(train)
    assert found.p_value("correlated_noise") > HALF  # the step before does not tell
    assert found.p_value("reused_noise") < 1e-12


def test_trainings_that_set_their_own_seed_are_not_called_reused_noise():
    def train(watch):
        numpy_loop(steps=50)(watch, np.random.default_rng(5))

    found = watched(train)
    assert "repeat their noise" in found.conformance.dependent
    assert not found.decided(HALF).violations


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (lambda rng: None, "no noisy step was seen"),
        (lambda epochs: None, "parameter 'epochs' without a default"),
        (lambda watch: watch.step([1.0], [2.0]), "clip is missing"),
        (lambda watch: watch.step([1.0], [2.0, 3.0], clip=1.0), "1 values, the noisy 2"),
        (lambda watch: watch.step([1.0], [np.inf], clip=1.0), "not finite"),
        (lambda watch: watch.add_canary([1.0], clip=1.0), "examples x parameters"),
        (lambda watch: 1 / 0, "ZeroDivisionError"),
        (lambda canaries: None, "add challenger.canaries"),
    ],
)
def test_training_that_cannot_be_watched_is_refused(train, message):
    with pytest.raises(BadInput, match=message):
        watched(train)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be in"),
        ({"sample_rate": 2.0}, "sample_rate must be in"),
        ({"steps": 0}, "steps must be in"),
        ({"sampling": "without_replacement"}, "not accounted for"),
        ({"sampling": "shuffled", "relation": "add_remove"}, "replace_one"),
        ({"noise_multiplier": 0.0}, "noise_multiplier must be in"),
    ],
)
def test_claim_that_cannot_be_accounted_for_is_refused(claim, message):
    with pytest.raises(BadInput, match=message):
        read_dp_training_table({"dp_training": "own:train", "claim": CLAIM | claim})


def coarse_loop(dtype, level, reused=False):
    """Sums near ``level`` in numbers of few digits, with fresh noise or the same in all steps."""

    def train(watch, rng):
        noise = rng.normal(size=(STEPS, 20))
        for number in range(STEPS):
            total = (level + rng.normal(size=20)).astype(dtype)
            added = (SIGMA * noise[0 if reused else number]).astype(dtype)
            watch.step(total, (total + added).astype(dtype), clip=1.0)

    return train


@pytest.mark.parametrize(("dtype", "level"), [(np.float16, 3.0), (np.float32, 2_500.0)])
def test_numbers_of_few_digits_are_not_taken_for_reused_noise(dtype, level):
    found = watched(coarse_loop(dtype, level))
    assert not found.conformance.certain
    assert not found.decided(HALF).violations


def test_reused_noise_is_found_in_numbers_of_few_digits():
    found = watched(coarse_loop(np.float32, 2_500.0, reused=True))
    assert found.decided(HALF).violations


def test_spacing_of_numbers_is_that_of_their_type():
    values = np.array([0.1, 2500.3])
    for dtype in (np.float16, np.float32, np.float64):
        assert number_spacing(values.astype(dtype).astype(float)) == np.spacing(dtype(2500.3))
