import pickle
from itertools import product

import mpmath
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts import count_ratios
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import (
    RateRange,
    log_ratios,
    precompute_ratios,
    precompute_ratios_between,
    total_log_ratio,
)
from leakgauge.domains.locations.counts.ratio_tables import CellsByRate
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace
from strategies.direct_summation import by_summation


@pytest.mark.parametrize("weights", [None, np.linspace(0, 1, 9)], ids=["known", "weighed"])
@pytest.mark.parametrize("entries", [1, 100, 2**20])
def test_results_do_not_depend_on_chunk_size(entries, weights, monkeypatch):
    monkeypatch.setattr(count_ratios, "_ENTRIES", entries)
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=0.7), group_size=40, round=True, clamp=True)
    rates, places = np.linspace(0.01, 0.9, 9), np.arange(0.0, 36.0, 4)
    found = count_ratios.log_ratios_by_sums(
        chain.log_law, range(31), CellsByRate(30, 30, 0, rates), places, weights
    )
    prior = CountPrior(rates, 30, 30, np.zeros(9, dtype=np.int64))
    np.testing.assert_allclose(found, by_summation(chain, places[None], 0, prior, weights)[0], atol=1e-9)


NOISES = {
    "none": None,
    "laplace": laplace.Mechanism(epsilon=0.5),
    "sharp-laplace": laplace.Mechanism(epsilon=6.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "sharp-gaussian": gaussian.Mechanism(sigma=0.5, delta=1e-5),
    "geometric": geometric.Mechanism(epsilon=1.0),
}
RATES = np.array([0.0, 0.0005, 0.004, 0.04, 0.3, 1.0])
NOBODY = np.zeros(6, dtype=np.int64)


class Standing:
    """The same law, without telling that it moves with the count."""

    def __init__(self, chain: ReleaseChain) -> None:
        self.whole, self.log_law = chain.whole, chain.log_law


CHAINS = {
    f"{name}{'-round' * rounds}{'-clamp' * clamps}-{suppress}": ReleaseChain(
        noise=NOISES[name], group_size=200, round=rounds, clamp=clamps, suppress=suppress
    )
    for name, rounds, clamps, suppress in product(NOISES, (False, True), (False, True), (0, 2))
    if not (rounds and name in ("none", "geometric"))
}


def played(chain, prior, known, seed=1, n_rounds=4):
    rng = np.random.default_rng(seed)
    counts = known + rng.binomial(prior.n_in, prior.rates, size=(n_rounds, prior.coins.size))
    return chain.sample(counts + rng.integers(0, 2, size=counts.shape), rng)


@pytest.mark.parametrize(
    "sizes", [pytest.param((150, 150), marks=pytest.mark.nightly), (150, 151), (0, 1)], ids=str
)
@pytest.mark.parametrize("chain", CHAINS)
def test_ratios_match_direct_summation(chain, sizes):
    chain = CHAINS[chain]
    known = np.random.default_rng(2).integers(0, 9, size=(4, 6))
    coins, weights = np.array([0, 3, 0, 1, 0, 1]), np.array([1.0, 0.3, 0.5, 1.0, 0.01, 0.0])
    tolerance = 1e-9 if chain.whole or not isinstance(chain.noise, gaussian.Mechanism) else 1e-5
    for who, flips, share in ((0, NOBODY, None), (known, coins, None), (known, coins, weights)):
        prior = CountPrior(RATES, *sizes, flips)
        outputs = played(chain, prior, who)
        expected = by_summation(chain, outputs, who, prior, share)
        np.testing.assert_allclose(log_ratios(chain, outputs, who, prior, share), expected, atol=tolerance)


@pytest.mark.parametrize("chain", list(CHAINS)[::3])
def test_undeclared_shift_invariance_gives_same_ratios(chain):
    chain = CHAINS[chain]
    known = np.random.default_rng(2).integers(0, 9, size=(4, 6))
    for who in (0, known):
        prior = CountPrior(RATES, 150, 151, np.array([0, 3, 0, 1, 0, 1]))
        outputs = played(chain, prior, who)
        np.testing.assert_allclose(
            log_ratios(Standing(chain), outputs, who, prior),
            log_ratios(chain, outputs, who, prior),
            atol=1e-5,
        )


@pytest.mark.parametrize("chain", list(CHAINS)[::3])
def test_oversized_tables_are_avoided(chain, monkeypatch):
    chain = CHAINS[chain]
    prior = CountPrior(RATES, 150, 151, np.array([0, 3, 0, 1, 0, 1]))
    outputs, weights = played(chain, prior, 5), np.array([1.0, 0.3, 0.5, 1.0, 0.01, 0.0])
    tables = [log_ratios(law, outputs, 5, prior, weights) for law in (chain, Standing(chain))]
    monkeypatch.setattr(count_ratios, "_MAX_TABLE_ENTRIES", 0)
    for law, expected in zip((chain, Standing(chain)), tables, strict=True):
        np.testing.assert_allclose(log_ratios(law, outputs, 5, prior, weights), expected, atol=1e-5)


def test_ratios_are_exact_below_float_range():
    """Outputs nobody would expect: 300 where the usual count is one in a million."""
    epsilon, n, rate = 2.0, 400, 1e-6
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=epsilon), group_size=500, round=True)
    outputs = np.array([[0.0, 7.0, 60.0, 300.0, 399.0, 450.0, -200.0]])
    prior = CountPrior(np.full(7, rate), n, n, np.zeros(7, dtype=np.int64))
    found = log_ratios(chain, outputs, 0, prior)[0]
    with mpmath.workdps(400):
        r, p = mpmath.exp(-mpmath.mpf(epsilon)), mpmath.mpf(rate)
        masses = [mpmath.binomial(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]

        def law(distance):
            return (1 - r) / 2 * r ** (distance if distance >= 0 else -1 - distance)

        for output, ratio in zip(outputs[0], found, strict=True):
            there = mpmath.fsum(m * law(int(output) - c - 1) for c, m in enumerate(masses))
            without = mpmath.fsum(m * law(int(output) - c) for c, m in enumerate(masses))
            assert ratio == pytest.approx(float(mpmath.log(there / without)), abs=1e-9)


def test_gaussian_tails_are_exact():
    sigma, n, rate = 2.0, 60, 0.01
    outputs = np.array([[0.0, 25.5, 80.25, 140.0, -90.0]])
    prior = CountPrior(np.full(5, rate), n, n, np.zeros(5, dtype=np.int64))
    chain = ReleaseChain(noise=gaussian.Mechanism(sigma=sigma, delta=1e-5), group_size=99)
    found = log_ratios(chain, outputs, 0, prior)[0]
    with mpmath.workdps(60):
        for output, ratio in zip(outputs[0], found, strict=True):
            sums = [
                mpmath.fsum(
                    mpmath.binomial(n, c) * mpmath.mpf(rate) ** c * (1 - mpmath.mpf(rate)) ** (n - c)
                    * mpmath.exp(-((output - c - own) ** 2) / (2 * sigma**2))
                    for c in range(n + 1)
                )
                for own in (1, 0)
            ]  # fmt: skip
            assert ratio == pytest.approx(float(mpmath.log(sums[0] / sums[1])), abs=1e-5)


def test_informed_laplace_ratio_is_clipped_distance():
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=0.5), group_size=99)
    known = np.random.default_rng(1).integers(0, 30, size=(50, 4))
    outputs = chain.sample(known + 1, np.random.default_rng(2))
    prior = CountPrior(np.full(4, 0.3), 0, 0, np.zeros(4, dtype=np.int64))
    y = outputs - known
    np.testing.assert_allclose(
        log_ratios(chain, outputs, known, prior), 0.5 * (abs(y) - abs(y - 1)), atol=1e-12
    )
    weights = np.array([1.0, 0.5, 0.1, 0.0])
    expected = np.log(weights * np.exp(0.5 * (abs(y) - abs(y - 1))) + 1 - weights)
    np.testing.assert_allclose(log_ratios(chain, outputs, known, prior, weights), expected, atol=1e-12)


def test_informed_gaussian_ratio_is_linear():
    chain = ReleaseChain(noise=gaussian.Mechanism(sigma=3.0, delta=1e-5), group_size=99)
    outputs = chain.sample(np.full((50, 2), 7), np.random.default_rng(2))
    prior = CountPrior(np.zeros(2), 0, 0, np.zeros(2, dtype=np.int64))
    np.testing.assert_allclose(log_ratios(chain, outputs, 7, prior), (outputs - 7 - 0.5) / 9, atol=1e-12)


def test_certain_outputs_are_finite_and_impossible_ones_zero():
    prior = CountPrior(np.array([0.2]), 3, 3, np.zeros(1, dtype=np.int64))
    chain = ReleaseChain(noise=None, group_size=9)
    ratios = log_ratios(chain, np.array([[0.0], [4.0], [2.0], [5.0], [-1.0], [2.5], [np.nan]]), 0, prior)[
        :, 0
    ]
    assert ratios[0] == -1e6  # a member would have been counted
    assert ratios[1] == 1e6  # the others are three at most
    assert ratios[2] == pytest.approx(np.log(2 * 0.2 * 0.8**2 * 3 / 2 / (3 * 0.2**2 * 0.8)))
    assert ratios[3:].tolist() == [0, 0, 0, 0]
    assert log_ratios(chain, np.array([[6.0]]), 7, prior).tolist() == [[0]]


def test_fully_suppressed_release_has_ratio_zero():
    prior = CountPrior(np.array([0.2]), 3, 3, np.zeros(1, dtype=np.int64))
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=9, clamp=True, suppress=9)
    assert log_ratios(chain, np.zeros((2, 1)), 0, prior).tolist() == [[0], [0]]


@pytest.mark.parametrize("noise", [*NOISES, "strong-laplace"])
@pytest.mark.parametrize("sizes", [(1000, 1000), (4000, 4001)], ids=str)
def test_per_round_rates_are_accurate_to_a_thousandth(noise, sizes):
    """Many rates share rows of a table; a hundred at a time have a row each, and are exact."""
    mechanism = (NOISES | {"strong-laplace": laplace.Mechanism(epsilon=0.1)})[noise]
    chain = ReleaseChain(
        noise=mechanism, group_size=sizes[1], round=noise != "laplace", clamp=True, suppress=1
    )
    rng, shape = np.random.default_rng(3), (1500, 6)
    rates = np.exp(rng.uniform(np.log(1e-6), np.log(0.7), size=shape))
    outputs = chain.sample(rng.binomial(sizes[0], rates) + rng.integers(0, 2, size=shape), rng)
    outputs[::2] += np.round(rng.exponential(6, size=(750, 6)))  # estimates may be far off
    found = log_ratios(chain, outputs, 0, CountPrior(rates, *sizes, NOBODY)).reshape(-1, 100)
    for row in range(0, 90, 15):
        alone = CountPrior(rates.reshape(-1, 100)[row], *sizes, np.zeros(100, dtype=np.int64))
        exact = log_ratios(chain, outputs.reshape(-1, 100)[row : row + 1], 0, alone)[0]
        assert np.abs(found[row] - exact).max() < 1e-3


def test_many_rates_are_accurate_to_a_thousandth():
    rng, n_cells = np.random.default_rng(3), 3000
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=1.0), group_size=1000, round=True, clamp=True)
    rates = np.exp(rng.uniform(np.log(1e-6), np.log(0.7), size=n_cells))
    outputs = chain.sample(rng.binomial(999, rates)[None], rng)
    nobody = np.zeros(n_cells, dtype=np.int64)
    found = log_ratios(chain, outputs, 0, CountPrior(rates, 999, 999, nobody))[0]
    for i in range(0, n_cells, 300):
        alone = CountPrior(rates[i : i + 100], 999, 999, nobody[:100])
        exact = log_ratios(chain, outputs[:, i : i + 100], 0, alone)[0]
        assert np.abs(found[i : i + 100] - exact).max() < 1e-3


def test_ratios_average_to_one_without_target():
    """Over the law of the outputs without it, the mean of the likelihood ratio is one, whatever the chain."""
    for noise in ("laplace", "gaussian", "geometric"):
        chain = ReleaseChain(noise=NOISES[noise], group_size=60, round=True, clamp=True, suppress=1)
        outputs, law = chain.table(np.arange(61))
        masses = np.exp([log_mass(c, 50, 0.1) for c in range(51)])
        prior = CountPrior(np.full(outputs.size, 0.1), 50, 50, np.zeros(outputs.size, dtype=np.int64))
        ratios = np.exp(log_ratios(chain, outputs[None], 0, prior)[0])
        assert masses @ law[:51] @ ratios == pytest.approx(1, abs=1e-12)


def log_mass(c: int, n: int, rate: float) -> float:
    return float(mpmath.log(mpmath.binomial(n, c)) + c * mpmath.log(rate) + (n - c) * mpmath.log1p(-rate))


def test_inputs_are_left_unchanged():
    rates, outputs, known = RATES.copy(), np.ones((3, 6)), np.ones((3, 6))
    weights = np.full(6, 0.5)
    for array in (rates, outputs, known, weights):
        array.setflags(write=False)
    log_ratios(
        ReleaseChain(noise=None, group_size=9), outputs, known, CountPrior(rates, 5, 5, NOBODY), weights
    )


def test_float_rounding_is_no_evidence():
    ratios = np.array([[0.1, 0.2, -0.3], [-1e-12, 0.0, 0.0], [5e6, -2.0, 0.0]])
    assert total_log_ratio(ratios).tolist() == [0.0, 0.0, 1e6 - 2]
    assert not np.signbit(total_log_ratio(ratios)).any()


def balanced_accuracy(scores: np.ndarray, members: np.ndarray) -> float:
    return ((scores[members] > 0).mean() + (scores[~members] <= 0).mean()) / 2


def test_accuracy_matches_liu24_figure_7():
    """Liu et al. (2024), figure 7: 2,000 of 10,000 people, 1 % of them in each of 60 cells, Laplace 0.5."""
    rng, n_rounds, n = np.random.default_rng(20240501), 50_000, 60
    chain = ReleaseChain(noise=laplace.Mechanism(epsilon=0.5), group_size=2000)
    members = rng.random(n_rounds) < 0.5
    others = rng.hypergeometric(100, 9900, 1999, size=(n_rounds, n))
    outputs = chain.sample(others + members[:, None], rng)
    nobody, rates = np.zeros(n, dtype=np.int64), np.full(n, 0.01)
    informed = total_log_ratio(log_ratios(chain, outputs, others, CountPrior(rates, 0, 0, nobody)))
    auxiliary = total_log_ratio(log_ratios(chain, outputs, 0, CountPrior(rates, 1999, 1999, nobody)))
    assert balanced_accuracy(informed, members) == pytest.approx(0.964, abs=0.005)
    assert balanced_accuracy(auxiliary, members) == pytest.approx(0.788, abs=0.01)
    usual = 1999 * 0.01
    one = outputs.sum(axis=1) - n * (usual + 0.5)
    two = (outputs >= usual + 0.5).sum(axis=1) - n / 2
    assert balanced_accuracy(one, members) == pytest.approx(0.786, abs=0.01)
    assert balanced_accuracy(two, members) == pytest.approx(0.745, abs=0.01)


TABLED_CHAINS = {
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


def tabled_outputs(chain, rates, known, seed=1):
    rng = np.random.default_rng(seed)
    counts = known + rng.binomial(399, rates, size=(N_ROUNDS, N_CELLS)) + rng.integers(0, 2, (N_ROUNDS, 1))
    outputs = chain.sample(counts, rng)
    outputs[0] += 150  # what no table foresees
    return outputs


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["known", "weighed"])
@pytest.mark.parametrize("sizes", [(399, 399), (398, 399)], ids=str)
@pytest.mark.parametrize("name", TABLED_CHAINS)
def test_lookup_matches_computation(name, sizes, weights):
    chain, rng = TABLED_CHAINS[name], np.random.default_rng(2)
    rates = np.append(np.exp(rng.uniform(np.log(1e-5), np.log(0.3), N_CELLS - 1)), 0.0)
    coins = np.array([0, 0, 2, 1, 0, 7, 0, 0])  # no table holds seven
    known = rng.integers(0, 9, size=(N_ROUNDS, N_CELLS))
    listed = CountPrior(np.tile(rates, 3), *sizes, np.repeat([0, 1, 2], N_CELLS))
    tables = precompute_ratios(chain, listed, most_known=8)
    for who in (0, known):
        outputs, prior = tabled_outputs(chain, rates, who), CountPrior(rates, *sizes, coins)
        np.testing.assert_allclose(
            tables.log_ratios(outputs, who, prior, weights),
            log_ratios(chain, outputs, who, prior, weights),
            atol=1e-6,
        )


SHAPES = np.array([np.inf, 0.3, 1.0, 1.0, 8.0, 60.0, 2.5, 1.0])


@pytest.mark.parametrize("sizes", [(399, 399), (398, 399)], ids=str)
@pytest.mark.parametrize("name", TABLED_CHAINS)
def test_estimated_rates_match_direct_summation(name, sizes):
    """Beta-binomial counts, in tables and without; the sums are over SciPy's law."""
    chain, rng = TABLED_CHAINS[name], np.random.default_rng(4)
    rates = np.exp(rng.uniform(np.log(1e-4), np.log(0.2), N_CELLS))
    coins = np.array([0, 0, 2, 1, 0, 1, 0, 0])
    prior = CountPrior(rates, *sizes, coins, SHAPES)
    outputs = tabled_outputs(chain, rates, 0)[:4]
    expected = by_summation(chain, outputs, 0, prior)
    tolerance = 1e-4 if name == "gaussian" else 1e-6
    np.testing.assert_allclose(log_ratios(chain, outputs, 0, prior), expected, atol=tolerance)
    tables = precompute_ratios(chain, prior)
    np.testing.assert_allclose(tables.log_ratios(outputs, 0, prior), expected, atol=tolerance)


@pytest.mark.parametrize("name", ["laplace-round", "geometric", "raw"])
def test_interpolated_estimated_rates_are_accurate_to_a_thousandth(name):
    """Rates and shapes differ between rounds; one shape has no table."""
    chain, rng = TABLED_CHAINS[name], np.random.default_rng(5)
    rates = np.exp(rng.uniform(np.log(1e-4), np.log(0.2), (N_ROUNDS, N_CELLS)))
    shapes = rng.choice([0.5, 2.0, 30.0], (N_ROUNDS, N_CELLS))
    outputs, nobody = tabled_outputs(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    ranges = [RateRange(1e-4, 0.2, 0, shape) for shape in (0.5, 30.0)]
    prior = CountPrior(rates, 399, 399, nobody, shapes)
    found = precompute_ratios_between(chain, 399, 399, ranges).log_ratios(outputs, 0, prior)
    exact = [
        log_ratios(chain, row[None], 0, CountPrior(p, 399, 399, nobody, own))[0]
        for row, p, own in zip(outputs, rates, shapes)
    ]
    assert np.abs(found - exact).max() < 1e-3


@pytest.mark.parametrize("most", [0.2, 0.03, 0.002])
@pytest.mark.parametrize("name", TABLED_CHAINS)
def test_interpolated_rates_are_accurate_to_a_thousandth(name, most):
    """In small steps between large rates, and in larger ones between small rates."""
    chain, rng = TABLED_CHAINS[name], np.random.default_rng(2)
    rates = np.exp(rng.uniform(np.log(1e-5), np.log(1.5 * most), (N_ROUNDS, N_CELLS)))
    outputs, nobody = tabled_outputs(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    tables = precompute_ratios_between(chain, 399, 399, [RateRange(1e-4, most)])  # some rates lie outside
    found = tables.log_ratios(outputs, 0, CountPrior(rates, 399, 399, nobody))
    exact = [
        log_ratios(chain, row[None], 0, CountPrior(p, 399, 399, nobody))[0] for row, p in zip(outputs, rates)
    ]
    assert np.abs(found - exact).max() < 1e-3


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["known", "weighed"])
def test_tables_for_certain_cells_are_not_read_for_others(weights):
    chain, rng = TABLED_CHAINS["laplace-round"], np.random.default_rng(6)
    prior = CountPrior(np.geomspace(1e-4, 0.1, N_CELLS), 398, 399, np.zeros(N_CELLS, dtype=np.int64))
    outputs = chain.sample(rng.binomial(399, prior.rates, (N_ROUNDS, N_CELLS)), rng)
    tables = precompute_ratios_between(chain, 398, 399, [RateRange(1e-5, 0.2)], certain=True)
    expected = log_ratios(chain, outputs, 0, prior, weights)
    np.testing.assert_allclose(tables.log_ratios(outputs, 0, prior, weights), expected, atol=1e-3)


def test_many_rates_share_rows():
    rates = np.geomspace(1e-4, 0.2, 1000)
    tables = precompute_ratios(
        TABLED_CHAINS["geometric"], CountPrior(rates, 399, 399, np.zeros(1000, dtype=np.int64))
    )
    assert tables.n_rows < 300
    prior = CountPrior(rates[100:900], 399, 399, np.zeros(800, dtype=np.int64))
    outputs = np.arange(800.0)[None] % 50
    expected = log_ratios(TABLED_CHAINS["geometric"], outputs, 0, prior)
    np.testing.assert_allclose(tables.log_ratios(outputs, 0, prior), expected, atol=1e-3)


def test_other_group_sizes_are_computed_directly():
    chain, rates = TABLED_CHAINS["geometric"], np.full(N_CELLS, 0.01)
    outputs, nobody = tabled_outputs(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    tables = precompute_ratios(chain, CountPrior(rates, 399, 399, nobody))
    for prior in (CountPrior(rates, 100, 100, nobody), CountPrior(rates, 0, 0, nobody)):
        np.testing.assert_array_equal(
            tables.log_ratios(outputs, 0, prior), log_ratios(chain, outputs, 0, prior)
        )


def test_unknown_distribution_is_computed_directly():
    class Standing:
        whole = True
        log_law = staticmethod(TABLED_CHAINS["geometric"].log_law)

    rates, nobody = np.full(N_CELLS, 0.01), np.zeros(N_CELLS, dtype=np.int64)
    outputs, prior = tabled_outputs(TABLED_CHAINS["geometric"], rates, 0), CountPrior(rates, 399, 399, nobody)
    found = precompute_ratios(Standing(), prior).log_ratios(outputs, 0, prior)
    np.testing.assert_allclose(found, log_ratios(TABLED_CHAINS["geometric"], outputs, 0, prior), atol=1e-9)


def test_oversized_tables_are_computed_directly(monkeypatch):
    chain, rates = TABLED_CHAINS["laplace"], np.full(N_CELLS, 0.01)
    outputs, nobody = tabled_outputs(chain, rates, 0), np.zeros(N_CELLS, dtype=np.int64)
    monkeypatch.setattr(count_ratios, "_MAX_TABLE_ENTRIES", 10)
    prior = CountPrior(rates, 399, 399, nobody)
    tables = precompute_ratios(chain, prior)
    assert tables.tables == ()
    np.testing.assert_array_equal(tables.log_ratios(outputs, 0, prior), log_ratios(chain, outputs, 0, prior))


def test_ratios_do_not_depend_on_cache_state_or_pickling():
    chain, rates = TABLED_CHAINS["laplace-clamp"], np.geomspace(1e-4, 0.1, N_CELLS)
    prior = CountPrior(rates, 399, 399, np.zeros(N_CELLS, dtype=np.int64))
    tables = precompute_ratios(chain, prior)
    first = tables.log_ratios(tabled_outputs(chain, rates, 0), 0, prior)
    tables.log_ratios(tabled_outputs(chain, rates, 0, seed=5) + 60, 0, prior)
    np.testing.assert_array_equal(tables.log_ratios(tabled_outputs(chain, rates, 0), 0, prior), first)
    again = pickle.loads(pickle.dumps(tables))
    np.testing.assert_array_equal(again.log_ratios(tabled_outputs(chain, rates, 0), 0, prior), first)


@pytest.mark.parametrize("ends", [(0.0, 0.5), (0.5, 0.1), (0.1, 1.0), (np.nan, 0.5)])
def test_rejects_rates_outside_open_unit_interval(ends):
    with pytest.raises(BadInput, match=r"rates must lie in \(0, 1\)"):
        precompute_ratios_between(TABLED_CHAINS["raw"], 399, 399, [RateRange(*ends)])


def test_rates_do_not_matter_without_unknown_people():
    chain = ReleaseChain(
        noise=laplace.Mechanism(epsilon=0.7), group_size=300, round=True, clamp=True, suppress=1
    )
    tables = precompute_ratios(
        chain, CountPrior(np.linspace(0.01, 0.4, 201), 0, 0, np.arange(201) % 3), most_known=300
    )
    assert tables.n_rows == 3
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
