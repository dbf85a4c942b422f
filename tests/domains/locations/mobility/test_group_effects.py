import os

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import binom, poisson

from domains.locations.small_town import town, traces
from leakgauge.domains.locations.group_sampling import count_kernels
from leakgauge.domains.locations.mobility import group_effects
from leakgauge.domains.locations.mobility.group_effects import GroupEffectsModel, group_effects_model
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import laplace

SIZE = 200
CHAIN = ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=SIZE, round=True, clamp=True)
UNROUNDED = ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=SIZE)
SUPPRESSED = ReleaseChain(noise=None, group_size=SIZE, suppress=2)


def usual(n_places=6, n_epochs=8, level=0.03, seed=0):
    return level * np.random.default_rng(seed).lognormal(sigma=0.5, size=(n_places, n_epochs))


def fit_of(chain, rates, space=0.1, time=0.02):
    return GroupEffectsModel(
        chain, SIZE, rates, np.full(rates.shape[0], space), np.full(rates.shape[1], time)
    )


def releases_of(chain, rates, place, epoch, n, rng=1):
    rng = np.random.default_rng(rng)
    busy = rates * np.exp(place[:, None] + epoch)
    return chain.sample(rng.binomial(SIZE, busy, size=(n, *rates.shape)), rng).reshape(n, -1)


def log_posterior(chain, rates, release, place, epoch, space=0.1, time=0.02):
    """By the sum over all counts, with SciPy's binomial law."""
    busy = np.clip(rates * np.exp(place[:, None] + epoch), 1e-9, 1 - 1e-9)
    counts = np.arange(SIZE + 1)
    law = binom.pmf(counts, SIZE, busy[..., None]) * np.exp(chain.log_law(release[..., None], counts))
    return (
        np.log(law.sum(axis=-1) + 1e-300).sum()
        - (place**2).sum() / (2 * space)
        - (epoch**2).sum() / (2 * time)
    )


RAW = ReleaseChain(noise=None, group_size=SIZE)
CHAINS = pytest.mark.parametrize(
    ("chain", "error"),
    [(RAW, 0.02), (CHAIN, 0.05), (UNROUNDED, 0.05), (SUPPRESSED, 0.05)],
    ids=["raw", "chain", "unrounded", "suppressed"],
)


def drawn_and_likeliest(chain, n, seed=2):
    """Log factors that were drawn, of n releases of 3 x 4 cells, the fitted ones, and the likeliest ones."""
    rates = usual(3, 4, 0.05)
    rng = np.random.default_rng(seed)
    truth = np.column_stack([rng.normal(0, 0.3, (n, 3)), rng.normal(0, 0.14, (n, 4))])
    releases = [releases_of(chain, rates, own[:3], own[3:], 1, rng)[0] for own in truth]
    found = fit_of(chain, rates).factors(np.array(releases))

    def cost(logs, release):
        return -log_posterior(chain, rates, release.reshape(3, 4), logs[:3], logs[3:])

    best = np.array([minimize(cost, np.zeros(7), (one,), tol=1e-3).x for one in releases])
    return truth, np.column_stack([found.place, found.epoch]), best


@CHAINS
def test_factors_are_close_to_the_likeliest(chain, error):
    """Found again by a general optimiser over the exact posterior, with binomial counts.

    The standard deviation of a factor given the release is 0.1 or more.
    """
    _, found, best = drawn_and_likeliest(chain, 12)
    assert np.sqrt(((found - best) ** 2).mean()) < error


@pytest.mark.parametrize("noise", [None, laplace.Mechanism(scale=1.0)], ids=["raw", "laplace"])
@pytest.mark.parametrize("top", [60.0, 300.0])
def test_factors_of_busy_places_are_the_likeliest(noise, top):
    """By a general optimiser over the exact posterior of Poisson counts; the busiest place is less busy here.

    The standard deviation of its factor given the release is 0.03 or more.
    """
    chain = ReleaseChain(noise=noise, group_size=1000)
    expected = top * np.outer([1.0, 0.8, 0.1], [1.0, 0.9, 0.75, 0.6])
    model = GroupEffectsModel(chain, 1000, expected / 1000, np.full(3, 0.04), np.full(4, 0.0025))
    rng = np.random.default_rng(3)
    truth = np.exp(np.array([-0.3, 0.1, 0.2])[:, None] + np.array([0.0, 0.05, -0.05, 0.0]))
    releases = chain.sample(rng.poisson(expected * truth, size=(4, 3, 4)), rng)
    found = model.factors(releases.reshape(4, -1))
    counts = np.arange(601.0)

    def cost(logs, law):
        rates = expected * np.exp(logs[:3, None] + logs[3:])
        likelihood = logsumexp(poisson.logpmf(counts, rates[..., None]) + law, axis=-1)
        return -likelihood.sum() + (logs[:3] ** 2).sum() / 0.08 + (logs[3:] ** 2).sum() / 0.005

    laws = chain.log_law(releases[..., None], counts)
    best = np.array([minimize(cost, np.zeros(7), (law,), tol=1e-3).x for law in laws])
    errors = np.column_stack([found.place, found.epoch]) - best
    assert np.sqrt((errors**2).mean()) < 0.005


@pytest.mark.parametrize("busy", [-2.0, 2.0])
def test_factors_far_from_one_are_the_likeliest(busy):
    """By a general optimiser over the posterior of Poisson counts: one place and one epoch are far busier."""
    expected = np.array([[6.0, 3.0, 1.0], [2.0, 4.0, 8.0], [5.0, 5.0, 5.0]])
    place, epoch = np.array([busy, 0.0, 0.1]), np.array([0.0, -0.2, 1.0])
    counts = np.random.default_rng(7).poisson(expected * np.exp(place[:, None] + epoch))
    model = GroupEffectsModel(RAW, SIZE, expected / SIZE, np.full(3, 1.0), np.full(3, 0.3))

    def cost(logs):
        rates = expected * np.exp(logs[:3, None] + logs[3:])
        slope = (logs[:3] ** 2).sum() / 2 + (logs[3:] ** 2).sum() / 0.6
        return (rates - counts * np.log(rates)).sum() + slope

    best = minimize(cost, np.zeros(6), tol=1e-6).x
    found = model.factors(counts.reshape(1, -1).astype(np.float64)).at(np.arange(9))
    np.testing.assert_allclose(np.log(found.reshape(3, 3)), best[:3, None] + best[3:], atol=0.05)


@pytest.mark.nightly
@CHAINS
def test_factors_are_as_close_to_the_truth_as_the_likeliest(chain, error):
    truth, found, best = drawn_and_likeliest(chain, 100)
    excess = ((found - truth) ** 2).mean() / ((best - truth) ** 2).mean()
    assert excess < 1.05


@pytest.mark.parametrize("chain", [CHAIN, SUPPRESSED], ids=["chain", "suppressed"])
def test_finds_busy_place_and_quiet_epoch(chain):
    rates = usual(8, 40, 0.03)
    place, epoch = np.zeros(8), np.zeros(40)
    place[2], epoch[7] = 0.5, -0.3
    found = fit_of(chain, rates).factors(releases_of(chain, rates, place, epoch, 200))
    assert found.place[:, 2].mean() == pytest.approx(0.5, abs=0.06)
    assert -0.3 < found.epoch[:, 7].mean() < -0.05  # drawn towards zero: eight cells say little
    assert np.abs(np.delete(found.place.mean(axis=0), 2)).max() < 0.05


def test_strong_noise_fits_nothing():
    loud = ReleaseChain(noise=laplace.Mechanism(scale=100.0), group_size=SIZE)
    rates = usual()
    found = fit_of(loud, rates).factors(releases_of(loud, rates, np.zeros(6), np.zeros(8), 20))
    assert np.abs(found.place).max() < 0.1
    assert np.abs(found.epoch).max() < 0.05


@pytest.mark.parametrize(("top", "scale", "error"), [(50.0, 1000.0, 0.25), (3000.0, 100.0, 0.03)])
def test_noise_wider_than_the_table_is_not_taken_for_counts(top, scale, error):
    """The busiest place: nothing is learned in the first case (deviation 0.2), much in the second."""
    chain = ReleaseChain(noise=laplace.Mechanism(scale=scale), group_size=10_000)
    rng = np.random.default_rng(5)
    expected = top * np.outer([1.0, 0.2, 0.1], np.ones(24))
    place = rng.normal(0, 0.2, (50, 3))
    releases = chain.sample(rng.poisson(expected * np.exp(place[..., None])), rng).reshape(50, -1)
    model = GroupEffectsModel(chain, 10_000, expected / 10_000, np.full(3, 0.04), np.full(24, 0.0025))
    found = model.factors(releases).place
    assert np.sqrt(((found - place)[:, 0] ** 2).mean()) < error


def test_identical_groups_are_not_fitted():
    rates = usual()
    found = fit_of(CHAIN, rates, space=0.0, time=0.0).factors(
        releases_of(CHAIN, rates, np.full(6, 0.5), np.zeros(8), 3)
    )
    assert not found.place.any()
    assert not found.epoch.any()


def test_cell_factor_is_product_of_place_and_epoch():
    rates = usual()
    found = fit_of(CHAIN, rates).factors(releases_of(CHAIN, rates, np.zeros(6), np.zeros(8), 4))
    cells = np.array([0, 13, 47])
    expected = np.exp(found.place[:, [0, 1, 5]] + found.epoch[:, [0, 5, 7]])
    np.testing.assert_allclose(found.at(cells), expected)


def test_releases_are_fitted_separately():
    rates = usual()
    some = releases_of(CHAIN, rates, np.zeros(6), np.zeros(8), 5)
    together, alone = fit_of(CHAIN, rates).factors(some), fit_of(CHAIN, rates).factors(some[2:3])
    np.testing.assert_allclose(together.place[2], alone.place[0], atol=5e-3)  # tables differ a little


@pytest.mark.parametrize("extreme", [None, 180.0], ids=["usual", "extreme"])
@pytest.mark.parametrize("chain", [RAW, CHAIN, SUPPRESSED], ids=["raw", "chain", "suppressed"])
def test_compiled_loop_and_numpy_find_the_same_factors(chain, extreme, monkeypatch):
    """Also where one count is far above those that the first table holds."""
    if count_kernels.kernels() is None and not os.environ.get("CI"):
        pytest.skip("numba is not installed (extra `fast`)")
    rates = usual()
    some = releases_of(chain, rates, np.full(6, 0.2), np.zeros(8), 5)
    if extreme is not None:
        some[3, 17] = extreme
    compiled = fit_of(chain, rates).factors(some)
    monkeypatch.setattr(count_kernels, "kernels", lambda: None)
    numpy = fit_of(chain, rates).factors(some)
    np.testing.assert_allclose(compiled.place, numpy.place, atol=1e-5)
    np.testing.assert_allclose(compiled.epoch, numpy.epoch, atol=1e-5)
    assert np.abs(numpy.place).max() > 0.05


def test_group_variance_is_learned_from_people():
    """Half of the people make ten visits to place 0, the others none; place 1 is visited by chance alone."""
    rng = np.random.default_rng(4)
    n = 4_000
    visits = np.zeros((n, 2, 40), dtype=int)
    visits[: n // 2, 0] = rng.random((n // 2, 40)) < 0.25
    visits[:, 1] = rng.random((n, 40)) < 0.125
    people = traces(visits.reshape(n, 80), n_epochs=40)
    fit = group_effects_model(people, CHAIN, SIZE, np.full(80, 0.125))
    # The chance of a random person to be an active one varies: relative variance (1/4) / (1/2)^2 / SIZE.
    # The mean of the reference varies by chance as well: 5 visits on average, of variance 25 + 3.75, or 4.4.
    unsure = np.array([25 + 3.75, 40 * 0.125 * 0.875]) / 25 / n
    assert fit.space[0] - unsure[0] == pytest.approx(1 / SIZE, rel=0.15)
    assert abs(fit.space[1] - unsure[1]) < 0.1 / SIZE
    groups = [people.visits[rng.permutation(n)[:SIZE]].sum(axis=0) for _ in range(400)]
    totals = np.array(groups).reshape(400, 2, 40).sum(axis=2)
    apart = totals.var(axis=0) - SIZE * 40 * 0.125 * np.array([0.75, 0.875])
    assert apart[0] / totals[:, 0].mean() ** 2 == pytest.approx(fit.space[0] - unsure[0], rel=0.35)


@pytest.mark.parametrize("way", ["kernel", "counted", "sorted"])
def test_squared_visits_match_a_dense_table(way, monkeypatch):
    people = town(n_people=50, n_places=5, n_epochs=7, density=0.4)
    table = people.visits.toarray().reshape(50, 5, 7).astype(np.float64)
    if way == "kernel":
        loops = count_kernels.kernels() or count_kernels.Kernels(*[None] * 4, count_kernels.sum_squares, None)
        monkeypatch.setattr(count_kernels, "kernels", lambda: loops)
    else:
        monkeypatch.setattr(count_kernels, "kernels", lambda: None)
        monkeypatch.setattr(group_effects, "_MAX_PAIRS", 2**22 if way == "counted" else 1)
    places, epochs = group_effects._square_visits(people)
    np.testing.assert_allclose(places, (table.sum(axis=2) ** 2).sum(axis=0))
    np.testing.assert_allclose(epochs, (table.sum(axis=1) ** 2).sum(axis=0))


def test_only_places_that_are_read_need_the_last_step():
    rates = usual()
    releases = releases_of(CHAIN, rates, np.zeros(6), np.zeros(8), 4)
    cells = np.array([3, 9, 12])
    some, every = fit_of(CHAIN, rates).factors(releases, cells), fit_of(CHAIN, rates).factors(releases)
    np.testing.assert_allclose(some.at(cells), every.at(cells), rtol=1e-6)
