import numpy as np
import pytest
from scipy.stats import dlaplace, laplace, norm

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.release_distribution import (
    GaussianDensity,
    IntegerOutputs,
    LaplaceDensity,
)
from leakgauge.domains.locations.release_chain.count_noise import (
    ContinuousGaussianNoise,
    ContinuousLaplaceNoise,
    NoNoise,
    RoundedGaussianNoise,
    TwoSidedGeometricNoise,
    count_noise_of,
)
from leakgauge.mechanisms import gaussian, geometric, randomized_response
from leakgauge.mechanisms import laplace as laplace_noise

LAPLACE = laplace_noise.Mechanism(scale=2.5)
GAUSSIAN = gaussian.Mechanism(sigma=1.5, delta=1e-5)
GEOMETRIC = geometric.Mechanism(scale=2.5)
WHOLE = {
    "silence": count_noise_of(None, rounded=True),
    "laplace": count_noise_of(LAPLACE, rounded=True),
    "geometric": count_noise_of(GEOMETRIC, rounded=False),
    "gaussian": count_noise_of(GAUSSIAN, rounded=True),
}


def test_rounding_decides_which_law_noise_has():
    assert isinstance(count_noise_of(None, rounded=False), NoNoise)
    assert isinstance(count_noise_of(LAPLACE, rounded=True), TwoSidedGeometricNoise)
    assert isinstance(count_noise_of(LAPLACE, rounded=False), ContinuousLaplaceNoise)
    assert isinstance(count_noise_of(GAUSSIAN, rounded=True), RoundedGaussianNoise)
    assert isinstance(count_noise_of(GAUSSIAN, rounded=False), ContinuousGaussianNoise)
    assert count_noise_of(GEOMETRIC, rounded=True) == count_noise_of(GEOMETRIC, rounded=False)


def test_each_law_says_how_it_runs_between_whole_numbers():
    assert all(noise.between == IntegerOutputs() for noise in WHOLE.values())
    assert count_noise_of(LAPLACE, rounded=False).between == LaplaceDensity(2.5)
    assert count_noise_of(GAUSSIAN, rounded=False).between == GaussianDensity(1.5)


@pytest.mark.parametrize("name", WHOLE)
def test_tails_of_whole_noise_add_up_its_probabilities(name):
    noise, distances = WHOLE[name], np.arange(-300.0, 301.0)
    masses = np.exp(noise.log_at(distances))
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    inner = slice(200, 401)
    np.testing.assert_allclose(
        np.exp(noise.log_at_most(distances))[inner], np.cumsum(masses)[inner], rtol=1e-9
    )
    above = np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(np.exp(noise.log_at_least(distances))[inner], above[inner], rtol=1e-9)


def test_geometric_noise_is_that_of_the_textbook():
    distances = np.arange(-40.0, 41.0)
    np.testing.assert_allclose(
        WHOLE["geometric"].log_at(distances), dlaplace.logpmf(distances, 1 / 2.5), rtol=1e-9
    )


@pytest.mark.parametrize(("noise", "law"), [(LAPLACE, laplace(scale=2.5)), (GAUSSIAN, norm(scale=1.5))])
def test_unrounded_noise_is_that_of_the_textbook(noise, law):
    distances, found = np.linspace(-60, 60, 501), count_noise_of(noise, rounded=False)
    np.testing.assert_allclose(found.log_at(distances), law.logpdf(distances), atol=1e-9)
    np.testing.assert_allclose(found.log_at_most(distances), law.logcdf(distances), atol=1e-9)
    np.testing.assert_allclose(found.log_at_least(distances), law.logsf(distances), atol=1e-9)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN, GEOMETRIC, laplace_noise.Mechanism(scale=0.05)])
def test_noise_exceeds_its_reach_with_next_to_no_chance(noise, rounded):
    law = count_noise_of(noise, rounded=rounded)
    beyond = np.array(float(law.reach))
    assert law.log_at_least(beyond) <= np.log(1e-17)
    assert law.log_at_most(-beyond) <= np.log(1e-17)
    assert law.reach < 45 * noise.noise_scale + 3


@pytest.mark.parametrize("epsilon", [1e-4, 50.0, 2000.0])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("kind", [laplace_noise, geometric])
def test_extreme_epsilons_need_no_warning_and_keep_their_ratios(kind, rounded, epsilon):
    noise, distances = (
        count_noise_of(kind.Mechanism(epsilon=epsilon), rounded=rounded),
        np.arange(-30.0, 31.0),
    )
    for law in (noise.log_at, noise.log_at_most, noise.log_at_least):
        assert np.isfinite(law(distances)).all()
        assert np.abs(np.diff(law(distances))).max() == pytest.approx(epsilon, rel=0.01)
    assert np.isfinite(noise.added_to(np.zeros(100), np.random.default_rng(1))).all()


def test_samples_are_fresh_and_start_from_the_counts():
    counts = np.full((3, 4), 100)
    for noise in (*WHOLE.values(), count_noise_of(LAPLACE, rounded=False)):
        drawn = noise.added_to(counts, np.random.default_rng(1))
        assert drawn.dtype == np.float64
        assert drawn.shape == counts.shape
        assert (np.abs(drawn - 100) < 50).all()


def test_other_mechanisms_are_no_noise_on_counts():
    with pytest.raises(BadInput, match="no noise is called 'randomized_response'"):
        count_noise_of(randomized_response.Mechanism(epsilon=1.0), rounded=False)
