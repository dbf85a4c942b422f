"""The least epsilon of several answers, against closed forms, another accountant and enumeration."""

from itertools import product

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.discrete_gaussian import Mechanism as DiscreteGaussian
from leakgauge.mechanisms.gaussian import Mechanism as Gaussian
from leakgauge.mechanisms.geometric import Mechanism as Geometric
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.mechanisms.logistic import Mechanism as Logistic
from leakgauge.theory.answer_composition import tightest_epsilon
from leakgauge.theory.loss_composition import epsilon_bounds
from leakgauge.theory.privacy_loss import LaplaceCell


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
