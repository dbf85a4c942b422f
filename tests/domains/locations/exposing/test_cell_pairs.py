import numpy as np
import pytest
from scipy.stats import binom, norm
from scipy.stats import laplace as laplace_law

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.exposing.cell_pairs import pair, pair_with_known
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.strategies.count_ratios import CountPrior, log_ratios, total
from leakgauge.theory import cells, losses
from leakgauge.theory.pair_sums import best_attack

NOBODY = np.zeros(1, dtype=np.int64)
NOISES = {
    "none": None,
    "laplace": laplace.Mechanism(epsilon=0.5),
    "gaussian": gaussian.Mechanism(sigma=2.0, delta=1e-5),
    "geometric": geometric.Mechanism(epsilon=1.0),
}


def prior_of(rate: float, n_in: int, n_out: int, coins: int = 0) -> CountPrior:
    return CountPrior(np.array([rate]), n_in, n_out, np.array([coins]))


@pytest.mark.parametrize("coins", [0, 2])
@pytest.mark.parametrize("sizes", [(30, 30), (30, 31)], ids=str)
@pytest.mark.parametrize("suppress", [0, 2])
@pytest.mark.parametrize("name", ["none", "laplace", "gaussian", "geometric"])
def test_the_laws_of_whole_outputs_are_sums_over_the_counts(name, suppress, sizes, coins):
    chain = Chain(noise=NOISES[name], group_size=40, round=True, clamp=True, suppress=suppress)
    found = pair(chain, prior_of(0.1, *sizes, coins))
    flips = binom.pmf(np.arange(coins + 1), coins, 0.5)
    outputs = np.unique(chain.table(np.arange(36))[0])
    inside, outside = (np.convolve(binom.pmf(np.arange(n + 1), n, 0.1), flips) for n in sizes)
    members = sum(m * np.exp(chain.log_law(outputs, c + 1)) for c, m in enumerate(inside))
    others = sum(m * np.exp(chain.log_law(outputs, c)) for c, m in enumerate(outside))
    for law, expected in ((found.members, members), (found.others, others)):
        np.testing.assert_allclose(np.sort(law)[::-1][:20], np.sort(expected)[::-1][:20], atol=1e-14)
    assert np.abs(found.members - found.others).sum() == pytest.approx(
        np.abs(members - others).sum(), abs=1e-12
    )


@pytest.mark.parametrize("sizes", [(30, 30), (30, 31), (0, 0), (0, 1)], ids=str)
@pytest.mark.parametrize(("clamp", "suppress"), [(False, 0), (True, 0), (False, 2), (True, 2)])
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_bins_of_unrounded_outputs_enclose_their_losses(name, clamp, suppress, sizes):
    """For every cut, the chance of a larger loss lies between what the bins say from below and from above."""
    chain, known = Chain(noise=NOISES[name], group_size=20, clamp=clamp, suppress=suppress), 3
    prior = prior_of(0.1, *sizes)
    found = pair(chain, prior, known)
    assert (found.low <= found.losses).all()
    assert (found.losses <= found.high).all()
    low, high = (suppress if clamp or suppress else -50.0), (20.0 if clamp else 70.0)
    edges = np.linspace(low, high, 40_001)
    outputs = np.concatenate([(edges[1:] + edges[:-1]) / 2, [0.0] * (clamp or suppress > 0), [20.0] * clamp])
    widths = np.append(np.diff(edges), np.ones(outputs.size - 40_000))
    worlds = []
    for n, own in ((sizes[0], 1), (sizes[1], 0)):
        masses = binom.pmf(np.arange(n + 1), n, 0.1)
        worlds.append(
            sum(m * np.exp(chain.log_law(outputs, known + c + own)) for c, m in enumerate(masses)) * widths
        )
    loss = np.log(worlds[0] / worlds[1])
    for law, world in ((found.members, worlds[0]), (found.others, worlds[1])):
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert world.sum() == pytest.approx(1, abs=1e-5)
        for cut in np.quantile(loss, np.linspace(0.01, 0.99, 41)) + 1e-4:
            assert (
                law[found.low >= cut].sum() - 1e-3
                <= world[loss >= cut].sum()
                <= law[found.high >= cut].sum() + 1e-3
            )
    assert (found.members * np.minimum(found.high - found.low, 1)).sum() < 5e-3  # and bins are narrow


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_masses_of_bins_are_those_of_the_noise(name):
    chain = Chain(noise=NOISES[name], group_size=20, clamp=True, suppress=1)
    found = pair(chain, prior_of(0.0, 0, 0), known=4)
    law = {"laplace": laplace_law(4, 2), "gaussian": norm(4, 2)}[name]
    assert found.others[[0, -1]].tolist() == pytest.approx([law.cdf(1), law.sf(20)], rel=1e-9)
    assert (found.low == found.high)[[0, -1]].all()


@pytest.mark.parametrize("sizes", [(30, 30), (30, 31)], ids=str)
def test_losses_far_out_have_their_limits(sizes):
    """Those of Laplace noise are reached beyond all counts; those of Gaussian noise grow without end."""
    prior, far = prior_of(0.2, *sizes), np.array([[-500.0], [500.0]])
    chain = Chain(noise=NOISES["laplace"], group_size=40)
    found, expected = pair(chain, prior), log_ratios(chain, far, 0, prior)[:, 0]
    assert [found.low[0], found.high[-1]] == pytest.approx(expected.tolist(), abs=1e-9)
    found = pair(Chain(noise=NOISES["gaussian"], group_size=40), prior)
    assert [found.low[0], found.high[-1]] == [-np.inf, np.inf]


@pytest.mark.parametrize("n_cells", [1, 60])
def test_an_informed_adversary_of_unrounded_noise_is_the_one_that_theory_knows(n_cells):
    chain = Chain(noise=NOISES["laplace"], group_size=2000)
    found = best_attack([(pair_with_known(chain, 1999, prior_of(0.01, 0, 0)), n_cells)])
    exact = losses.best_attack([(cells.Laplace(0.5), n_cells)])
    assert found.accuracy == pytest.approx(exact.accuracy, abs=1e-6)
    assert found.auc == pytest.approx(exact.auc, abs=1e-5)
    assert found.accuracy[0] <= exact.accuracy[1] + 1e-12
    assert exact.accuracy[0] <= found.accuracy[1] + 1e-12
    gaussian_chain = Chain(noise=NOISES["gaussian"], group_size=2000)
    found = best_attack([(pair_with_known(gaussian_chain, 1999, prior_of(0.01, 0, 0)), n_cells)])
    expected = norm.cdf(np.sqrt(n_cells) / 2 / 2)
    assert found.accuracy[0] - 1e-12 <= expected <= found.accuracy[1] + 1e-12
    assert np.ptp(found.accuracy) < 1e-4


def test_what_an_informed_adversary_sees_is_the_count_and_the_output():
    chain = Chain(noise=NOISES["laplace"], group_size=50, round=True, clamp=True, suppress=2)
    found = pair_with_known(chain, 40, prior_of(0.05, 0, 0))
    outputs, law = chain.table(np.arange(42))
    weights = binom.pmf(np.arange(41), 40, 0.05)[:, None]
    expected = np.abs(weights * law[1:] - weights * law[:-1]).sum()
    assert np.abs(found.members - found.others).sum() == pytest.approx(expected, abs=1e-12)
    assert found.members.sum() == pytest.approx(1, abs=1e-12)
    assert outputs.size > 40


@pytest.mark.slow
@pytest.mark.parametrize("round_down", [False, True])
def test_no_played_likelihood_beats_the_best_attack_and_it_comes_close(round_down):
    rng, n_rounds, n_cells = np.random.default_rng(20240501), 40_000, 30
    chain = Chain(
        noise=laplace.Mechanism(epsilon=1.0), group_size=600, round=round_down, clamp=True, suppress=1
    )
    members = rng.random(n_rounds) < 0.5
    counts = rng.binomial(599, 0.004, size=(n_rounds, n_cells))
    outputs = chain.sample(counts + members[:, None], rng)
    rates, nobody = np.full(n_cells, 0.004), np.zeros(n_cells, dtype=np.int64)
    for known, prior, both in (
        (0, CountPrior(rates, 599, 599, nobody), pair(chain, prior_of(0.004, 599, 599))),
        (counts, CountPrior(rates, 0, 0, nobody), pair_with_known(chain, 599, prior_of(0.004, 0, 0))),
    ):
        scores = total(log_ratios(chain, outputs, known, prior))
        accuracy = ((scores[members] > 0).mean() + (scores[~members] <= 0).mean()) / 2
        low, high = best_attack([(both, n_cells)]).accuracy
        assert high - low < 1e-4
        assert accuracy == pytest.approx(low, abs=0.005)


def test_a_release_that_hides_everything_has_equal_laws():
    for chain in (Chain(noise=NOISES["laplace"], group_size=3, clamp=True, suppress=3),):
        found = pair(chain, prior_of(0.2, 5, 5))
        assert found.members.tolist() == found.others.tolist() == [1.0]


def test_a_pair_is_for_one_cell():
    with pytest.raises(BadInput, match="for one cell"):
        pair(Chain(noise=None, group_size=3), CountPrior(np.zeros(2), 1, 1, np.zeros(2, dtype=np.int64)))
