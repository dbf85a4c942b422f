import pickle

import numpy as np
import pytest
from scipy.stats import beta, betabinom, binom

from domains.locations.small_town import traces
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.count_priors import log_masses
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.knowledge import PastReleasesKnowledge
from leakgauge.domains.locations.mobility.cell_rates import (
    ReferenceRates,
    _likeliest_shape,
    log_gamma_ratio,
    rates_from_past,
    rates_from_reference,
    shrink_by_held_out,
    shrunk_rates_from_reference,
)
from leakgauge.domains.locations.partial_traces import known_cells
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.mechanisms import laplace


def people_at(rates, n_people, n_epochs, seed=0):
    """People who are in every cell with the chance given, independently."""
    visits = np.random.default_rng(seed).random((n_people, rates.size)) < rates
    return traces(visits, n_epochs)


def test_total_visits_are_preserved():
    rng = np.random.default_rng(1)
    rates = np.outer(rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(10))).ravel() * 5
    people = people_at(rates, 500, 10)
    found = rates_from_reference(people).everywhere
    assert found.sum() == pytest.approx(people.n_visits.mean(), rel=0.02)


def test_recovers_beta_binomial_shape():
    """Visitors drawn from beta-binomial laws, by SciPy."""
    rng = np.random.default_rng(2)
    base = rng.uniform(0.001, 0.3, size=20_000)
    for shape in (0.5, 5.0):
        visitors = betabinom.rvs(40, shape, shape * (1 - base) / base, random_state=rng)
        assert _likeliest_shape(visitors, 40, base) == pytest.approx(shape, rel=0.1)


def test_shape_maximises_likelihood_of_visitors():
    """The shape found is better than its neighbours, by SciPy's law."""
    rng = np.random.default_rng(3)
    base = rng.uniform(0.01, 0.2, size=500)
    visitors = betabinom.rvs(100, 3.0, 3.0 * (1 - base) / base, random_state=rng)
    found = _likeliest_shape(visitors, 100, base)
    at, below, above = (
        betabinom.logpmf(visitors, 100, shape, shape * (1 - base) / base).sum()
        for shape in (found, 0.9 * found, 1.1 * found)
    )
    assert at > below
    assert at > above


@pytest.mark.parametrize("number", [8.5, 14.25, 1e4, 3e9])
def test_ratio_of_gamma_functions_is_a_product(number):
    """Gamma(x) / Gamma(x - k) = (x - 1) ... (x - k)."""
    for less in (1, 3):
        expected = -np.log(number - np.arange(1, less + 1)).sum()
        found = log_gamma_ratio(np.array([number]), np.array([float(less)]))
        assert found[0] == pytest.approx(expected, abs=1e-9)


def test_rates_are_computed_once_for_a_reference():
    people = traces(np.random.default_rng(1).random((40, 12)) < 0.3, n_epochs=4)
    assert rates_from_reference(people) is rates_from_reference(people)
    assert shrunk_rates_from_reference(people, 9) is shrunk_rates_from_reference(people, 9)
    again = pickle.loads(pickle.dumps(people))
    assert rates_from_reference(again) is not rates_from_reference(people)
    np.testing.assert_array_equal(
        rates_from_reference(again).everywhere, rates_from_reference(people).everywhere
    )


def test_posterior_of_rates_predicts_counts_of_other_people():
    """k visitors of n: m others are beta-binomial(m; k + a, n - k + b), by Bayes' rule on a grid of rates."""
    n, m, mean, shape = 60, 25, 0.1, 1.7
    rates = ReferenceRates(np.array([0, 4]), n, np.full(2, mean), shape)
    grid = (np.arange(20_000) + 0.5) / 20_000
    for cell, k in enumerate((0, 4)):
        posterior = beta.pdf(grid, shape, shape * (1 - mean) / mean) * binom.pmf(k, n, grid)
        others = np.array([posterior @ binom.pmf(c, m, grid) for c in range(m + 1)]) / posterior.sum()
        rate, own = rates(np.array([cell]), 0.0), rates.shapes(np.array([cell]), 0.0)
        found = np.exp(log_masses(m, rate, 0, range(m + 1), float(own[0]))[0])
        np.testing.assert_allclose(found, others, atol=0.01)  # shapes are rounded within 2.5 %
        unrounded = np.exp(log_masses(m, rate, 0, range(m + 1), shape + k)[0])
        np.testing.assert_allclose(unrounded, others, atol=1e-4)


def test_additive_cells_are_shrunk_to_marginals():
    rng = np.random.default_rng(4)
    rates = np.outer(rng.dirichlet(np.ones(10)), rng.dirichlet(np.full(20, 5.0))).ravel() * 8
    people = people_at(rates, 400, 20)
    found = rates_from_reference(people)
    raw = people.visitors() / 400
    assert found.shape > 20
    assert np.square(found.everywhere - rates).sum() < 0.3 * np.square(raw - rates).sum()


def test_distinct_cells_are_kept_with_many_people():
    rng = np.random.default_rng(5)
    rates = rng.gamma(0.5, 0.05, size=400).clip(max=0.9)
    people = people_at(rates, 2_000, 20)
    found, raw = rates_from_reference(people).everywhere, people.visitors() / 2_000
    assert np.abs(found - raw).max() < 0.01
    assert np.square(found - rates).sum() <= 1.02 * np.square(raw - rates).sum()


def test_unvisited_cell_has_positive_rate_by_popularity():
    visits = np.zeros((20, 6), dtype=int)
    visits[:, 0], visits[:4, 1], visits[:2, 3] = 1, 1, 1
    found = rates_from_reference(
        traces(visits, n_epochs=3)
    ).everywhere  # cell 2 is of the popular place, 5 is not
    assert 0 < found[5] < found[2] < 1


def test_rates_include_the_target():
    rates = ReferenceRates(np.array([0, 3]), 100, np.array([0.01, 0.01]), shape=2.0)
    cells = np.array([0, 1])
    np.testing.assert_allclose(rates(cells), [3 / 300, 6 / 300])
    np.testing.assert_allclose(rates(cells, np.array([0.0, 0.5])), [2 / 300, 5.5 / 300])


def test_shrunken_rates_are_posterior_means_of_a_larger_shape():
    """Ten times the shape for the mean; the target still counts as one visitor more, as for single cells."""
    rates = ReferenceRates(np.array([0, 3]), 100, np.array([0.01, 0.01]), shape=2.0, shrinkage=10.0)
    cells = np.array([0, 1])
    np.testing.assert_allclose(rates(cells, 0.0), [20 / 2100, 23 / 2100])
    np.testing.assert_allclose(rates(cells), [20 / 2100 * (1 + 1 / 2), 23 / 2100 * (1 + 1 / 5)])
    np.testing.assert_allclose(rates.shapes(cells), [3.0, 6.0], rtol=0.026)


def test_cells_that_differ_are_not_shrunk_further():
    """Rates of cells vary strongly, and 2,000 people show them: shrinking them would predict others worse."""
    rates = np.random.default_rng(7).gamma(0.5, 0.02, size=400).clip(max=0.9)
    people = people_at(rates, 2_000, 20)
    found = rates_from_reference(people)
    assert shrink_by_held_out(found, people, 500).shrinkage == 1.0


def test_cells_that_follow_place_and_epoch_are_shrunk():
    rng = np.random.default_rng(8)
    rates = np.outer(rng.dirichlet(np.ones(10)), rng.dirichlet(np.full(20, 5.0))).ravel() * 8
    people = people_at(rates, 400, 20)
    found = rates_from_reference(people)
    shrunk = shrink_by_held_out(found, people, 200)
    assert shrunk.shrinkage == 10.0
    assert np.square(shrunk.everywhere - rates).sum() <= np.square(found.everywhere - rates).sum()


def test_shrunken_rates_depend_less_on_who_is_in_the_reference():
    """Cells vary a little beyond place and epoch (shape 40): what they add differs less by reference."""
    rng = np.random.default_rng(9)
    rates = np.outer(rng.dirichlet(np.full(10, 3.0)), rng.dirichlet(np.full(20, 5.0))).ravel() * 4
    rates *= rng.gamma(40.0, 1 / 40, size=rates.size)
    both = [people_at(rates, 500, 20, seed=seed) for seed in (1, 2)]
    plain = [rates_from_reference(people) for people in both]
    shrunk = [shrink_by_held_out(one, people, 200) for one, people in zip(plain, both)]
    apart, apart_shrunk = (
        np.square(np.log(first.everywhere / first.base) - np.log(second.everywhere / second.base)).mean()
        for first, second in (plain, shrunk)
    )
    assert apart_shrunk < 0.2 * apart


def test_few_people_leave_rates_as_they_are():
    people = people_at(np.full(40, 0.1), 60, 8)
    found = rates_from_reference(people)
    assert shrink_by_held_out(found, people, 20) is found


def test_expected_rate_is_unbiased_for_visited_cells():
    """Of random people's cells: what the reference says is right on average, and without them too low."""
    rng = np.random.default_rng(6)
    rates = rng.gamma(1.0, 0.01, size=2_000).clip(max=0.9)
    everybody = people_at(rates, 600, 40, seed=6)
    found = rates_from_reference(everybody.of(np.arange(200)))
    cells = np.concatenate([everybody.cells(person) for person in range(200, 600)])
    assert found(cells).mean() == pytest.approx(rates[cells].mean(), rel=0.05)
    assert found(cells, 0.0).mean() < 0.9 * rates[cells].mean()


def test_rates_stay_below_one():
    everywhere = traces(np.ones((10, 6), dtype=int), n_epochs=3)
    assert (rates_from_reference(everywhere)(np.arange(6)) < 1).all()


def test_reference_without_visits_is_accepted():
    nobody = Traces(traces(np.zeros((3, 6), dtype=int)).visits, CellMap(2, 3, np.zeros(3, dtype=np.int64)))
    assert (rates_from_reference(nobody).everywhere > 0).all()


GROUP, CELLS = 100, np.array([1, 7, 20])


def past(chain, rates, n_releases, seed=0):
    """Releases of groups of 100 people, with a target in half of them, in three cells."""
    rng = np.random.default_rng(seed)
    members = rng.random((n_releases, 1)) < 0.5
    counts = rng.binomial(GROUP, rates, size=(n_releases, rates.size))
    counts[np.ix_(members[:, 0], CELLS)] += 1
    where = traces(np.ones((1, rates.size), dtype=int), n_epochs=6).map
    public = PublicParameters(chain, GROUP, 1, Relation.ADD_REMOVE, where)
    return PastReleasesKnowledge(public, (known_cells(CELLS),), chain.sample(counts, rng), members)


def rates_of(seed=1):
    rng = np.random.default_rng(seed)
    return 0.04 * np.outer(rng.lognormal(sigma=0.7, size=4), rng.lognormal(sigma=0.3, size=6)).ravel()


@pytest.mark.parametrize(
    "chain",
    [
        ReleaseChain(
            noise=laplace.Mechanism(scale=2.0), group_size=GROUP, round=True, clamp=True, suppress=1
        ),
        ReleaseChain(noise=laplace.Mechanism(scale=2.0), group_size=GROUP),
        ReleaseChain(noise=None, group_size=GROUP, suppress=2),
        ReleaseChain(noise=None, group_size=GROUP),
    ],
    ids=["chain", "unrounded", "suppressed", "raw"],
)
def test_earlier_releases_estimate_rates_without_target(chain):
    rates = rates_of()
    rates[CELLS] *= [0.5, 1.5, 2.0]  # cells need not be what their place and epoch suggest
    ((found, shapes),) = rates_from_past(past(chain, rates, 2_000), chain)
    assert (shapes > 50).all()  # a few hundred visits or more
    np.testing.assert_allclose(found, rates[CELLS], rtol=0.12)


def test_single_release_estimates_popularity():
    chain = ReleaseChain(noise=None, group_size=GROUP, suppress=1)
    rates = rates_of()
    earlier = past(chain, rates, 30)
    only_with = PastReleasesKnowledge(
        earlier.public, earlier.sketches, earlier.releases, np.ones((30, 1), dtype=bool)
    )
    ((found, shapes),) = rates_from_past(only_with, chain)
    assert (shapes < 2).all()  # nobody counted but the target: the prior, an exponential distribution
    np.testing.assert_allclose(found, rates[CELLS], rtol=0.3)
