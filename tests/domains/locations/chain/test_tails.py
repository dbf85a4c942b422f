import numpy as np
from scipy.stats import laplace as laplace_law

from leakgauge.domains.locations.chain.noise_laws import noise_of
from leakgauge.domains.locations.chain.tails import AtLeast, AtMost
from leakgauge.mechanisms import laplace


def test_lumps_hold_all_that_lies_beyond_them():
    noise, distances = noise_of(laplace.Mechanism(scale=2.0), rounded=False), np.linspace(-20, 20, 41)
    np.testing.assert_allclose(
        AtMost(noise).log_at(distances), laplace_law.logcdf(distances, scale=2), atol=1e-12
    )
    np.testing.assert_allclose(
        AtLeast(noise).log_at(distances), laplace_law.logsf(distances, scale=2), atol=1e-12
    )
