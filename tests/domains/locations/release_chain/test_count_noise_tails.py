import numpy as np
from scipy.stats import laplace as laplace_law

from leakgauge.domains.locations.release_chain.count_noise import NoiseAtLeast, NoiseAtMost, count_noise_of
from leakgauge.mechanisms import laplace


def test_lumps_hold_all_that_lies_beyond_them():
    noise, distances = count_noise_of(laplace.Mechanism(scale=2.0), rounded=False), np.linspace(-20, 20, 41)
    np.testing.assert_allclose(
        NoiseAtMost(noise).log_at(distances), laplace_law.logcdf(distances, scale=2), atol=1e-12
    )
    np.testing.assert_allclose(
        NoiseAtLeast(noise).log_at(distances), laplace_law.logsf(distances, scale=2), atol=1e-12
    )
