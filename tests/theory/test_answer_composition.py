"""The least epsilon of several answers, against closed forms, another accountant and enumeration."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.discrete_gaussian import Mechanism as DiscreteGaussian
from leakgauge.mechanisms.gaussian import Mechanism as Gaussian
from leakgauge.mechanisms.geometric import Mechanism as Geometric
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.mechanisms.logistic import Mechanism as Logistic
from leakgauge.theory.loss_composition import epsilon_bounds, tightest_epsilon
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.2])
def test_one_laplace_answer_has_its_closed_form(delta):
    """delta = 1 - e^((epsilon' - epsilon) / 2) for epsilon' between 0 and epsilon."""
    bounds = tightest_epsilon(Laplace(epsilon=0.5), 1, delta)
    assert bounds.low <= max(0.0, 0.5 + 2 * np.log1p(-delta)) + 1e-9
    assert bounds.high == pytest.approx(max(0.0, 0.5 + 2 * np.log1p(-delta)), abs=1e-6)
    assert bounds.low == pytest.approx(bounds.high, abs=1e-6)


@pytest.mark.parametrize("n_answers", [1, 2, 3])
def test_few_geometric_answers_agree_with_enumeration(n_answers):
    noise, delta = Geometric(scale=1.5), 1e-3
    places = np.arange(-60, 62)
    here = np.exp(noise.log_density(places.astype(float)))
    there = np.exp(noise.log_density(places.astype(float) - 1))
    pairs = [
        np.array(list(product(law, repeat=n_answers))).prod(axis=1) for law in (here[30:92], there[30:92])
    ]

    def excess(epsilon):
        return np.maximum(pairs[1] - np.exp(epsilon) * pairs[0], 0).sum()

    bounds = tightest_epsilon(noise, n_answers, delta)
    assert excess(bounds.high) <= delta + 1e-7
    assert excess(bounds.low - 1e-4) > delta


@pytest.mark.parametrize(
    ("noise", "other", "parameter"),
    [
        (Laplace(scale=2.0), "from_laplace_mechanism", 2.0),
        (Gaussian(sigma=4.0, delta=1e-6), "from_gaussian_mechanism", 4.0),
        (Geometric(scale=2.0), "from_discrete_laplace_mechanism", 0.5),
        (DiscreteGaussian(sigma=4.0, delta=1e-6), "from_discrete_gaussian_mechanism", 4.0),
    ],
)
@pytest.mark.parametrize(("n_answers", "delta"), [(1, 1e-3), (10, 1e-6), (40, 1e-5)])
def test_another_accountant_agrees(noise, other, parameter, n_answers, delta):
    """Google's, by privacy loss distributions rounded up to multiples of 1e-4."""
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = vars(library)[other](parameter, value_discretization_interval=1e-4)
    expected = one.self_compose(n_answers).get_epsilon_for_delta(delta)
    bounds = tightest_epsilon(noise, n_answers, delta)
    assert bounds.low <= bounds.high
    assert bounds.low <= expected + 1e-9
    assert bounds.high == pytest.approx(expected, abs=1e-4 * (1 + n_answers))
    assert bounds.low == pytest.approx(bounds.high, abs=1e-5)


def _binomial_excess(rate, n_answers, epsilon):
    """delta(epsilon) of geometric noise moved by one, whose losses are +-rate: a sum of positive terms."""
    up = 1 / (1 + np.exp(-rate))
    numbers = [k for k in range(n_answers + 1) if rate * (2 * k - n_answers) > epsilon]
    return sum(
        np.exp(_log(comb(n_answers, k)) + k * np.log(up) + (n_answers - k) * np.log1p(-up))
        * -np.expm1(epsilon - rate * (2 * k - n_answers))
        for k in numbers
    )


def _log(number):
    """The log of a whole number of any size."""
    bits = max(number.bit_length() - 60, 0)
    return np.log(float(number >> bits)) + bits * np.log(2.0)


@pytest.mark.parametrize(
    ("rate", "n_answers", "delta"),
    [
        (0.3, 50, 1e-9),
        (0.3, 400, 1e-6),
        (0.3, 400, 1e-9),
        (0.3, 400, 1e-12),
        (0.3, 100, 1e-14),
        (0.1, 1000, 1e-12),
        (0.05, 2000, 1e-9),
        (1.0, 100, 1e-12),
        (1.0, 2, 1e-12),
        (0.3, 400, 1e-30),
        (0.3, 100, 0.3),
        (3.0, 400, 1e-6),  # e^-epsilon is too small for a floating-point number
    ],
)
def test_bounds_of_geometric_answers_enclose_the_binomial_sum(rate, n_answers, delta):
    """The rounding errors of a Fourier transform, which exceed such deltas, must not cross the truth."""
    bounds = tightest_epsilon(Geometric(epsilon=rate), n_answers, delta)
    assert _binomial_excess(rate, n_answers, bounds.low) >= delta * (1 - 1e-11)
    assert _binomial_excess(rate, n_answers, bounds.high) <= delta * (1 + 1e-11)
    assert bounds.low == pytest.approx(bounds.high, rel=1e-8)


@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-10, 1e-12, 1e-14])
def test_bounds_of_discrete_gaussian_answers_enclose_the_discrete_gaussian_sum(delta):
    """The sum of n answers has discrete Gaussian noise of variance n sigma^2, up to e^(-pi^2 sigma^2).

    The upper bound counts the tail of each answer that is left out, 1e-17, as part of delta.
    """
    sigma, n_answers = 4.0, 400
    noise = np.arange(-1500, 1501)
    masses = np.exp(-(noise**2) / (2 * n_answers * sigma**2))
    losses = (2 * noise + n_answers) / (2 * sigma**2)

    def excess(epsilon):
        seen = losses > epsilon
        return float(masses[seen] @ -np.expm1(epsilon - losses[seen]) / masses.sum())

    bounds = tightest_epsilon(DiscreteGaussian(sigma=sigma, delta=delta), n_answers, delta)
    assert excess(bounds.low) >= delta * (1 - 1e-12)
    assert excess(bounds.high) <= delta * (1 + 1e-12)
    assert bounds.low == pytest.approx(bounds.high, abs=1e-8 + n_answers * 1e-17 / delta)


def test_a_discrete_gaussian_has_no_bound_at_a_delta_below_the_tail_that_is_left_out():
    bounds = tightest_epsilon(DiscreteGaussian(sigma=4.0, delta=1e-22), 400, 1e-22)
    assert np.isfinite(bounds.low)
    assert bounds.high == np.inf


@pytest.mark.parametrize("delta", [1e-5, 1e-12])
def test_gaussian_noise_beside_many_cells_is_enclosed(delta):
    """Randomized responses and Gaussian noise: delta(epsilon) is a binomial mixture of Gaussian ones."""
    rate, n_answers, mu = 0.3, 100, 1.0
    up = 1 / (1 + np.exp(-rate))

    def excess(epsilon):
        total = 0.0
        for k in range(n_answers + 1):
            mass = np.exp(_log(comb(n_answers, k)) + k * np.log(up) + (n_answers - k) * np.log1p(-up))
            rest = epsilon - rate * (2 * k - n_answers)
            total += mass * (ndtr(mu / 2 - rest / mu) - np.exp(rest + log_ndtr(-mu / 2 - rest / mu)))
        return total

    bounds = epsilon_bounds([(GeometricCell(rate), n_answers)], delta, mu)
    assert excess(bounds.low) >= delta * (1 - 1e-9)
    assert excess(bounds.high) <= delta * (1 + 1e-9)
    assert bounds.low == pytest.approx(bounds.high, abs=2e-3)


def test_bounds_enclose_what_any_noise_spends():
    bounds = tightest_epsilon(Logistic(scale=4.0), 20, 1e-5)
    assert 0 < bounds.high - bounds.low < 1e-4
    assert bounds.high < 20 / 4.0


def test_gaussian_cells_beside_others_add_up():
    alone, both = epsilon_bounds([], 1e-5, mu=1.0), epsilon_bounds([(LaplaceCell(1e-9), 1)], 1e-5, mu=1.0)
    assert both.low <= alone.low + 1e-6
    assert both.low == pytest.approx(alone.low, abs=2e-3)
    assert both.high == pytest.approx(alone.high, abs=2e-3)


def test_ends_and_wrong_numbers():
    assert tightest_epsilon(Laplace(epsilon=0.5), 0, 1e-6).high == 0
    assert tightest_epsilon(Laplace(epsilon=0.5), 3, 0.0).low == pytest.approx(1.5)
    with pytest.raises(BadInput, match="whole number"):
        tightest_epsilon(Laplace(epsilon=0.5), -1, 1e-6)
    with pytest.raises(BadInput, match="delta"):
        epsilon_bounds([], 1.5)
