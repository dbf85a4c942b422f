import pickle

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts import precomputed_ratios
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import log_ratios
from leakgauge.domains.locations.counts.precomputed_ratios import precompute_ratios, precompute_ratios_between
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace

CHAINS = {
    "raw": ReleaseChain(noise=None, group_size=400, suppress=1),
    "laplace": ReleaseChain(noise=laplace.Mechanism(epsilon=0.5), group_size=400),
    "laplace-clamp": ReleaseChain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=400, clamp=True, suppress=2
    ),
    "laplace-round": ReleaseChain(
        noise=laplace.Mechanism(epsilon=0.1), group_size=400, round=True, clamp=True
    ),
    "gaussian": ReleaseChain(noise=gaussian.Mechanism(sigma=3.0, delta=1e-5), group_size=400),
    "geometric": ReleaseChain(noise=geometric.Mechanism(epsilon=1.0), group_size=400, clamp=True, suppress=1),
    "mute": ReleaseChain(noise=None, group_size=4, clamp=True, suppress=4),
}
N_ROUNDS, N_CELLS = 30, 8
WEIGHTS = np.array([1.0, 0.5, 0.1, 1.0, 0.0, 0.9, 1.0, 0.3])


def played(chain, rates, known, seed=1):
    rng = np.random.default_rng(seed)
    counts = known + rng.binomial(399, rates, size=(N_ROUNDS, N_CELLS)) + rng.integers(0, 2, (N_ROUNDS, 1))
    outputs = chain.sample(counts, rng)
    outputs[0] += 150  # what no table foresees
    return outputs


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["known", "weighed"])
@pytest.mark.parametrize("sizes", [(399, 399), (398, 399)], ids=str)
@pytest.mark.parametrize("name", CHAINS)
def test_lookup_matches_computation(name, sizes, weights):
    chain, rng = CHAINS[name], np.random.default_rng(2)
    rates = np.append(np.exp(rng.uniform(np.log(1e-5), np.log(0.3), N_CELLS - 1)), 0.0)
    coins = np.array([0, 0, 2, 1, 0, 7, 0, 0])  # no table holds seven
    known = rng.integers(0, 9, size=(N_ROUNDS, N_CELLS))
    tables = precompute_ratios(chain, *sizes, rates, coins=(0, 1, 2), most_known=8)
    for who in (0, known):
        outputs, prior = played(chain, rates, who), CountPrior(rates, *sizes, coins)
        np.testing.assert_allclose(
            tables.log_ratios(outputs, who, prior, weights),
            log_ratios(chain, outputs, who, prior, weights),
            atol=1e-6,
        )


@pytest.mark.parametrize("name", CHAINS)
def test_interpolated_rates_are_accurate_to_a_thousandth(name):
    chain, rng = CHAINS[name], np.random.default_rng(2)
    rates = np.exp(rng.uniform(np.log(1e-5), np.log(0.3), (N_ROUNDS, N_CELLS)))
    outputs, nobody = played(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    tables = precompute_ratios_between(chain, 399, 399, 1e-4, 0.2)  # some rates lie outside
    found = tables.log_ratios(outputs, 0, CountPrior(rates, 399, 399, nobody))
    exact = [
        log_ratios(chain, row[None], 0, CountPrior(p, 399, 399, nobody))[0] for row, p in zip(outputs, rates)
    ]
    assert np.abs(found - exact).max() < 1e-3


def test_many_rates_share_rows():
    rates = np.geomspace(1e-4, 0.2, 1000)
    tables = precompute_ratios(CHAINS["geometric"], 399, 399, rates)
    assert tables.nodes.size < 300
    prior = CountPrior(rates[100:900], 399, 399, np.zeros(800, dtype=np.int64))
    outputs = np.arange(800.0)[None] % 50
    expected = log_ratios(CHAINS["geometric"], outputs, 0, prior)
    np.testing.assert_allclose(tables.log_ratios(outputs, 0, prior), expected, atol=1e-3)


def test_other_group_sizes_are_computed_directly():
    chain, rates = CHAINS["geometric"], np.full(N_CELLS, 0.01)
    outputs, nobody = played(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    tables = precompute_ratios(chain, 399, 399, rates)
    for prior in (CountPrior(rates, 100, 100, nobody), CountPrior(rates, 0, 0, nobody)):
        np.testing.assert_array_equal(
            tables.log_ratios(outputs, 0, prior), log_ratios(chain, outputs, 0, prior)
        )


def test_unknown_distribution_is_computed_directly():
    class Standing:
        whole = True
        log_law = staticmethod(CHAINS["geometric"].log_law)

    rates, nobody = np.full(N_CELLS, 0.01), np.zeros(N_CELLS, dtype=np.int64)
    outputs, prior = played(CHAINS["geometric"], rates, 0), CountPrior(rates, 399, 399, nobody)
    found = precompute_ratios(Standing(), 399, 399, rates).log_ratios(outputs, 0, prior)
    np.testing.assert_allclose(found, log_ratios(CHAINS["geometric"], outputs, 0, prior), atol=1e-9)


def test_oversized_tables_are_computed_directly(monkeypatch):
    chain, rates = CHAINS["laplace"], np.full(N_CELLS, 0.01)
    outputs, nobody = played(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    monkeypatch.setattr(precomputed_ratios, "_MAX_TABLE_ENTRIES", 10)
    tables, prior = precompute_ratios(chain, 399, 399, rates), CountPrior(rates, 399, 399, nobody)
    assert tables.tables == ()
    np.testing.assert_array_equal(tables.log_ratios(outputs, 0, prior), log_ratios(chain, outputs, 0, prior))


def test_ratios_do_not_depend_on_cache_state_or_pickling():
    chain, rates = CHAINS["laplace-clamp"], np.geomspace(1e-4, 0.1, N_CELLS)
    tables, prior = (
        precompute_ratios(chain, 399, 399, rates),
        CountPrior(rates, 399, 399, np.zeros(N_CELLS, dtype=np.int64)),
    )
    first = tables.log_ratios(played(chain, rates, 0), 0, prior)
    tables.log_ratios(played(chain, rates, 0, seed=5) + 60, 0, prior)
    np.testing.assert_array_equal(tables.log_ratios(played(chain, rates, 0), 0, prior), first)
    again = pickle.loads(pickle.dumps(tables))
    np.testing.assert_array_equal(again.log_ratios(played(chain, rates, 0), 0, prior), first)


@pytest.mark.parametrize("ends", [(0.0, 0.5), (0.5, 0.1), (0.1, 1.0), (np.nan, 0.5)])
def test_rejects_rates_outside_open_unit_interval(ends):
    with pytest.raises(BadInput, match=r"rates must lie in \(0, 1\)"):
        precompute_ratios_between(CHAINS["raw"], 399, 399, *ends)


def test_rates_do_not_matter_without_unknown_people():
    chain = ReleaseChain(
        noise=laplace.Mechanism(epsilon=0.7), group_size=300, round=True, clamp=True, suppress=1
    )
    tables = precompute_ratios(chain, 0, 0, np.linspace(0.01, 0.4, 200), coins=(0, 1, 2), most_known=300)
    assert tables.nodes.size == 1
    assert sum(table.columns.n for table in tables.tables) < 600  # nobody is near the size of the group
    rng = np.random.default_rng(5)
    coins = np.array([0, 1, 2, 1])
    known = rng.integers(0, 9, size=(50, 4))
    outputs = chain.sample(known + rng.binomial(coins, 0.5, size=known.shape), rng)
    outputs[0], known[0] = 300, [299, 300, 150, 0]  # but should somebody be
    prior = CountPrior(np.array([0.1, 0.2, 0.3, 0.4]), 0, 0, coins)
    assert tables.log_ratios(outputs, known, prior) == pytest.approx(
        log_ratios(chain, outputs, known, prior), abs=1e-9
    )
