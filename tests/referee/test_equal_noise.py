"""Equal noise: chances against simulation, and defects that must be found."""

import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.mechanisms.gaussian import Mechanism as Gaussian
from leakgauge.mechanisms.geometric import Mechanism as Geometric
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.referee.equal_noise import (
    WholeNumbersBetween,
    chances_of_whole_numbers,
    equal_noise,
    grid_step,
    largest_chance,
    most_chance_of_equal,
    off_extremes,
    p_value_of_sessions,
    unexplained_step,
)

NOISES = {
    "laplace": Laplace(epsilon=0.5),
    "gaussian": Gaussian(sigma=3.0, delta=1e-5),
    "geometric": Geometric(epsilon=0.5),
}


@pytest.mark.parametrize("step", [1.0, 0.1])
@pytest.mark.parametrize("noise", NOISES)
def test_independent_noise_is_equal_at_most_as_often_as_allowed(noise, step):
    rng, law = np.random.default_rng(3), NOISES[noise]
    values = np.round(law.draw((2, 200_000), rng) / step) * step
    share = float((np.abs(values[0] - values[1]) < 1e-9).mean())
    allowed = largest_chance(law, step)
    assert share <= allowed + 4 * np.sqrt(allowed / 200_000)
    assert allowed < 3.1 * share + 1e-3  # and the bound is not empty


@pytest.mark.parametrize("noise", NOISES)
def test_p_values_are_not_too_small(noise):
    rng, law = np.random.default_rng(4), NOISES[noise]
    values = law.draw((300, 2, 40), rng)
    p = [equal_noise(*pair, law, pair).p_value for pair in values]
    assert np.mean(np.array(p) <= 0.05) <= binom.ppf(0.9999, 300, 0.05) / 300


def test_a_few_equal_real_numbers_are_certain():
    rng, law = np.random.default_rng(5), NOISES["laplace"]
    first, second = law.sample(np.full((2, 50), 7.0), rng) - 7.0
    assert equal_noise(first, second, law, first + 7).p_value == 1.0
    second[:3] = first[:3]
    found = equal_noise(first, second, law, first + 7)
    assert (found.n_equal, found.n_pairs) == (3, 50)
    assert found.p_value < 1e-12


def test_rounded_answers_are_equal_by_chance():
    rng, law = np.random.default_rng(6), NOISES["laplace"]
    first, second = np.round(law.draw((2, 100), rng))
    assert equal_noise(first, second, law, first).p_value > 0.01


@pytest.mark.parametrize("repeated", [1, 3, 30])
def test_sessions_that_repeat_answers_are_accused_at_most_at_the_nominal_rate(repeated):
    rng, n, error = np.random.default_rng(11), 2000, 0.05
    hits = np.repeat(rng.random((n, 60, 30 // repeated)) < 0.2, repeated, axis=2)
    accused = sum(p_value_of_sessions(shares, 0.2) <= error for shares in hits.mean(axis=2))
    assert accused <= binom.ppf(0.9999, n, error)


def test_sessions_with_more_than_their_share_are_found():
    shares = (np.random.default_rng(12).random((100, 30)) < 0.3).mean(axis=1)
    assert p_value_of_sessions(shares, 0.2) < 1e-8
    once = np.zeros(1000)
    once[:2] = 0.1
    assert p_value_of_sessions(once, 1e-9) < 1e-8  # real numbers are never equal by chance
    assert p_value_of_sessions(np.zeros(0), 0.2) == p_value_of_sessions(once, 1.0) == 1.0


def test_missing_pairs_do_not_count():
    law = NOISES["laplace"]
    found = equal_noise(np.array([np.nan, 1.0]), np.array([1.0, np.nan]), law, np.array([1.0, np.nan]))
    assert (found.n_equal, found.n_pairs, found.p_value) == (0, 0, 1.0)


def test_grid_of_answers():
    assert grid_step(np.array([3.0, 4.0, np.nan]), 1.0) == 1.0
    assert grid_step(np.array([0.25, 3.0]), 1.0) == pytest.approx(0.01)
    assert grid_step(np.array([2.0**-11, 3.0]), 1.0) in (2.0**-11, pytest.approx(1e-9, rel=1))
    assert grid_step(np.array([np.pi, np.e]), 2.0) == 2.0**-39


def test_ends_of_the_range_are_left_out():
    assert off_extremes(np.array([0.0, 0.0, 3.0, 5.0, np.nan])).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("scale", [0.5, 10.0, 1e3, 1e4, 1e6])
def test_chance_of_equal_whole_noise_is_never_too_small(scale):
    """A scale beyond the numbers that are added up once gave a chance that was too small by any factor."""
    ratio = np.exp(-1 / scale)
    exact = (1 - ratio) / (1 + ratio) ** 3 * (1 + ratio**2)  # sum of squared probabilities
    reach = np.arange(-2_000, 2_001.0)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(reach)
    assert exact * (1 - 1e-9) <= most_chance_of_equal(chances) <= 2.1 * exact


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_chances_of_whole_numbers_are_those_of_geometric_noise(epsilon):
    ratio, around = np.exp(-epsilon), np.arange(-2_000, 2_001)
    exact = (1 - ratio) / (1 + ratio) * ratio ** np.abs(around)
    assert chances_of_whole_numbers(Geometric(epsilon=epsilon)) == pytest.approx(exact, abs=1e-15)


def test_a_gap_between_the_few_largest_whole_numbers_is_no_rounding():
    noise = Geometric(epsilon=2.0)
    assert unexplained_step(np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 5.0]), noise, None) is None
    assert unexplained_step(np.array([-4.0, -2.0, 0.0, 2.0]), noise, None) == 2.0
    hundreds = np.append(np.arange(10.0, 99.0), np.arange(100.0, 990.0, 10.0))  # two digits
    assert unexplained_step(hundreds, noise, None) == 10.0


@pytest.mark.parametrize(("first", "second"), [(3.0, 3.0), (3.0, 4.0)])
def test_chance_of_equal_answers_between_the_ends_of_the_range(first, second):
    """Of 120 answers with different true values the smallest and largest ones are left out."""
    rng, noise = np.random.default_rng(12), Geometric(epsilon=1.0)
    answers = np.tile([first, second], 60) + noise.sample(np.zeros((4_000, 120)), rng)
    expected, equal, n_pairs = 0.0, 0, 0
    for one in answers:
        inside = off_extremes(one).reshape(60, 2).all(axis=1)
        n_pairs += inside.sum()
        equal += (one[::2] == one[1::2])[inside].sum()
        between = WholeNumbersBetween.ends_of(one, noise)
        assert between.reaches(np.array([first, second]))
        expected += inside.sum() * between.chance_of_equal(first, second)
    assert abs(equal - expected) < 4 * np.sqrt(n_pairs / 4)
    assert abs(equal - n_pairs * (0.28, 0.18)[first != second]) > 4 * np.sqrt(n_pairs / 4)  # of all answers
