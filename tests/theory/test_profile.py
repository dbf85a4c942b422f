import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.theory import gdp, tradeoff
from leakgauge.theory.profile import from_profile

RATES = np.linspace(0, 1, 501)


def test_a_single_pair_gives_its_own_trade_off():
    curve = from_profile(np.array([1.3]), np.array([0.02]))
    expected = tradeoff.max_tpr(RATES, Guarantee(epsilon=1.3, delta=0.02))
    np.testing.assert_allclose(tradeoff.max_tpr(RATES, curve), expected, atol=1e-14)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_many_pairs_of_gaussian_noise_give_its_curve_from_above(mu):
    epsilons = np.linspace(0, gdp.epsilon_at(mu, 1e-12), 2001)
    curve = from_profile(epsilons, np.array([gdp.delta_at(mu, epsilon) for epsilon in epsilons]))
    above = tradeoff.max_tpr(RATES, curve) - gdp.max_tpr(RATES, mu)
    assert above.min() > -1e-12
    assert above.max() < 1e-5


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ([], []),
        ([1.0, 1.0], [0.1, 0.1]),
        ([-1.0], [0.1]),
        ([1.0], [np.nan]),
        ([1.0], [1.1]),
        ([1.0], [0.1, 0.2]),
    ],
)
def test_pairs_that_are_no_profile_are_refused(epsilons, deltas):
    with pytest.raises(BadInput, match="privacy profile"):
        from_profile(np.array(epsilons, dtype=float), np.array(deltas, dtype=float))
