import numpy as np
import pytest
from scipy.stats import chisquare, dlaplace, laplace, logistic, norm

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.release_chain.count_noise import (
    NoiseAtLeast,
    NoiseAtMost,
    NoNoise,
    count_noise_of,
)
from leakgauge.mechanisms import gaussian, geometric, mechanism_class, mechanism_names, randomized_response
from leakgauge.mechanisms import laplace as laplace_noise
from leakgauge.mechanisms import logistic as logistic_noise
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.mechanisms._count_noise import (
    IntegerOutputs,
    PiecewiseExponential,
    SmoothDensity,
    TwoSidedGeometricNoise,
    UnroundedNoise,
)
from leakgauge.mechanisms.gaussian import RoundedGaussianNoise

LAPLACE = laplace_noise.Mechanism(scale=2.5)
GAUSSIAN = gaussian.Mechanism(sigma=1.5, delta=1e-5)
GEOMETRIC = geometric.Mechanism(scale=2.5)
LOGISTIC = logistic_noise.Mechanism(scale=1.5)


def additive(name: str, scale: float):
    """Any mechanism that adds noise, with a scale or standard deviation."""
    kind = mechanism_class(name)
    fields = kind.__dataclass_fields__
    return kind(sigma=scale, delta=1e-5) if "sigma" in fields else kind(scale=scale)


ADDITIVE = [additive(name, scale) for name in mechanism_names(adds_noise) for scale in (0.3, 2.5)]
WHOLE = [count_noise_of(None, rounded=True), *(count_noise_of(noise, rounded=True) for noise in ADDITIVE)]
EVERY_NOISE = [
    pytest.param(noise, rounded, id=f"{noise}-{rounded}") for noise in ADDITIVE for rounded in (False, True)
]


def test_rounding_selects_noise_distribution():
    assert isinstance(count_noise_of(None, rounded=False), NoNoise)
    assert isinstance(count_noise_of(LAPLACE, rounded=True), TwoSidedGeometricNoise)
    assert isinstance(count_noise_of(LAPLACE, rounded=False), UnroundedNoise)
    assert isinstance(count_noise_of(GAUSSIAN, rounded=True), RoundedGaussianNoise)
    assert isinstance(count_noise_of(GAUSSIAN, rounded=False), UnroundedNoise)
    assert count_noise_of(GEOMETRIC, rounded=True) == count_noise_of(GEOMETRIC, rounded=False)


def test_interpolation_kind_of_each_noise():
    assert all(noise.between == IntegerOutputs() for noise in WHOLE)
    assert count_noise_of(LAPLACE, rounded=False).between == PiecewiseExponential(2.5)
    assert count_noise_of(GAUSSIAN, rounded=False).between == SmoothDensity(1.5, 0.3)
    assert isinstance(count_noise_of(LOGISTIC, rounded=False).between, SmoothDensity)


@pytest.mark.parametrize("noise", WHOLE, ids=str)
def test_integer_noise_tails_sum_probabilities(noise):
    distances = np.arange(-300.0, 301.0)
    masses = np.exp(noise.log_at(distances))
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    inner = slice(200, 401)
    np.testing.assert_allclose(
        np.exp(noise.log_at_most(distances))[inner], np.cumsum(masses)[inner], rtol=1e-9
    )
    above = np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(np.exp(noise.log_at_least(distances))[inner], above[inner], rtol=1e-9)


def test_geometric_noise_matches_textbook():
    distances, noise = np.arange(-40.0, 41.0), count_noise_of(GEOMETRIC, rounded=False)
    np.testing.assert_allclose(noise.log_at(distances), dlaplace.logpmf(distances, 1 / 2.5), rtol=1e-9)


TEXTBOOK = [(LAPLACE, laplace(scale=2.5)), (GAUSSIAN, norm(scale=1.5)), (LOGISTIC, logistic(scale=1.5))]


@pytest.mark.parametrize(("noise", "law"), TEXTBOOK)
def test_unrounded_noise_matches_textbook(noise, law):
    distances, found = np.linspace(-60, 60, 501), count_noise_of(noise, rounded=False)
    np.testing.assert_allclose(found.log_at(distances), law.logpdf(distances), atol=1e-9)
    np.testing.assert_allclose(found.log_at_most(distances), law.logcdf(distances), atol=1e-9)
    np.testing.assert_allclose(found.log_at_least(distances), law.logsf(distances), atol=1e-9)


@pytest.mark.parametrize(("noise", "law"), TEXTBOOK)
def test_rounded_noise_has_interval_probability(noise, law):
    distances, found = np.arange(-12.0, 13.0), count_noise_of(noise, rounded=True)
    np.testing.assert_allclose(
        np.exp(found.log_at(distances)), law.cdf(distances + 1) - law.cdf(distances), rtol=1e-6, atol=1e-15
    )


@pytest.mark.parametrize("noise", WHOLE, ids=str)
def test_integer_noise_samples_match_probabilities(noise):
    n = 20_000
    drawn = noise.added_to(np.full(n, 100.0), np.random.default_rng(7)) - 100
    values, counts = np.unique(drawn, return_counts=True)
    expected = n * np.exp(noise.log_at(values))
    common = expected >= 5
    rest = n - expected[common].sum()
    observed = [*counts[common], n - counts[common].sum()] if rest > 1e-6 else counts[common]
    wanted = [*expected[common], rest] if rest > 1e-6 else expected[common]
    assert len(wanted) == 1 or chisquare(observed, wanted).pvalue > 1e-3


@pytest.mark.parametrize(("noise", "rounded"), EVERY_NOISE)
def test_reach_has_negligible_tail(noise, rounded):
    found = count_noise_of(noise, rounded=rounded)
    beyond = np.array(float(found.reach))
    assert found.log_at_least(beyond) <= np.log(1e-17) + 1e-9
    assert found.log_at_most(-beyond) <= np.log(1e-17) + 1e-9
    assert found.reach < 45 * noise.noise_scale + 3


@pytest.mark.parametrize("epsilon", [1e-4, 50.0, 2000.0])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("kind", [laplace_noise, geometric])
def test_extreme_epsilons_keep_ratios_without_warning(kind, rounded, epsilon):
    noise, distances = (
        count_noise_of(kind.Mechanism(epsilon=epsilon), rounded=rounded),
        np.arange(-30.0, 31.0),
    )
    for log_law in (noise.log_at, noise.log_at_most, noise.log_at_least):
        assert np.isfinite(log_law(distances)).all()
        assert np.abs(np.diff(log_law(distances))).max() == pytest.approx(epsilon, rel=0.01)
    assert np.isfinite(noise.added_to(np.zeros(100), np.random.default_rng(1))).all()


@pytest.mark.parametrize(("noise", "rounded"), EVERY_NOISE)
def test_samples_are_new_arrays_around_counts(noise, rounded):
    counts = np.full((3, 4), 100)
    drawn = count_noise_of(noise, rounded=rounded).added_to(counts, np.random.default_rng(1))
    assert drawn.dtype == np.float64
    assert drawn.shape == counts.shape
    assert (np.abs(drawn - 100) < 50).all()


def test_rejects_mechanisms_without_additive_noise():
    with pytest.raises(BadInput, match="'randomized_response' does not add noise to every count; use one of"):
        count_noise_of(randomized_response.Mechanism(epsilon=1.0), rounded=False)


def test_clamped_outputs_have_tail_probability():
    noise, distances = (
        count_noise_of(laplace_noise.Mechanism(scale=2.0), rounded=False),
        np.linspace(-20, 20, 41),
    )
    np.testing.assert_allclose(
        NoiseAtMost(noise).log_at(distances), laplace.logcdf(distances, scale=2), atol=1e-12
    )
    np.testing.assert_allclose(
        NoiseAtLeast(noise).log_at(distances), laplace.logsf(distances, scale=2), atol=1e-12
    )
