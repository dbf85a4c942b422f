import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import gdp, zcdp


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 400.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_it_is_the_conversion_of_opendp(sigma, delta):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=sigma)
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)
    assert noise.map(1.0) == pytest.approx(1 / (2 * sigma**2), rel=1e-9)
    assert zcdp.epsilon_at(1 / (2 * sigma**2), delta) == pytest.approx(theirs, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_it_is_never_less_than_what_gaussian_noise_of_that_rho_needs(mu, delta):
    exact = gdp.epsilon_at(mu, delta)
    assert exact <= zcdp.epsilon_at(mu**2 / 2, delta) <= 1.3 * exact + 0.01


def test_nothing_costs_nothing():
    assert zcdp.epsilon_at(0.0, 1e-5) == 0


@pytest.mark.parametrize(
    ("rho", "delta"), [(-1.0, 0.1), (np.nan, 0.1), (np.inf, 0.1), (1.0, 0.0), (1.0, np.nan)]
)
def test_what_is_no_rho_or_delta_is_refused(rho, delta):
    with pytest.raises(BadInput, match="must be"):
        zcdp.epsilon_at(rho, delta)
