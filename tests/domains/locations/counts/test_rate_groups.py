import numpy as np
import pytest
from scipy.special import logit

from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.rate_groups import (
    MAX_EXACT_RATES,
    OutputElements,
    rate_nodes,
    rate_step,
)


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
