import pickle
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.stats import chisquare, dlaplace, logistic, norm

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.release_chain import (
    NoiseAtLeast,
    NoiseAtMost,
    NoNoise,
    OutputDistribution,
    ReleaseChain,
    count_noise_of,
)
from leakgauge.mechanisms import (
    exponential,
    gaussian,
    geometric,
    laplace,
    mechanism_class,
    mechanism_names,
    randomized_response,
)
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

LAPLACE = laplace.Mechanism(scale=2.5)
GAUSSIAN = gaussian.Mechanism(sigma=1.5, delta=1e-5)
GEOMETRIC = geometric.Mechanism(scale=2.5)
LOGISTIC = logistic_noise.Mechanism(scale=1.5)


def additive(name: str, scale: float):
    """Any mechanism that adds noise, with a scale or standard deviation."""
    kind = mechanism_class(name)
    fields = kind.__dataclass_fields__
    return kind(sigma=scale, delta=1e-5) if "sigma" in fields else kind(scale=scale)


ADDITIVE = [additive(name, scale) for name in mechanism_names(adds_noise) for scale in (0.3, 2.5)]
WHOLE_NOISE = [
    count_noise_of(None, rounded=True),
    *(count_noise_of(noise, rounded=True) for noise in ADDITIVE),
]
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
    assert all(noise.between == IntegerOutputs() for noise in WHOLE_NOISE)
    assert count_noise_of(LAPLACE, rounded=False).between == PiecewiseExponential(2.5)
    assert count_noise_of(GAUSSIAN, rounded=False).between == SmoothDensity(1.5, 0.3)
    assert isinstance(count_noise_of(LOGISTIC, rounded=False).between, SmoothDensity)


@pytest.mark.parametrize("noise", WHOLE_NOISE, ids=str)
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


TEXTBOOK = [(LAPLACE, stats.laplace(scale=2.5)), (GAUSSIAN, norm(scale=1.5)), (LOGISTIC, logistic(scale=1.5))]


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


@pytest.mark.parametrize("noise", WHOLE_NOISE, ids=str)
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
@pytest.mark.parametrize("kind", [laplace, geometric])
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
        count_noise_of(laplace.Mechanism(scale=2.0), rounded=False),
        np.linspace(-20, 20, 41),
    )
    np.testing.assert_allclose(
        NoiseAtMost(noise).log_at(distances), stats.laplace.logcdf(distances, scale=2), atol=1e-12
    )
    np.testing.assert_allclose(
        NoiseAtLeast(noise).log_at(distances), stats.laplace.logsf(distances, scale=2), atol=1e-12
    )


SCALE, SIGMA, SIZE = 2.0, 1.7, 12
NOISES = {
    "none": None,
    "laplace": laplace.Mechanism(scale=SCALE),
    "gaussian": gaussian.Mechanism(sigma=SIGMA, delta=1e-5),
    "geometric": geometric.Mechanism(scale=SCALE),
}
CONTINUOUS = {"laplace": stats.laplace(scale=SCALE), "gaussian": norm(scale=SIGMA)}
COMBINATIONS = list(product(NOISES, (False, True), (False, True), (0, 1, 3, SIZE)))
COUNTS = (0, 1, 4, 11, 12)


def is_whole(combination) -> bool:
    return combination[0] not in CONTINUOUS or combination[1]


def named(combination) -> str:
    return f"{combination[0]}{'-round' * combination[1]}{'-clamp' * combination[2]}-{combination[3]}"


WHOLE = pytest.mark.parametrize("combination", [c for c in COMBINATIONS if is_whole(c)], ids=named)
UNROUNDED = pytest.mark.parametrize("combination", [c for c in COMBINATIONS if not is_whole(c)], ids=named)


def chain_of(combination) -> ReleaseChain:
    noise, rounds, clamps, suppress = combination
    return ReleaseChain(noise=NOISES[noise], group_size=SIZE, round=rounds, clamp=clamps, suppress=suppress)


def published(value, combination):
    """What the steps after the noise make of one value, written out."""
    _, rounds, clamps, suppress = combination
    value = np.floor(value) if rounds else value
    value = min(max(value, 0), SIZE) if clamps else value
    return 0.0 if suppress and value <= suppress else float(value)


def whole_law(combination, count: int) -> dict[float, float]:
    """The law of whole outputs, adding up textbook probabilities of every noisy count."""
    values = np.arange(count - 150, count + 151)
    if combination[0] in CONTINUOUS:
        noise, low = CONTINUOUS[combination[0]], values - count
        above = noise.sf(low) - noise.sf(low + 1)
        masses = np.where(low >= 0, above, noise.cdf(low + 1) - noise.cdf(low))
    elif combination[0] == "geometric":
        masses = dlaplace.pmf(values - count, 1 / SCALE)
    else:
        masses = (values == count).astype(float)
    law: dict[float, float] = {}
    for value, mass in zip(values, masses, strict=True):
        output = published(value, combination)
        law[output] = law.get(output, 0.0) + float(mass)
    return law


def lumps(combination, count: int) -> dict[float, float]:
    """Outputs that have a probability although noise is not rounded, by the textbook."""
    noise, _, clamps, suppress = combination
    law = CONTINUOUS[noise]
    if clamps and suppress >= SIZE:
        return {0.0: 1.0}
    found = {0.0: float(law.cdf(suppress - count))} if clamps or suppress else {}
    return found | ({float(SIZE): float(law.sf(SIZE - count))} if clamps else {})


@WHOLE
@pytest.mark.parametrize("count", COUNTS)
def test_integer_output_distribution_sums_over_noisy_counts(combination, count):
    law = whole_law(combination, count)
    outputs = np.array(sorted(law))
    found = np.exp(chain_of(combination).log_law(outputs, count))
    expected = np.array([law[output] for output in outputs])
    likely = expected > 1e-250
    np.testing.assert_allclose(found[likely], expected[likely], rtol=1e-9)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    others = np.setdiff1d(np.concatenate([np.arange(-40, 60), [0.5, -0.5, 3.5]]), outputs)
    assert np.isneginf(chain_of(combination).log_law(others, count)).all()


@UNROUNDED
@pytest.mark.parametrize("count", COUNTS)
def test_atoms_and_density_match_textbook(combination, count):
    noise, _, clamps, suppress = combination
    chain, lumped = chain_of(combination), lumps(combination, count)
    for output, probability in lumped.items():
        assert np.exp(chain.log_law(output, count)) == pytest.approx(probability, rel=1e-9)
    low = suppress if clamps or suppress else count - 120.0
    high = SIZE if clamps else count + 120.0
    if high <= low:
        assert lumped == {0.0: 1.0}
        assert np.isneginf(chain.log_law(np.array([3.3, SIZE, 14.0]), count)).all()
        return
    edges = np.linspace(low, high, 40_001)
    grid = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(chain.log_law(grid, count), CONTINUOUS[noise].logpdf(grid - count), atol=1e-9)
    density = np.exp(chain.log_law(grid, count)).sum() * (grid[1] - grid[0])
    assert density + sum(lumped.values()) == pytest.approx(1, abs=1e-4)
    impossible = [suppress / 2] * (suppress > 0) + [-0.5] * (clamps or suppress > 0) + [SIZE + 0.5] * clamps
    assert np.isneginf(chain.log_law(np.array(impossible), count)).all()


def assert_follow(found: np.ndarray, masses: np.ndarray) -> None:
    """Chi-square; what is rare is taken together, or at least rare."""
    n, common = found.sum(), masses * found.sum() >= 5
    rare = n * (1 - masses[common].sum())
    if rare < 1:
        assert n - found[common].sum() <= 6
        found, masses = found[common], masses[common]
    else:
        found = np.append(found[common], found[~common].sum())
        masses = np.append(masses[common], rare / n)
    if found.size > 1:
        assert chisquare(found, masses / masses.sum() * found.sum()).pvalue > 1e-3


@WHOLE
@pytest.mark.parametrize("count", [0, 4, 11])
def test_integer_samples_match_distribution(combination, count):
    outputs = chain_of(combination).sample(np.full(20_000, count), np.random.default_rng(20240501))
    law = whole_law(combination, count)
    found = np.array([(outputs == name).sum() for name in law])
    assert found.sum() == outputs.size
    assert_follow(found, np.array(list(law.values())))


@UNROUNDED
@pytest.mark.parametrize("count", [0, 4, 11])
def test_unrounded_samples_match_distribution(combination, count):
    noise, _, clamps, suppress = combination
    outputs = chain_of(combination).sample(np.full(20_000, count), np.random.default_rng(20240501))
    lumped = lumps(combination, count)
    low = suppress if clamps or suppress else -np.inf
    high = max(low, SIZE) if clamps else np.inf
    edges = np.unique(np.array([-np.inf, *np.arange(count - 8, count + 9, 0.5), np.inf]).clip(low, high))
    between = outputs[~np.isin(outputs, list(lumped))]
    found = np.append(np.histogram(between, edges)[0], [(outputs == name).sum() for name in lumped])
    assert found.sum() == outputs.size
    assert_follow(found, np.append(np.diff(CONTINUOUS[noise].cdf(edges - count)), list(lumped.values())))


def test_floored_laplace_has_interval_probability():
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=0.5), group_size=100, round=True)
    outputs, counts = np.arange(-50, 51)[:, None], np.arange(0, 20)
    expected = stats.laplace.cdf(outputs + 1 - counts, scale=2) - stats.laplace.cdf(outputs - counts, scale=2)
    np.testing.assert_allclose(np.exp(chain.log_law(outputs, counts)), expected, atol=1e-15)


@pytest.mark.parametrize("distance", [-4000, -31, -1, 0, 1, 30, 700, 4000])
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "geometric"])
def test_tails_are_exact_far_below_smallest_float(noise, distance):
    with mpmath.workdps(60):
        if noise == "gaussian":
            exact = log_normal_between(distance, distance + 1, SIGMA)
        else:
            r = mpmath.exp(-1 / mpmath.mpf(SCALE))
            up = mpmath.mpf(1) / 2 if noise == "laplace" else 1 / (1 + r)
            steps, side = (distance, up) if distance >= 0 else (-1 - distance, 1 - up)
            exact = mpmath.log(side * (1 - r)) + steps * mpmath.log(r)
        chain = ReleaseChain(noise=NOISES[noise], group_size=10, round=True)
        assert float(chain.log_law(20 + distance, 20)) == pytest.approx(float(exact), rel=1e-12)


def log_normal_between(low, high, sigma):
    """By the smaller tail, with many digits."""
    low, high = (low, high) if low >= 0 else (-high, -low)
    return mpmath.log(
        (mpmath.erfc(low / (sigma * mpmath.sqrt(2))) - mpmath.erfc(high / (sigma * mpmath.sqrt(2)))) / 2
    )


@pytest.mark.parametrize("sigma", [0.05, 1.0, 40.0, 1e4])
def test_rounded_gaussian_keeps_precision_at_any_scale(sigma):
    chain = ReleaseChain(noise=gaussian.Mechanism(sigma=sigma, delta=1e-5), group_size=10, round=True)
    for z in (-30, -3, -0.5, 0, 0.1, 2, 25):
        distance = int(np.floor(z * sigma))
        with mpmath.workdps(60):
            exact = log_normal_between(distance, distance + 1, mpmath.mpf(sigma))
        assert float(chain.log_law(distance, 0)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("suppress", [0, 2])
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "geometric"])
def test_atoms_keep_precision(noise, suppress):
    chain = ReleaseChain(noise=NOISES[noise], group_size=10**6, round=True, clamp=True, suppress=suppress)
    counts = np.array([0, 1, 5, 60, 3000])
    with mpmath.workdps(60):
        for count in counts:
            beyond = suppress + 1 - int(count)  # noise of less than this is published as 0
            if noise == "gaussian":
                exact = mpmath.log(mpmath.erfc(-beyond / (SIGMA * mpmath.sqrt(2))) / 2)
            else:
                r = mpmath.exp(-1 / mpmath.mpf(SCALE))
                down = mpmath.mpf(1) / 2 if noise == "laplace" else r / (1 + r)
                exact = mpmath.log(down * r**-beyond if beyond <= 0 else 1 - (1 - down) * r**beyond)
            assert float(chain.log_law(0, count)) == pytest.approx(float(exact), rel=1e-12)


@WHOLE
@pytest.mark.parametrize("counts", [np.arange(SIZE + 1), np.array([5]), np.array([2, 9])], ids=str)
def test_table_rows_match_distribution_and_sum_to_one(combination, counts):
    chain = chain_of(combination)
    outputs, law = chain.table(counts)
    assert (np.diff(outputs) > 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(law, np.exp(chain.log_law(outputs, counts[:, None])), atol=3e-17, rtol=1e-12)


@UNROUNDED
def test_real_outputs_have_no_table(combination):
    with pytest.raises(BadInput, match="round = true"):
        chain_of(combination).table(np.arange(3))


def test_table_far_from_clamp_is_compact():
    chain = ReleaseChain(noise=NOISES["laplace"], group_size=10**6, round=True, clamp=True)
    outputs, law = chain.table(np.array([5000, 5001]))
    assert outputs.size < 200
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)


def test_raw_counts_are_published_as_they_are():
    counts = np.arange(20).reshape(4, 5)
    chain = ReleaseChain(noise=None, group_size=15)
    np.testing.assert_array_equal(chain.sample(counts, np.random.default_rng(1)), counts)
    assert chain.whole


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_counts_are_unchanged_and_outputs_are_floats(noise, dtype):
    counts = np.arange(6, dtype=dtype).reshape(2, 3)
    counts.setflags(write=False)
    chain = ReleaseChain(noise=NOISES[noise], group_size=5, round=True, clamp=True, suppress=1)
    outputs = chain.sample(counts, np.random.default_rng(1))
    assert outputs.dtype == np.float64
    assert outputs.shape == (2, 3)
    np.testing.assert_array_equal(outputs, chain.sample(counts, np.random.default_rng(1)))
    assert not np.signbit(outputs).any()


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "geometric"])
@pytest.mark.parametrize("rounds", [False, True])
def test_noise_does_not_depend_on_counts(noise, rounds):
    chain = ReleaseChain(noise=NOISES[noise], group_size=9, round=rounds)
    zeros, counts = np.zeros((50, 4)), np.random.default_rng(1).integers(0, 9, (50, 4))
    noise_of = [chain.sample(c, np.random.default_rng(2)) - c for c in (zeros, counts)]
    np.testing.assert_allclose(*noise_of, atol=1e-6)


def test_rejects_counts_that_are_not_whole():
    chain = ReleaseChain(noise=None, group_size=5)
    for bad in (0.5, np.nan):
        with pytest.raises(BadInput, match="whole numbers"):
            chain.sample(np.array([1.0, bad]), np.random.default_rng(1))


@pytest.mark.parametrize("bad", [-1, np.nan, 1.5, np.inf])
def test_suppression_threshold_must_be_integer(bad):
    with pytest.raises(BadInput, match="suppress must be a whole number >= 0"):
        ReleaseChain(noise=None, group_size=5, suppress=bad)


@pytest.mark.parametrize("bad", [0, -3, np.nan, 2.5])
def test_group_must_not_be_empty(bad):
    with pytest.raises(BadInput, match="group_size must be a whole number >= 1"):
        ReleaseChain(noise=None, group_size=bad)


def test_rejects_noise_without_count_distribution():
    with pytest.raises(BadInput, match="'exponential' does not add noise to every count"):
        ReleaseChain(noise=exponential.Mechanism(epsilon=1.0), group_size=5)


def test_chain_can_be_pickled():
    chain = ReleaseChain(noise=NOISES["gaussian"], group_size=7, clamp=True, suppress=1)
    assert chain.whole is False
    again = pickle.loads(pickle.dumps(chain))
    assert again == chain
    np.testing.assert_array_equal(again.log_law(np.arange(9), 3), chain.log_law(np.arange(9), 3))


def test_only_clamping_and_suppression_break_shift_invariance():
    outputs, counts = np.arange(-5.0, 9.0), np.arange(14)
    for noise in NOISES.values():
        free = ReleaseChain(noise=noise, group_size=9, round=True)
        assert free.shift_free
        np.testing.assert_allclose(free.log_law(outputs + 3, counts + 3), free.log_law(outputs, counts))
        assert not ReleaseChain(noise=noise, group_size=9, round=True, suppress=1).shift_free


GROUP_NOISES = {
    "raw": None,
    "laplace": laplace.Mechanism(scale=2.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "geometric": geometric.Mechanism(scale=1.5),
}
CHAINS = [
    pytest.param(
        ReleaseChain(noise=noise, group_size=12, round=down, clamp=clamp, suppress=k),
        id=f"{name}-{down}-{clamp}-{k}",
    )
    for (name, noise), down, clamp, k in product(GROUP_NOISES.items(), (False, True), (False, True), (0, 2))
]
GROUP_COUNTS = np.arange(13)
CUTS = [-3.5, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.3, 12.0, 12.5, 14.0]


@pytest.mark.parametrize("chain", CHAINS)
def test_exceedance_and_moments_match_samples(chain):
    law, n = OutputDistribution(chain), 40_000
    drawn = chain.sample(np.tile(GROUP_COUNTS, (n, 1)), np.random.default_rng(20240501))
    mean, variance = law.moments(GROUP_COUNTS)
    assert (np.abs(drawn.mean(axis=0) - mean) <= 5 * np.sqrt(variance / n) + 1e-9).all()
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.1, atol=1e-9)
    for cut in CUTS:
        chances = law.at_least(np.array(cut), GROUP_COUNTS)
        deviation = np.sqrt(chances * (1 - chances) / n)
        assert (np.abs((drawn >= cut).mean(axis=0) - chances) <= 5 * deviation + 1e-9).all()


@pytest.mark.parametrize("chain", [chain for chain in CHAINS if not chain.values[0].shift_free])
def test_mean_is_integral_of_exceedance(chain):
    law, edges = OutputDistribution(chain), np.arange(91.0)
    for count in (0, 1, 5, 12):
        one = np.array([count])
        if chain.whole:
            area = sum(law.at_least(np.array(cut), one)[0] for cut in edges[1:])
        else:
            area = sum(
                quad(lambda cut, one=one: law.at_least(np.array(cut), one)[0], low, low + 1)[0]
                for low in edges
            )
        assert law.moments(one)[0][0] == pytest.approx(area, abs=1e-7)


def test_arguments_broadcast():
    law = OutputDistribution(ReleaseChain(noise=GROUP_NOISES["laplace"], group_size=12, clamp=True))
    table = law.at_least(np.array([[1.0], [13.0], [0.0]]), np.array([[0, 5], [0, 5], [0, 5]]))
    assert table.shape == (3, 2)
    assert table[1].tolist() == [0.0, 0.0]
    assert table[2].tolist() == [1.0, 1.0]
    assert 0 < table[0, 0] < table[0, 1] < 1


def test_full_suppression_publishes_nothing():
    law = OutputDistribution(
        ReleaseChain(noise=GROUP_NOISES["laplace"], group_size=5, clamp=True, suppress=5)
    )
    assert law.at_least(np.array(0.1), GROUP_COUNTS).tolist() == [0.0] * 13
    assert law.at_least(np.array(0.0), GROUP_COUNTS).tolist() == [1.0] * 13
    assert law.moments(GROUP_COUNTS)[0].tolist() == [0.0] * 13


def test_large_counts_are_tabulated_in_chunks():
    law = OutputDistribution(ReleaseChain(noise=GROUP_NOISES["geometric"], group_size=2_000, clamp=True))
    mean, variance = law.moments(np.arange(1_000))
    np.testing.assert_allclose(mean[100:], np.arange(100, 1_000), atol=1e-9)
    assert np.ptp(variance[100:]) < 1e-6
