"""Tests of the noisy steps of a training: how often they accuse honest noise, and what they find."""

import numpy as np
import pytest
from scipy import stats

from leakgauge.referee import noisy_steps
from leakgauge.referee.noisy_steps import NoiseSize

SIGMA = 0.8


def simulate(rng, n_steps=60, n_coordinates=5, scale=SIGMA, correlation=0.0, one_coin=False):
    """Steps whose sums follow the noise before them, as weights do; written without the package."""
    noise = rng.normal(scale=scale, size=(n_steps, n_coordinates))
    for step in range(1, n_steps):
        noise[step] = correlation * noise[step - 1] + np.sqrt(1 - correlation**2) * noise[step]
    members = np.full(n_steps, rng.random() < 0.5) if one_coin else rng.random(n_steps) < 0.5
    others = np.cumsum(noise, axis=0)  # of the next step
    noisy = noise[:, 0] + members + np.append(0.0, others[:-1, 0])
    lengths = np.linalg.norm(noise, axis=1)
    return {
        "members": members,
        "scores": noisy - np.append(0.0, others[:-1, 0]),
        "cosines": (noise[1:] * noise[:-1]).sum(axis=1) / lengths[1:] / lengths[:-1],
        "coordinates": np.full(n_steps - 1, n_coordinates),
        "size": NoiseSize(squares=float(np.sum(noise**2)) / SIGMA**2, coordinates=noise.size),
    }


def p_values(steps):
    size = steps["size"]
    return {
        "less": noisy_steps.less_noise(size, name="less", finding="", violates=True).p_value,
        "more": noisy_steps.more_noise(size).p_value,
        "correlated": noisy_steps.correlated_noise(steps["cosines"], steps["coordinates"], size).p_value,
        "guesses": noisy_steps.step_guesses(steps["members"], steps["scores"], SIGMA).p_value,
    }


@pytest.mark.parametrize("n_coordinates", [2, 5, 50])
def test_honest_steps_are_accused_no_more_often_than_stated(n_coordinates):
    rng = np.random.default_rng([20261117, n_coordinates])
    found = [p_values(simulate(rng, n_coordinates=n_coordinates)) for _ in range(2_000)]
    for name in found[0]:
        for level in (0.05, 0.01):
            accused = sum(one[name] <= level for one in found)
            assert stats.binom.sf(accused - 1, len(found), level) > 1e-4, (name, level, accused)


def test_honest_trainings_with_one_coin_each_are_accused_no_more_often_than_stated():
    rng = np.random.default_rng(20261118)
    accused = 0
    for _ in range(400):
        trainings = [simulate(rng, n_steps=10, one_coin=True) for _ in range(30)]
        members, scores = (np.concatenate([one[name] for one in trainings]) for name in ("members", "scores"))
        accused += noisy_steps.step_rates(members, scores, SIGMA).p_value <= 0.05
    assert accused <= 20  # 5 %; the bounds of both worlds together err far less often


def test_tests_of_scale_and_correlation_do_not_waste_error():
    rng = np.random.default_rng(20261119)
    found = [p_values(simulate(rng)) for _ in range(2_000)]
    for name in ("less", "more", "correlated"):
        assert np.mean([one[name] <= 0.05 for one in found]) > 0.03


@pytest.mark.parametrize(("share", "n_steps", "most"), [(1 / 3, 500, 1e-12), (1 / 2, 500, 1e-4)])
def test_too_little_noise_is_found_by_guesses_alone(share, n_steps, most):
    rng = np.random.default_rng(20261120)
    found = [
        noisy_steps.step_guesses(steps["members"], steps["scores"], SIGMA).p_value
        for steps in (simulate(rng, n_steps=n_steps, scale=SIGMA * share) for _ in range(20))
    ]
    assert max(found) < most


def test_one_coin_for_each_training_finds_a_third_of_the_noise():
    rng = np.random.default_rng(20261121)
    trainings = [simulate(rng, n_steps=20, scale=SIGMA / 3, one_coin=True) for _ in range(40)]
    members, scores = (np.concatenate([one[name] for one in trainings]) for name in ("members", "scores"))
    assert noisy_steps.step_rates(members, scores, SIGMA).p_value < 1e-12


def test_a_fifth_less_noise_is_found_by_its_size():
    steps = simulate(np.random.default_rng(1), n_steps=500, n_coordinates=20, scale=0.8 * SIGMA)
    assert p_values(steps)["less"] < 1e-12
    assert steps["size"].ratio == pytest.approx(0.8, abs=0.02)
    assert steps["size"].ratio < steps["size"].largest_ratio(0.05) < 0.83


def test_bound_on_the_noise_holds_as_often_as_stated():
    rng = np.random.default_rng(20261122)
    ratios = [simulate(rng)["size"].largest_ratio(0.05) for _ in range(1_000)]
    assert stats.binom.sf(sum(ratio < 1 for ratio in ratios) - 1, 1_000, 0.05) > 1e-4


@pytest.mark.parametrize("correlation", [0.1, -0.1])
def test_correlated_noise_is_found_and_a_violation_at_the_stated_size(correlation):
    rng = np.random.default_rng(20261123)
    steps = simulate(rng, n_steps=500, n_coordinates=50, correlation=correlation)
    found = noisy_steps.correlated_noise(steps["cosines"], steps["coordinates"], steps["size"])
    assert found.p_value < 1e-12
    large = NoiseSize(squares=4 * steps["size"].squares, coordinates=steps["size"].coordinates)
    assert not noisy_steps.correlated_noise(steps["cosines"], steps["coordinates"], large).violates


def test_sizes_agree_with_the_chi_square_distribution():
    size = NoiseSize(squares=80.0, coordinates=100)
    found = noisy_steps.less_noise(size, name="less", finding="", violates=True)
    assert found.p_value == pytest.approx(stats.chi2.cdf(80.0, 100))
    assert noisy_steps.more_noise(size).p_value == pytest.approx(stats.chi2.sf(80.0, 100))


def test_rates_of_one_world_show_nothing():
    assert noisy_steps.step_rates(np.ones(50, dtype=bool), np.ones(50), SIGMA).p_value == 1.0


def test_weakest_step_accuses_honest_steps_as_often_as_it_says():
    rng = np.random.default_rng(5)
    squares = rng.chisquare(6, size=(4_000, 40))
    accused = [noisy_steps.weakest_step(one, np.full(40, 6), violates=True).p_value < 0.05 for one in squares]
    assert stats.binomtest(sum(accused), 4_000, 0.05, alternative="greater").pvalue > 1e-3
    assert np.mean(accused) > 0.04


def test_one_step_without_noise_or_with_a_tenth_of_it_is_found():
    rng = np.random.default_rng(6)
    squares = rng.chisquare(50, size=200)
    squares[56] = 0.0
    found = noisy_steps.weakest_step(squares, np.full(200, 50), violates=True)
    assert (found.p_value, found.finding) == (0.0, "1 of 200 steps add no noise")
    squares[56] = 0.01 * rng.chisquare(50)
    found = noisy_steps.weakest_step(squares, np.full(200, 50), violates=True)
    assert found.p_value < 1e-12
    assert "one of the steps adds less noise" in found.finding
