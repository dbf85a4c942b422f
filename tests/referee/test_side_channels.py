"""What is seen beside the answers: seldom accused where the promise is kept, found where it is not."""

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.referee.one_run_delta import fixed_count_p_value
from leakgauge.referee.side_channels import (
    bet_against_promise,
    low_order_bits,
    promise_p_value,
    promise_where_seen,
    told_by,
    told_where_seen,
)


def seldom(p_values, n):
    return all(
        np.mean(np.array(p_values) <= level) <= stats.binom.ppf(0.9995, n, level) / n
        for level in (0.01, 0.05, 0.2)
    )


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_the_worst_release_that_keeps_the_promise_is_seldom_accused(delta):
    """It shows the bit with probability delta, and is a randomized response otherwise."""
    rng = np.random.default_rng([41, int(100 * delta)])
    members = rng.random((1_000, 120)) < 0.5
    signal = np.where(rng.random(members.shape) < np.e / (1 + np.e), members, ~members) * 1.0
    signal = np.where(rng.random(members.shape) < delta, np.where(members, 9.0, -9.0), signal)
    p_values = [told_by(*pair, 1.0, delta).p_value for pair in zip(signal, members)]
    assert seldom(p_values, 1_000)
    weaker = [told_by(*pair, 0.3, delta).p_value for pair in zip(signal[:200], members[:200])]
    assert np.mean(np.array(weaker) <= 0.05) > 0.3


def test_many_signals_without_information_are_seldom_accused():
    rng = np.random.default_rng(42)
    signals, members = rng.exponential(size=(500, 80, 4)), rng.random((500, 80)) < 0.5
    signals[rng.random(signals.shape) < 0.1] = np.nan
    assert seldom([told_by(*pair, 0.0, 0.0).p_value for pair in zip(signals, members)], 500)


def test_errors_only_where_the_target_is_in_are_found():
    rng = np.random.default_rng(43)
    members = rng.random(400) < 0.5
    errors = members & (rng.random(400) < 0.25)
    assert told_by(errors, members, 0.5, 1e-6).p_value < 1e-3
    refused = np.where(errors, np.nan, rng.normal(size=400))
    assert told_by(refused, members, 0.5, 1e-6).p_value < 1e-3
    assert told_by(rng.permutation(errors), members, 0.5, 1e-6).p_value > 0.01


def test_a_slow_answer_is_found_whichever_world_it_belongs_to():
    rng = np.random.default_rng(44)
    members = rng.random(300) < 0.5
    for slow in (members, ~members):
        latency = rng.exponential(0.01, 300) + 0.05 * slow
        assert told_by(latency, members, 1.0, 1e-6).p_value < 1e-4


@pytest.mark.parametrize("failing", [0.9, 0.5, 0.02])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_which_rounds_have_a_number_is_no_signal_where_only_numbers_count(failing, epsilon):
    """The service gets slower in the course of the rounds, and fails only with the target."""
    rng, p_values = np.random.default_rng([51, int(100 * failing), int(epsilon)]), []
    for _ in range(300):
        members = rng.random(200) < 0.5
        told = rng.random(200) < np.exp(epsilon) / (1 + np.exp(epsilon))
        latency = rng.exponential(size=200) + np.arange(200) / 50 + 9 * (told == members) * (epsilon > 0)
        latency[members & (rng.random(200) < failing)] = np.nan
        p_values.append(told_where_seen(latency, members, epsilon, 0.0).p_value)
    assert seldom(p_values, 300)
    if failing > 0.5:
        assert told_by(latency, members, epsilon, 0.0).p_value < 1e-6


@pytest.mark.parametrize("course", ["slower and slower", "every second round", "slow for a while"])
def test_numbers_that_depend_on_the_round_only_are_seldom_accused(course):
    """The service fails only with the target, and most often in the last rounds."""
    rng, p_values, rounds = np.random.default_rng([53, len(course)]), [], np.arange(200)
    seconds = {
        "slower and slower": rounds / 3,
        "every second round": rounds % 2,
        "slow for a while": rounds // 50,
    }
    for _ in range(600):
        members = rng.random(200) < 0.5
        latency = seconds[course] + rng.normal(scale=0.3, size=200)
        latency[members & (rng.random(200) < np.where(rounds < 100, 0.1, 0.8))] = np.nan
        p_values.append(told_where_seen(latency, members, 0.0, 0.0).p_value)
    assert seldom(p_values, 600)


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_numbers_that_keep_the_promise_together_with_failures_are_seldom_accused(delta):
    """Slow, fast or failed: within e of each other, but slow among the answered differs by 4.8 times."""
    rng, p_values, by_epsilon = np.random.default_rng([54, int(100 * delta)]), [], []
    absent, present = np.array([0.05, 0.55, 0.4]), np.array([0.05 * np.e, 0.55 / np.e, 0])
    present[2] = 1 - present.sum()
    assert np.abs(np.log(present / absent)).max() <= 1 + 1e-12
    for _ in range(200):
        members = rng.random(2_000) < 0.5
        drawn = np.where(members, rng.choice(3, 2_000, p=present), rng.choice(3, 2_000, p=absent))
        latency = np.array([2.0, 1.0, np.nan])[drawn] + rng.normal(scale=0.01, size=2_000)
        latency[members & (rng.random(2_000) < delta)] = 9.0
        allowed = promise_where_seen(1.0, delta, latency, members)
        p_values.append(told_where_seen(latency, members, *allowed).p_value)
        by_epsilon.append(told_where_seen(latency, members, 1.0, delta).p_value)
    assert seldom(p_values, 200)
    assert delta or not seldom(by_epsilon, 200)


def test_the_promise_where_a_number_is_seen():
    members, seconds = np.arange(40) % 2 == 0, np.ones(40)
    assert promise_where_seen(1.0, 1e-5, seconds, members) == (1.0, 1e-5)
    seconds[:20:2] = np.nan  # half of those with the target
    assert promise_where_seen(1.0, 0.0, seconds, members) == (2.0, 0.0)
    assert promise_where_seen(1.0, 1e-5, seconds, members) == pytest.approx((2.0, 1e-5 * (1 + np.e) / 0.25))


@pytest.mark.parametrize("failing", [0.5, 0.02, 0.0])
def test_a_slow_answer_is_found_where_numbers_are_missing(failing):
    rng = np.random.default_rng([52, int(100 * failing)])
    found = []
    for _ in range(50):
        members = rng.random(300) < 0.5
        latency = rng.exponential(0.01, 300) + 0.05 * members
        latency[members & (rng.random(300) < failing)] = np.nan
        found.append(told_where_seen(latency, members, 1.0, 1e-6).p_value)
    assert np.mean(np.array(found) < 1e-3) >= 0.95


def test_low_bits_of_floating_point_noise_are_found_and_those_of_a_grid_are_not():
    """One answer with epsilon 0.86: the distribution allows 67.5 %, the promise 70 %, the bits more."""
    rng, found, accused, rounded = np.random.default_rng(45), [], [], []
    for _ in range(60):
        members = rng.random(1_000) < 0.5
        values = members[:, None].astype(float)
        raw = values + rng.laplace(scale=1 / 0.86, size=(1_000, 1))
        found.append(low_order_bits(raw, members, 0.86, 0.0).p_value)
        rounded.append(low_order_bits(np.round(raw * 1024) / 1024, members, 0.86, 0.0).p_value)
        accused.append(low_order_bits(Laplace(epsilon=0.86).sample(values, rng), members, 0.86, 0.0).p_value)
    assert np.mean(np.array(found) < 0.025 / 6) >= 0.95
    assert seldom(accused, 60)
    assert seldom(rounded, 60)


def test_low_bits_are_found_where_noise_is_a_multiple_of_a_power_of_two_in_one_world():
    """The bits tell 81 %, where the distribution of the noise allows 67.5 %."""
    rng = np.random.default_rng(46)
    members = rng.random(1_000) < 0.5
    noise = rng.laplace(scale=1 / 0.86, size=1_000) + members
    coarse = np.where(rng.random(1_000) < 0.81, members, ~members)
    answers = np.where(coarse, np.round(noise * 2**40) / 2**40, noise)
    assert low_order_bits(answers[:, None], members, 0.86, 0.0).p_value < 0.025 / 6


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("little noise", "answer_sizes", "by their size"),
        ("low bits", "low_order_bits", "the last bits"),
    ],
)
def test_what_reveals_the_target_is_named(kind, name, words):
    rng = np.random.default_rng(50)
    members = rng.random(1_000) < 0.5
    if kind == "little noise":
        answers = Laplace(epsilon=4.0).sample(members[:, None].astype(float), rng)
    else:
        answers, members = noisy_bits(rng, 1_000, 1, kind)
    found = low_order_bits(answers, members, 0.86, 0.0)
    assert found.p_value < 0.001
    assert found.name == name
    assert words in found.finding


def noisy_bits(rng, n_rounds, n_questions, kind):
    """Answers about a bit with noise of epsilon 0.86, and the bits; every second question counts one more."""
    members = rng.random(n_rounds) < 0.5
    values = members[:, None] + np.arange(n_questions) % 2.0
    if kind == "sound":
        return Laplace(epsilon=0.86).sample(values, rng), members
    noisy = values + rng.laplace(scale=1 / 0.86, size=values.shape)
    tells = (rng.random(values.shape) < 0.81) == members[:, None]
    return np.where(tells, np.round(noisy * 2**40) / 2**40, noisy), members


@pytest.mark.parametrize("kind", ["the bits tell 81 %", "sound"])
def test_low_bits_of_ten_answers_are_found_in_200_rounds(kind):
    """Where the distribution allows 67.5 %: at confidence 0.999, half of the error and six tests."""
    rng = np.random.default_rng(47)
    found = [
        low_order_bits(*noisy_bits(rng, 200, 10, kind), 0.86, 0.0, alike=np.arange(10) % 2).p_value
        for _ in range(20)
    ]
    if kind == "sound":
        assert seldom(found, 20)
    else:
        assert np.mean(np.array(found) < 0.0005 / 6) >= 0.95


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize("n_audits", [150, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_bets_on_the_worst_answers_that_keep_the_promise_are_seldom_won(delta, n_audits):
    """Each answer shows the bit with probability delta, and is a randomized response otherwise."""
    rng, won, against_less = np.random.default_rng([48, int(100 * delta)]), [], []
    for _ in range(n_audits):
        members = rng.random(60) < 0.5
        right = rng.random((60, 6)) < np.e / (1 + np.e)
        signal = np.where(right == members[:, None], 1.0, -1.0)
        signal = np.where(rng.random((60, 6)) < delta, np.where(members, 2.0, -2.0)[:, None], signal)
        won.append(bet_against_promise([signal, rng.normal(size=(60, 6))], members, 1.0, delta))
        against_less.append(bet_against_promise([signal], members, 0.4, delta))
    assert seldom(won, n_audits)
    assert np.mean(np.array(against_less) <= 0.05) > 0.5


def test_one_sided_answers_that_keep_the_promise_are_no_evidence():
    """A guess "member" in all rounds with it and in e^-1 of the others: right more often than q, if bits are
    counted as they come, but as many rounds of each kind count."""
    rng, won = np.random.default_rng(49), []
    for _ in range(200):
        members = rng.random(60) < 0.5
        said = members[:, None] | (rng.random((60, 6)) < np.exp(-1))
        won.append(bet_against_promise([np.where(said, 1.0, 0.0)], members, 1.0, 0.0))
    assert seldom(won, 200)


def test_answers_that_are_repeated_count_once():
    rng = np.random.default_rng(50)
    answers, members = noisy_bits(rng, 60, 1, "the bits tell 81 %")
    once = low_order_bits(answers, members, 0.86, 0.0)
    again = low_order_bits(np.repeat(answers, 10, axis=1), members, 0.86, 0.0)
    assert (again.p_value, again.n) == (once.p_value, once.n)


def test_p_value_is_binomial_without_delta_and_never_below_the_exact_one():
    assert promise_p_value(50, 20, 15, epsilon=0.0, delta=0.0) == pytest.approx(stats.binom.sf(14, 20, 0.5))
    for right in (30, 40, 50):
        exact = fixed_count_p_value(60, 50, right, epsilon=0.4, delta=0.01)
        assert exact <= promise_p_value(60, 50, right, epsilon=0.4, delta=0.01) <= 1


def test_a_signal_needs_one_row_for_each_round():
    with pytest.raises(BadInput, match="one row for each round"):
        told_by(np.zeros((3, 2)), np.zeros(4, bool), 1.0, 0.0)
