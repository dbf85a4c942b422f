"""OpenDP draws by its own randomness: such tests fail by accident, once in 100,000 runs or less."""

import math
import pickle
from dataclasses import replace

import cloudpickle
import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import discrete_gaussian, gaussian, geometric, laplace
from leakgauge.mechanisms.opendp import Mechanism, allowed_distance, kolmogorov_distance, release_of
from leakgauge.theory import gdp, tradeoff

dp.enable_features("contrib")

ACCIDENT = 1e-6
RNG = np.random.default_rng(1)  # which nothing here draws from
WHOLE, REAL = dp.atom_domain(T="i64"), dp.atom_domain(T=float, nan=False)


def one(make, domain, scale):
    kind = "i64" if domain is WHOLE else float
    return lambda: make(domain, dp.absolute_distance(T=kind), scale=scale)


def many(make, domain, scale):
    kind = "i64" if domain is WHOLE else float
    metric = dp.l1_distance(T=kind) if make is dp.m.make_laplace else dp.l2_distance(T=kind)
    return lambda: make(dp.vector_domain(domain), metric, scale=scale)


def opendp(make=None, law=None, **said):
    return Mechanism(
        make=make or many(dp.m.make_laplace, REAL, 2.0), law=law or laplace.Mechanism(scale=2.0), **said
    )


def gauss(sigma=2.0, **said):
    law = gaussian.Mechanism(sigma=sigma, delta=1e-5, **said)
    return opendp(many(dp.m.make_gaussian, REAL, sigma), law, delta=1e-5)


def noisy_number():
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0)


ROWS = [3.0, 1.0, 4.0, 1.0]
PAIR = (ROWS, [*ROWS, 6.0])


def noisy_sum():
    bounded = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0))), dp.symmetric_distance()
    return bounded >> dp.t.then_sum() >> dp.m.then_laplace(10.0)


@pytest.mark.parametrize("form", [one, many])
def test_laplace_noise_matches_closed_form(form):
    drawn = opendp(form(dp.m.make_laplace, REAL, 2.0)).sample(np.full(4_000, 7.5), RNG)
    assert stats.kstest(drawn, stats.laplace(7.5, 2.0).cdf).pvalue > ACCIDENT
    assert stats.kstest(drawn, stats.laplace(7.5, 3.0).cdf).pvalue < ACCIDENT  # so much the test can see


def test_discrete_gaussian_matches_distribution_and_guarantee():
    law = discrete_gaussian.Mechanism(sigma=1.5, delta=1e-5)
    noise = opendp(many(dp.m.make_gaussian, WHOLE, 1.5), law, delta=1e-5)
    assert noise.price.rho == pytest.approx(law.rho)
    assert noise.explained
    assert law.guarantee.epsilon <= noise.guarantee.epsilon
    assert noise.guarantee.curve is law.guarantee.curve
    drawn = noise.sample(np.full(4_000, 7.0), RNG) - 7
    assert kolmogorov_distance(drawn, law) < allowed_distance(4_000)
    assert kolmogorov_distance(drawn, law.scaled_to(1.0, 2.2)) > allowed_distance(4_000)


@pytest.mark.parametrize("form", [one, many])
def test_geometric_noise_matches_closed_form(form):
    law = geometric.Mechanism(scale=2.0)
    drawn = opendp(form(dp.m.make_laplace, WHOLE, 2.0), law).sample(np.full(4_000, 7.0), RNG)
    for scale, fits in ((2.0, True), (3.0, False)):
        known = stats.dlaplace(1 / scale, loc=7)
        places = np.arange(-2, 17)
        expected = np.array([known.cdf(-3), *known.pmf(places), known.sf(16)]) * drawn.size
        bins = np.bincount(np.clip(drawn - (-3), 0, 20).astype(int), minlength=21)
        assert (stats.chisquare(bins, expected, sum_check=False).pvalue > ACCIDENT) == fits
    np.testing.assert_allclose(
        np.exp(law.log_law(places + 0.0, np.full(19, 7.0))), stats.dlaplace(0.5, 7).pmf(places)
    )


def test_gaussian_noise_matches_closed_form():
    drawn = gauss().sample(np.full(4_000, 7.5), RNG)
    assert stats.kstest(drawn, stats.norm(7.5, 2.0).cdf).pvalue > ACCIDENT
    assert stats.kstest(drawn, stats.norm(7.5, 3.0).cdf).pvalue < ACCIDENT


def test_entries_of_vector_get_independent_noise():
    noise = opendp().sample(np.zeros(10_000), RNG).reshape(2, -1)
    cuts = noise > np.median(noise)
    table = [[np.sum((cuts[0] == a) & (cuts[1] == b)) for b in (False, True)] for a in (False, True)]
    assert stats.chi2_contingency(table).pvalue > ACCIDENT


def test_shapes_are_kept_and_draws_differ():
    values = np.arange(6.0).reshape(2, 3)
    first, again = (opendp().sample(values, np.random.default_rng(1)) for _ in range(2))
    assert first.shape == values.shape
    assert (first != again).all()  # a seed is of no use


@pytest.mark.parametrize("scale", [0.5, 1.0, 7.0])
@pytest.mark.parametrize("sensitivity", [1.0, 3.0])
def test_promise_matches_privacy_map(scale, sensitivity):
    law = laplace.Mechanism(scale=scale, sensitivity=sensitivity)
    promised = opendp(one(dp.m.make_laplace, REAL, scale), law).guarantee
    assert promised.epsilon == pytest.approx(sensitivity / scale, rel=1e-9)
    assert (promised.delta, promised.sensitivity) == (0, sensitivity)
    assert promised.curve is not None
    assert promised.exact_epsilon == pytest.approx(promised.epsilon)


def test_map_differing_from_distribution_is_used_without_curve():
    for scale in (1.0, 4.0):
        law = laplace.Mechanism(scale=scale)
        promised = opendp(one(dp.m.make_laplace, REAL, 2.0), law).guarantee
        assert (promised.epsilon, promised.exact_epsilon, promised.curve) == (0.5, 1 / scale, None)


def test_laplace_curve_does_not_bound_geometric_noise():
    """One answer of geometric noise allows e^0.1 / (1 + e^0.1); a Laplace curve would say less."""
    near = opendp(many(dp.m.make_laplace, WHOLE, 10.0), laplace.Mechanism(scale=10.0))
    assert near.guarantee.epsilon == pytest.approx(0.1)
    assert near.guarantee.curve is None
    exact = opendp(many(dp.m.make_laplace, WHOLE, 10.0), geometric.Mechanism(scale=10.0))
    assert tradeoff.max_accuracy(exact.guarantee.curve) == pytest.approx(1 / (1 + math.exp(-0.1)))


def test_zcdp_is_converted_at_delta_and_composes_in_rho():
    noise = gauss()
    theirs = dp.c.make_zCDP_to_approxDP(noise.measurement).map(1.0).epsilon(1e-5)
    assert noise.guarantee.epsilon == pytest.approx(theirs, rel=1e-6)
    assert noise.guarantee.delta == 1e-5
    assert noise.guarantee.exact_epsilon == pytest.approx(gdp.epsilon_at(0.5, 1e-5))
    assert noise.guarantee.curve is not None
    five = dp.c.make_composition([noise.measurement] * 5)
    assert noise.price.times(5).epsilon == pytest.approx(
        dp.c.make_zCDP_to_approxDP(five).map(1.0).epsilon(1e-5), rel=1e-6
    )


@pytest.mark.parametrize("delta", [None, 1e-5, 1e-4])
def test_approximate_dp_composes_in_epsilon_and_delta(delta):
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(one(dp.m.make_gaussian, REAL, 2.0)()), 1e-5)
    noise = opendp(lambda: fixed, gaussian.Mechanism(sigma=2.0, delta=1e-5), delta=delta)
    assert (noise.price.epsilon, noise.price.delta) == (fixed.map(1.0)[0], delta or 1e-5)
    assert (noise.price.times(3).epsilon, noise.price.times(3).delta) == (
        3 * noise.price.epsilon,
        pytest.approx(3 * noise.price.delta),
    )
    assert noise.guarantee.curve is None
    profile = dp.c.make_zCDP_to_approxDP(one(dp.m.make_gaussian, REAL, 2.0)())
    smoothed = opendp(lambda: profile, gaussian.Mechanism(sigma=2.0, delta=1e-5), delta=1e-5)
    assert smoothed.price.epsilon == profile.map(1.0).epsilon(1e-5)


def test_rejects_unsupported_privacy_map():
    bare = replace(gauss(), delta=None)
    with pytest.raises(BadInput, match="needs a delta; add delta"):
        _ = bare.guarantee
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(one(dp.m.make_gaussian, REAL, 2.0)()), 1e-5)
    with pytest.raises(BadInput, match="promises no less than 1e-05"):
        _ = opendp(lambda: fixed, delta=1e-9).guarantee
    silent = one(dp.m.make_laplace, REAL, 0.0)
    with pytest.raises(BadInput, match="which is not a finite promise"):
        _ = opendp(silent).guarantee


@pytest.mark.parametrize(
    ("make", "law"),
    [
        (many(dp.m.make_laplace, REAL, 2.0), laplace.Mechanism(scale=2.0)),
        (one(dp.m.make_laplace, REAL, 2.0), laplace.Mechanism(scale=2.02)),  # 1 % off is small
        (many(dp.m.make_laplace, WHOLE, 0.7), geometric.Mechanism(scale=0.7)),
        (many(dp.m.make_laplace, WHOLE, 200.0), laplace.Mechanism(scale=200.0)),  # near enough
        (many(dp.m.make_gaussian, REAL, 2.0), gaussian.Mechanism(sigma=2.0, delta=1e-5)),
        (many(dp.m.make_gaussian, WHOLE, 0.7), discrete_gaussian.Mechanism(sigma=0.7, delta=1e-5)),
    ],
)
def test_matching_distribution_is_accepted(make, law):
    opendp(make, law).require_law()


@pytest.mark.parametrize(
    ("make", "law", "said"),
    [
        (
            many(dp.m.make_laplace, REAL, 2.0),
            laplace.Mechanism(scale=3.0),
            "do not follow the distribution",
        ),
        (
            many(dp.m.make_laplace, REAL, 2.0),
            gaussian.Mechanism(sigma=2.0, delta=0.1),
            "distribution 'gaussian'",
        ),
        (many(dp.m.make_laplace, REAL, 2.0), geometric.Mechanism(scale=2.0), "not a whole number"),
        (many(dp.m.make_laplace, WHOLE, 1.0), laplace.Mechanism(scale=1.0), "distribution 'laplace'"),
        (
            many(dp.m.make_gaussian, WHOLE, 1.0),
            gaussian.Mechanism(sigma=1.0, delta=0.1),
            "distribution 'gaussian'",
        ),
    ],
)
def test_rejects_mismatched_distribution(make, law, said):
    with pytest.raises(BadInput, match=said):
        opendp(make, law).require_law()


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (laplace.Mechanism(scale=1.3), stats.laplace(scale=1.3)),
        (gaussian.Mechanism(sigma=1.3, delta=0.1), stats.norm(scale=1.3)),
    ],
)
def test_distance_matches_kolmogorov_and_smirnov(law, known):
    draws = np.random.default_rng(1).normal(size=500)
    assert kolmogorov_distance(draws, law) == pytest.approx(stats.kstest(draws, known.cdf).statistic)


def test_integer_distance_compares_distribution_functions():
    draws = np.random.default_rng(1).integers(-4, 5, 500).astype(float)
    places = np.arange(-60, 61)
    steps = np.array([np.mean(draws <= place) for place in places])
    gap = np.abs(steps - stats.dlaplace(1 / 1.3).cdf(places)).max()
    assert kolmogorov_distance(draws, geometric.Mechanism(scale=1.3)) == pytest.approx(gap)


def test_threshold_has_p_value_of_one_in_a_million():
    for n in (100, 5_000):
        assert 2 * math.exp(-2 * n * allowed_distance(n) ** 2) == pytest.approx(1e-6)
        assert stats.kstwo(n).sf(allowed_distance(n)) < 1e-6


def test_rejects_values_outside_the_domain():
    whole = opendp(many(dp.m.make_laplace, WHOLE, 1.0), geometric.Mechanism(scale=1.0))
    with pytest.raises(BadInput, match=r"whole numbers, got 2\.5"):
        whole.sample(np.array([1.0, 2.5]), RNG)
    small = opendp(
        lambda: dp.m.make_laplace(dp.atom_domain(T="i32"), dp.absolute_distance(T="i32"), scale=1.0)
    )
    with pytest.raises(BadInput, match="raised ValueError: 4294967296 is not representable"):
        small.sample(np.array([2.0**32]), RNG)


def test_rejects_non_numeric_measurements():
    total = dp.space_of(list[float]) >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    with pytest.raises(BadInput, match=r"takes Vec<f64> under SymmetricDistance\(\)"):
        _ = opendp(lambda: total).carrier
    for thing in (3, total):
        with pytest.raises(BadInput, match="must be a function without arguments"):
            _ = opendp(thing).measurement
    with pytest.raises(BadInput, match="returned a int, not a measurement"):
        _ = opendp(lambda: 3).measurement
    with pytest.raises(BadInput, match=r"raised ZeroDivisionError: .*test_opendp.py, line \d+\)"):
        _ = opendp(lambda: 1 // 0).measurement


def test_enabled_features_are_pickled():
    packed = cloudpickle.dumps(release_of(noisy_sum))
    dp.disable_features("contrib")
    try:
        with pytest.raises(BadInput, match=r'requires "contrib".*call enable_features'):
            _ = opendp(many(dp.m.make_laplace, REAL, 5.0)).measurement
        assert isinstance(pickle.loads(packed)(ROWS, RNG), float)
    finally:
        dp.enable_features("contrib")


def test_can_be_pickled():
    noise = opendp(noisy_number, source="of noise.py")
    noise.sample(np.zeros(3), RNG)
    there = pickle.loads(cloudpickle.dumps(noise))
    assert there == noise
    assert repr(there) == repr(noise)
    assert there.sample(np.zeros(3), RNG).shape == (3,)


def test_audit_mechanism_accepts_measurement():
    measurement = noisy_sum()
    verdict = leakgauge.audit_mechanism(
        release_of(measurement), PAIR, epsilon=measurement.map(1), rounds=3_000
    )
    assert verdict.finding == "not violated"
    assert 0.1 < verdict.metrics["epsilon"].low < 1.0  # a record of 6 in noise of scale 10


def test_broken_promise_is_detected():
    arrays = tuple(map(np.array, PAIR))
    verdict = leakgauge.audit_mechanism(release_of(noisy_sum), arrays, epsilon=0.2, rounds=4_000)
    assert verdict.finding == "violated"


def test_measurement_is_sent_to_workers_as_function():
    with pytest.raises(BadInput, match="cannot be sent to workers: give release_of a function"):
        leakgauge.audit_mechanism(release_of(noisy_sum()), PAIR, epsilon=1.0, rounds=2_000, workers=2)
    with pytest.raises(BadInput, match="must be a function without arguments"):
        release_of(3)
    there = pickle.loads(cloudpickle.dumps(release_of(noisy_sum)))
    assert isinstance(there(ROWS, RNG), float)
