"""What follows from three functions alone, against closed forms of the same noise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import log_ratios
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import exponential, gaussian, geometric, laplace, mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import (
    AdditiveMechanism,
    ApproximateNoise,
    Norm,
    PureNoise,
    adds_noise,
    adds_real_noise,
    is_additive,
)
from leakgauge.mechanisms._count_noise import RoughDensity, SmoothDensity
from leakgauge.theory import tradeoff


@dataclass(frozen=True, kw_only=True)
class PlainLaplace(PureNoise):
    """Laplace noise by its textbook functions; everything else is a default."""

    draw = laplace.Mechanism.draw
    log_density = laplace.Mechanism.log_density
    log_cdf = laplace.Mechanism.log_cdf


@dataclass(frozen=True, kw_only=True)
class PlainGeometric(PureNoise):
    """Geometric noise by its textbook functions."""

    lattice: ClassVar[bool] = True
    draw = geometric.Mechanism.draw
    log_density = geometric.Mechanism.log_density
    log_cdf = geometric.Mechanism.log_cdf


@dataclass(frozen=True, kw_only=True)
class PlainGaussian(ApproximateNoise):
    """Gaussian noise by its textbook functions."""

    draw = gaussian.Mechanism.draw
    log_density = gaussian.Mechanism.log_density
    log_cdf = gaussian.Mechanism.log_cdf
    sigma_for = gaussian.Mechanism.sigma_for


@dataclass(frozen=True, kw_only=True)
class Cauchy(PureNoise):
    """Noise that is not log-concave."""

    def draw(self, shape, rng):
        return self.noise_scale * rng.standard_cauchy(shape)

    def log_density(self, distances):
        return -np.log1p((distances / self.noise_scale) ** 2) - np.log(np.pi * self.noise_scale)

    def log_cdf(self, distances):
        return np.log(np.arctan2(1, -distances / self.noise_scale) / np.pi)


PAIRS = [
    pytest.param(PlainLaplace(scale=0.8), laplace.Mechanism(scale=0.8), id="laplace"),
    pytest.param(PlainLaplace(scale=6.0), laplace.Mechanism(scale=6.0), id="wide laplace"),
    pytest.param(PlainGeometric(scale=1.5), geometric.Mechanism(scale=1.5), id="geometric"),
    pytest.param(
        PlainGaussian(sigma=1.4, delta=1e-5), gaussian.Mechanism(sigma=1.4, delta=1e-5), id="gaussian"
    ),
]
REAL = [pair for pair in PAIRS if pair.id != "geometric"]


@pytest.mark.parametrize(("plain", "closed"), PAIRS)
@pytest.mark.parametrize("shifts", [[(1.0, 1)], [(3.0, 1)], [(1.0, 12)], [(1.0, 3), (2.0, 2)]], ids=str)
def test_tabulated_privacy_losses_bracket_closed_form(plain, closed, shifts):
    found, exact = plain.best_attack(shifts), closed.best_attack(shifts)
    fpr = np.array([1e-4, 0.01, 0.1, 0.3, 0.6])
    low, high = found.tpr_at(fpr)
    assert (low <= exact.tpr_at(fpr)[1] + 1e-12).all()
    assert (high >= exact.tpr_at(fpr)[0] - 1e-12).all()
    assert np.max(high - low) < 3e-4
    np.testing.assert_allclose(found.accuracy, exact.accuracy, atol=1e-4)
    np.testing.assert_allclose(found.auc, exact.auc, atol=1e-4)


@pytest.mark.parametrize(("plain", "closed"), PAIRS)
def test_guarantee_matches_closed_form(plain, closed):
    mine, exact = plain.guarantee, closed.guarantee
    assert (mine.delta, mine.sensitivity) == (exact.delta, exact.sensitivity)
    assert mine.epsilon == pytest.approx(exact.epsilon, rel=1e-4)
    assert mine.epsilon >= exact.epsilon - 1e-9
    assert plain.epsilon_at([(1.0, 5)], 1e-4) == pytest.approx(closed.epsilon_at([(1.0, 5)], 1e-4), rel=1e-3)
    low, high = np.zeros(4), np.array([1.0, 0.0, 2.0, -1.0])
    assert plain.epsilon_between(low, high) == pytest.approx(closed.epsilon_between(low, high), rel=1e-3)
    found, known = plain.curve(low, high), closed.curve(low, high)
    assert tradeoff.max_auc(found) == pytest.approx(tradeoff.max_auc(known), abs=1e-4)


@pytest.mark.parametrize(("plain", "closed"), REAL)
def test_partial_moments_agree_with_closed_form(plain, closed):
    x = np.array([-400.0, -3.0, -0.2, 0.0, 1.0, 9.0])
    for found, exact in zip(plain.partial_moments(x), closed.partial_moments(x), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("plain", "closed"), PAIRS)
def test_rounded_noise_agrees_with_closed_form(plain, closed):
    distances = np.arange(-40.0, 41.0)
    mine, exact = plain.rounded(), closed.rounded()
    for name in ("log_at", "log_at_most", "log_at_least"):
        np.testing.assert_allclose(
            getattr(mine, name)(distances), getattr(exact, name)(distances), rtol=1e-9, atol=1e-9
        )
    assert abs(plain.reach - closed.reach) < 0.1 * closed.reach


def test_density_with_kink_is_never_interpolated():
    assert isinstance(PlainLaplace(scale=2.0).density, RoughDensity)
    assert isinstance(PlainGaussian(sigma=1.4, delta=1e-5).density, SmoothDensity)


@pytest.mark.parametrize("steps", [{}, {"clamp": True, "suppress": 2}])
@pytest.mark.parametrize(("plain", "closed"), REAL)
def test_count_ratios_do_not_depend_on_method(plain, closed, steps):
    """By sums, by a cubic, or exactly between whole numbers."""
    rng = np.random.default_rng(5)
    prior = CountPrior(rng.uniform(0.02, 0.3, 6), 30, 30, np.zeros(6, dtype=np.int64))
    chains = [ReleaseChain(noise=noise, group_size=31, **steps) for noise in (plain, closed)]
    outputs = chains[1].sample(rng.binomial(30, prior.rates, (50, 6)), rng)
    mine, exact = (log_ratios(chain, outputs, np.zeros((50, 6)), prior) for chain in chains)
    np.testing.assert_allclose(mine, exact, atol=3e-5)


def test_noise_that_is_not_log_concave_has_no_curve():
    noise = Cauchy(scale=1.0)
    assert noise.best_attack([(1.0, 1)]) is None
    assert noise.curve(np.zeros(2), np.ones(2)) is None
    assert noise.guarantee.curve is None
    assert tradeoff.max_accuracy(noise.guarantee) == pytest.approx(1 / (1 + np.exp(-1)))


def test_capabilities_are_detected_by_protocol():
    assert adds_noise(PlainLaplace)
    assert adds_real_noise(PlainLaplace)
    assert not adds_real_noise(PlainGeometric)
    assert not adds_noise(exponential.Mechanism)
    assert is_additive(Cauchy(scale=1.0))
    assert not is_additive(None)
    assert {"laplace", "gaussian", "geometric"} <= set(mechanism_names(adds_noise))


@pytest.mark.parametrize("name", mechanism_names(adds_noise))
def test_noise_is_scaled_to_another_sensitivity(name):
    kind = mechanism_class(name)
    noise = kind(epsilon=1.0, **({"delta": 1e-5} if "delta" in kind.__dataclass_fields__ else {}))
    assert isinstance(noise, AdditiveMechanism)
    wider = noise.scaled_to(3.0, 3 * noise.noise_scale)
    assert (wider.sensitivity, wider.noise_scale) == (3.0, 3 * noise.noise_scale)
    slack = 0.05 if noise.lattice and noise.norm is Norm.L2 else 1e-9  # a finer lattice reveals a little more
    assert wider.guarantee.epsilon == pytest.approx(1.0, rel=slack)


@pytest.mark.parametrize("name", mechanism_names(adds_noise))
def test_noise_is_symmetric_and_log_concave(name):
    kind = mechanism_class(name)
    noise = kind(epsilon=0.7, **({"delta": 1e-5} if "delta" in kind.__dataclass_fields__ else {}))
    x = np.arange(0.0, 40.0) if noise.lattice else np.linspace(0, 40, 401)
    np.testing.assert_allclose(noise.log_density(x), noise.log_density(-x), rtol=1e-12)
    np.testing.assert_allclose(noise.log_sf(x), noise.log_cdf(-x - noise.lattice), rtol=1e-12)
    both = noise.log_density(np.concatenate([-x[:0:-1], x]))
    assert np.diff(both, 2).max() <= 1e-9


def test_lattice_noise_rejects_non_integers():
    for name in set(mechanism_names(adds_noise)) - set(mechanism_names(adds_real_noise)):
        kind = mechanism_class(name)
        noise = kind(epsilon=1.0, **({"delta": 1e-5} if "delta" in kind.__dataclass_fields__ else {}))
        with pytest.raises(BadInput, match=f"{name}: values must be whole numbers, got 0.5"):
            noise.sample(np.array([1.0, 0.5]), np.random.default_rng(1))
        assert noise.log_law(np.array([0.5]), np.zeros(1)).tolist() == [-np.inf]
