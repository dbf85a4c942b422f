from functools import partial

import numpy as np
import pytest
from scipy.special import logit, logsumexp
from scipy.stats import binom

from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.ratio_tables import (
    MAX_EXACT_RATES,
    MAX_LOG_RATIO,
    CellsByRate,
    ColumnRatios,
    OutputElements,
    RatioGrid,
    RatioTable,
    TableRows,
    averaged_ratio_table,
    bounded_log_ratio,
    noise_reach,
    rate_nodes,
    rate_step,
    relevant_counts,
    tabulate_ratios,
    weighted_log_ratio,
)
from leakgauge.mechanisms import gaussian, logistic
from leakgauge.mechanisms._count_noise import IntegerOutputs, PiecewiseExponential, SmoothDensity
from strategies.direct_summation import log_masses


def test_all_positions_in_range_can_be_read():
    for between in (
        IntegerOutputs(),
        PiecewiseExponential(2.0),
        SmoothDensity(0.3, 0.02),
        SmoothDensity(5.0, 1.0),
    ):
        columns = RatioGrid.over(-3.0, 11.0, between)
        low, high = columns.readable
        assert low <= -3 <= 11 <= high
        assert columns.places.size == columns.n
        assert columns.ends == (columns.places[0], pytest.approx(columns.places[-1]))


def test_column_subset_keeps_positions():
    columns = RatioGrid.over(-3.0, 11.0, SmoothDensity(1.0, 0.2))
    part = columns.part(4, 9)
    assert part.places.tolist() == pytest.approx(columns.places[4:10].tolist())


def test_rows_read_one_or_two_table_rows():
    table, columns = np.arange(12.0).reshape(3, 4), np.array([3, 0, 1])
    assert TableRows(np.array([0, 1, 2])).of(columns, table).tolist() == [3, 4, 9]
    assert TableRows(np.array([0, 1, 1]), np.array([0.5, 0, 1.0])).of(columns, table).tolist() == [5, 4, 9]


@pytest.mark.parametrize("scale", [0.001, 0.4, 3.0, 500.0])
def test_laplace_densities_are_interpolated_exactly(scale):
    """The log ratio of two mixtures of Laplace densities, directly and from their values at whole numbers."""
    rng = np.random.default_rng(1)
    weights_in, weights_out = rng.dirichlet(np.ones(6), 2)

    def log_mixture(x, weights):
        logs = np.log(weights) - np.abs(x[:, None] - np.arange(6)) / scale
        top = logs.max(axis=1)
        return np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top

    columns = RatioGrid.over(-4.0, 9.0, PiecewiseExponential(scale))
    at_nodes = [log_mixture(columns.places, w)[None] for w in (weights_in, weights_out)]
    table = RatioTable(columns, ColumnRatios.of(*at_nodes, PiecewiseExponential(scale)), None)
    whole = np.arange(-4.0, 9.0)
    places = np.concatenate([rng.uniform(-4, 9, 400), whole, whole + 3e-4, whole + 1 - 3e-4])
    expected = log_mixture(places, weights_in) - log_mixture(places, weights_out)
    found = table.read(places, TableRows(np.zeros(places.size, dtype=np.intp)), None)
    np.testing.assert_allclose(found, expected, atol=1e-9 / min(scale, 1))


@pytest.mark.parametrize("scale", [0.05, 0.2, 1.0, 6.0])
@pytest.mark.parametrize("kind", [partial(gaussian.Mechanism, delta=1e-5), logistic.Mechanism])
def test_smooth_densities_are_interpolated_accurately(kind, scale):
    noise = kind(sigma=scale) if isinstance(kind, partial) else kind(scale=scale)
    weights = np.stack([np.append(0.0, binom.pmf(np.arange(5), 4, 0.3)), binom.pmf(np.arange(6), 5, 0.3)])

    def log_ratio(x):
        logs = noise.log_density(x[:, None] - np.arange(6))
        there, away = (logsumexp(logs, b=own, axis=1) for own in weights)
        return there - away

    columns = RatioGrid.over(-4.0, 9.0, noise.density)
    table = RatioTable(
        columns,
        ColumnRatios.of(log_ratio(columns.places)[None], np.zeros((1, columns.n)), noise.density),
        None,
    )
    places = np.linspace(-4, 9, 9_999)
    found = table.read(places, TableRows(np.zeros(places.size, dtype=np.intp)), None)
    np.testing.assert_allclose(found, log_ratio(places), atol=1e-5)


def test_impossible_in_one_world_is_certain():
    low, high = np.array([-np.inf, -np.inf, -1.0, -2.0]), np.array([-np.inf, -3.0, -np.inf, -2.5])
    assert bounded_log_ratio(low, high).tolist() == [0, -MAX_LOG_RATIO, MAX_LOG_RATIO, 0.5]


def test_uncertain_target_is_averaged():
    present, absent, weights = (
        np.array([1.0, 1.0, 1.0]),
        np.array([0.2, 0.2, 0.2]),
        np.array([0.0, 1.0, 0.25]),
    )
    expected = np.log(weights * np.exp(present) + (1 - weights) * np.exp(absent))
    np.testing.assert_allclose(weighted_log_ratio(present, absent, weights), expected)


class Triangle:
    """Noise of -1, 0 or 1."""

    between = IntegerOutputs()

    def log_at(self, distances):
        near = np.abs(distances) <= 1
        chances = np.array([0.2, 0.5, 0.3])[np.where(near, distances + 1, 0).astype(int)]
        return np.where(near, np.log(chances), -np.inf)


class Steady:
    """A law that falls by e^-0.3 per step."""

    between = IntegerOutputs()

    def log_at(self, distances):
        return -0.3 * np.abs(distances)


@pytest.mark.parametrize("sizes", [(20, 20), (20, 21)])
@pytest.mark.parametrize("law", [Triangle(), Steady()])
def test_table_matches_direct_sums(law, sizes):
    cells, columns = (
        CellsByRate(*sizes, 2, np.array([0.1, 0.4])),
        RatioGrid.over(-2.0, 26.0, IntegerOutputs()),
    )
    table = tabulate_ratios(law, cells, columns)
    counts = np.arange(sizes[1] + 3)
    for row, rate in enumerate(cells.rates):
        inside, outside = (np.append(log_masses(n, rate, 2), [-np.inf] * (sizes[1] - n)) for n in sizes)
        for column, place in enumerate(columns.places):
            there = logsumexp(inside + law.log_at(place - 1.0 - counts))
            away = logsumexp(inside + law.log_at(place - 1.0 * counts))
            without = logsumexp(outside + law.log_at(place - 1.0 * counts))
            for ratios, log in ((table.present, there), (table.absent, away)):
                if ratios is not None and max(log, without) > -np.inf:
                    assert ratios.at[row, column] == pytest.approx(
                        np.clip(log - without, -1e6, 1e6), abs=1e-9
                    )
    assert (table.absent is None) == (sizes[0] == sizes[1])


def test_table_works_for_any_distribution():
    cells, law = CellsByRate(20, 20, 0, np.array([0.1])), Steady()
    columns, counts = RatioGrid.over(0.0, 9.0, IntegerOutputs()), range(21)
    log_law = law.log_at(columns.places - np.arange(22.0)[:, None])
    np.testing.assert_allclose(
        averaged_ratio_table(log_law, counts, cells, columns).present.at,
        tabulate_ratios(law, cells, columns).present.at,
        atol=1e-9,
    )


def test_flat_distribution_needs_no_nearby_counts():
    cells = CellsByRate(10_000, 10_000, 0, np.array([0.001]))
    assert len(relevant_counts(Steady(), cells, -9000.0, 9000.0)) < 300


def test_spread_is_where_density_has_fallen():
    distance = noise_reach(Steady(), 30.0)
    assert 100 <= distance <= 112
    assert noise_reach(Triangle(), 30.0) == 2


def test_outputs_map_to_nearby_counts():
    low, high = CellsByRate(1000, 1000, 0, np.array([0.01, 0.02])).home(5.0, 20.0)
    assert low == -5
    assert 40 < high < 80


def elements_of(rates, coins, n_rounds):
    prior = CountPrior(rates, 500, 500, coins)
    shape = (n_rounds, coins.size)
    return OutputElements.all_of(shape, prior, None).only(np.ones(shape, dtype=bool))


@pytest.mark.parametrize("per_round", [False, True])
def test_every_element_is_in_one_group_with_its_rate_and_coins(per_round):
    rng, n_rounds, n_cells = np.random.default_rng(1), 7, 40
    coins = rng.integers(0, 3, n_cells)
    rates = np.exp(rng.uniform(np.log(1e-6), 0, (n_rounds, n_cells) if per_round else n_cells))
    rates.flat[:2] = 0, 1
    elements = elements_of(rates, coins, n_rounds)
    own, times = np.broadcast_to(rates, (n_rounds, n_cells)).ravel(), np.zeros(n_rounds * n_cells)
    for group in elements.groups():
        times[group.elements] += 1
        np.testing.assert_array_equal(group.cells.rates[group.rows.first], own[group.elements])
        assert (coins[elements.cells[group.elements]] == group.cells.coins).all()
    assert (times == 1).all()


def test_few_rates_have_row_each():
    rates = np.tile(np.linspace(0.1, 0.2, MAX_EXACT_RATES), 3)
    nodes, rows = rate_nodes(100, rates)
    assert rows.share is None
    np.testing.assert_array_equal(nodes[rows.first], rates)


def test_many_rates_are_interpolated_in_log_odds():
    rates = np.random.default_rng(1).uniform(0.001, 0.5, 5000)
    nodes, rows = rate_nodes(100, rates)
    low, high = logit(nodes[rows.first]), logit(nodes[rows.first + 1])
    np.testing.assert_allclose(low + rows.share * (high - low), logit(rates), atol=1e-9)
    np.testing.assert_allclose(np.diff(logit(nodes)), rate_step(100, rates), rtol=1e-6)


def test_rows_are_closer_where_counts_are_large():
    assert (
        rate_step(100, np.array([0.5]))
        > rate_step(10_000, np.array([0.5]))
        > rate_step(10**6, np.array([0.5]))
    )
