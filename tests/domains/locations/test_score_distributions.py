import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.score_distributions import (
    BinomialDraw,
    CountProbabilities,
    GroupDraws,
    HypergeometricDraw,
    believed_score_laws,
    informed_score_laws,
    outputs_of_cell,
    round_counts,
    round_rates,
)
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import asymmetric_composition
from leakgauge.theory.asymmetric_composition import DistributionPair, mixture
from leakgauge.theory.score_sums import score_sum_rates


@pytest.mark.parametrize("visitors", [0, 1, 7, 200, 4_999, 5_000])
@pytest.mark.parametrize("size", [0, 1, 1_000, 5_000])
def test_count_distribution_is_hypergeometric(visitors, size):
    from scipy.stats import hypergeom

    found = HypergeometricDraw(5_000, size).of(visitors)
    counts = found.first + np.arange(found.chances.size)
    np.testing.assert_allclose(found.chances, hypergeom.pmf(counts, 5_000, visitors, size), atol=1e-10)
    assert found.chances.sum() == pytest.approx(1)


@pytest.mark.parametrize("visitors", [0, 1, 7, 200, 4_999, 5_000])
@pytest.mark.parametrize("size", [0, 1, 1_000, 9_000])
def test_visitors_drawn_with_replacement_are_binomial(visitors, size):
    from scipy.stats import binom

    found = BinomialDraw(5_000, size).of(visitors)
    counts = found.first + np.arange(found.chances.size)
    np.testing.assert_allclose(found.chances, binom.pmf(counts, size, visitors / 5_000), atol=1e-10)
    assert found.chances.sum() == pytest.approx(1)


def test_distribution_over_wider_range_is_the_same():
    masses = CountProbabilities(3, np.array([0.25, 0.75]))
    np.testing.assert_array_equal(masses.over(1, 6), [0, 0, 0.25, 0.75, 0, 0])
    assert masses.last == 4


@pytest.mark.parametrize("size", [-1, 11])
def test_rejects_group_larger_than_crowd(size):
    with pytest.raises(BadInput, match="cannot be drawn from 10 people"):
        HypergeometricDraw(10, size)


NOISES = {
    "raw": None,
    "laplace": laplace.Mechanism(scale=1.0),
    "sharp laplace": laplace.Mechanism(scale=0.2),
    "wide laplace": laplace.Mechanism(scale=10.0),
    "gaussian": gaussian.Mechanism(sigma=3.0, delta=1e-5),
    "geometric": geometric.Mechanism(scale=1.5),
}
STEPS = [{}, {"round": True}, {"clamp": True}, {"round": True, "clamp": True, "suppress": 2}, {"suppress": 3}]
COMPANY, OTHERS = HypergeometricDraw(700, 299).of(6), HypergeometricDraw(700, 300).of(6)


def simulated(
    chain: ReleaseChain, masses: CountProbabilities, more: int, n: int, rng: np.random.Generator
) -> np.ndarray:
    counts = masses.first + rng.choice(masses.chances.size, size=n, p=masses.chances)
    return chain.sample(counts + more, rng)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_output_distributions_match_releases(noise, steps):
    chain = ReleaseChain(noise=NOISES[noise], group_size=300, **steps)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    rng, n = np.random.default_rng(1), 100_000
    for masses, members, more in ((COMPANY, law.members, 1), (OTHERS, law.others, 0)):
        assert members.sum() == pytest.approx(1, abs=1e-9)
        drawn = simulated(chain, masses, more, n, rng)
        for cut in (0.0, 0.5, 1.5, 3.5, 6.5):  # no output lies there, or many do
            exact = members[law.outputs <= cut].sum()
            slack = 0.0 if chain.whole else 0.02  # a piece of the line may lie on both sides
            assert np.mean(drawn <= cut) == pytest.approx(exact, abs=0.006 + slack)


@pytest.mark.parametrize("noise", ["laplace", "wide laplace", "gaussian"])
def test_ratio_of_densities_is_exact_at_every_output(noise):
    from scipy.stats import laplace as laplace_law
    from scipy.stats import norm

    chain = ReleaseChain(noise=NOISES[noise], group_size=300)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    density = norm(scale=3.0).pdf if noise == "gaussian" else laplace_law(scale=chain.noise.noise_scale).pdf
    worlds = [
        density(law.outputs[:, None] - masses.first - np.arange(masses.chances.size) - more) @ masses.chances
        for masses, more in ((COMPANY, 1), (OTHERS, 0))
    ]
    np.testing.assert_allclose(law.members / law.others, worlds[0] / worlds[1], rtol=1e-9)


def test_full_suppression_has_one_output():
    chain = ReleaseChain(noise=NOISES["laplace"], group_size=5, clamp=True, suppress=9)
    law = outputs_of_cell(chain, COMPANY, OTHERS)
    assert (law.outputs.tolist(), law.members.tolist(), law.others.tolist()) == ([0.0], [1.0], [1.0])


GROUPS = GroupDraws(n_people=399, n_in=150, n_out=150)
VISITORS = np.array([0, 2, 9, 120])


def chain(**steps) -> ReleaseChain:
    return ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=151, round=True, **steps)


def exact_pair(chain: ReleaseChain, visitors: int, *, known: bool) -> DistributionPair:
    """From the table of the chain and the hypergeometric law of others' implementations."""
    from scipy.stats import hypergeom

    counts = np.arange(151)
    weights = hypergeom.pmf(counts, GROUPS.n_people, visitors, GROUPS.n_in)
    _, law = chain.table(np.arange(152))
    if not known:
        return DistributionPair.of(weights @ law[1:], weights @ law[:-1])
    likely = weights > 1e-14
    return mixture([DistributionPair.of(law[c + 1], law[c]) for c in counts[likely]], weights[likely])


@pytest.mark.parametrize("steps", [{}, {"clamp": True, "suppress": 2}], ids=str)
def test_known_counts_reach_exact_optimum(steps):
    laws = informed_score_laws(chain(**steps), GROUPS, VISITORS)
    cells = csr_array([[1, 2, 2, 1], [0, 0, 0, 9]])
    found = score_sum_rates(laws, cells, finer=4)
    for i, row in enumerate(cells.toarray()):
        pairs = [(exact_pair(chain(**steps), int(v), known=True), int(n)) for v, n in zip(VISITORS, row)]
        best = asymmetric_composition.best_attack(pairs)
        assert found.accuracy[i] == pytest.approx(best.accuracy[0], abs=1e-4)
        assert found.auc[i] == pytest.approx(best.auc[0], abs=1e-4)


@pytest.mark.parametrize("steps", [{}, {"clamp": True, "suppress": 2}], ids=str)
def test_correct_rates_nearly_reach_exact_optimum(steps):
    """A group drawn without replacement has counts that vary a little less than the attacker believes."""
    laws = believed_score_laws(chain(**steps), GROUPS, VISITORS, np.maximum(VISITORS, 0.5) / GROUPS.n_people)
    cells = csr_array([[1, 2, 3, 2]])
    found = score_sum_rates(laws, cells, finer=4)
    pairs = [
        (exact_pair(chain(**steps), int(v), known=False), int(n))
        for v, n in zip(VISITORS, cells.toarray()[0])
    ]
    best = asymmetric_composition.best_attack(pairs)
    assert best.auc[0] - 0.01 < found.auc[0] < best.auc[1] + 1e-4
    assert best.accuracy[0] - 0.01 < found.accuracy[0] < best.accuracy[1] + 1e-4


@pytest.mark.parametrize("more", [0.7, 6.0])
def test_rates_of_some_uncertainty_match_simulated_scores(more):
    """The scores with SciPy's beta-binomial counts, on counts and noise drawn at random."""
    from scipy.stats import betabinom

    rates, noisy = np.maximum(VISITORS, 0.5) / GROUPS.n_people, chain(clamp=True, suppress=1)
    laws = believed_score_laws(noisy, GROUPS, VISITORS, rates, shapes=more + VISITORS)
    found = score_sum_rates(laws, csr_array([[1, 1, 1, 1]]), finer=4)
    rng, n, counts = np.random.default_rng(4), 200_000, np.arange(152)
    scores = []
    for member in (1, 0):
        total = np.zeros(n)
        for visitors, rate in zip(VISITORS, rates, strict=True):
            shape = more + visitors
            others = betabinom.pmf(counts[:-1], GROUPS.n_in, shape, shape * (1 - rate) / rate)
            outputs, law = noisy.table(counts)
            ratios = np.log(others @ law[1:]) - np.log(others @ law[:-1])
            drawn = rng.hypergeometric(visitors, GROUPS.n_people - visitors, GROUPS.n_in, n)
            total += ratios[np.searchsorted(outputs, noisy.sample(drawn + member, rng))]
        scores.append(np.sort(total.round(9)))
    members, others = scores
    below = (np.searchsorted(others, members) + np.searchsorted(others, members, side="right")) / (2 * n)
    assert found.auc[0] == pytest.approx(below.mean(), abs=0.004)  # four standard errors
    assert found.accuracy[0] == pytest.approx(_best_accuracy(members, others), abs=0.004)


def _best_accuracy(members, others):
    cuts = np.linspace(-8, 8, 4001)
    found, wrong = (1 - np.searchsorted(some, cuts) / some.size for some in (members, others))
    return ((found + 1 - wrong) / 2).max()


def test_wrong_rates_reach_less():
    true, wrong = (
        believed_score_laws(chain(), GROUPS, VISITORS, rates)
        for rates in (np.maximum(VISITORS, 0.5) / 399, np.array([0.3, 0.3, 0.001, 0.001]))
    )
    cells = csr_array([[2, 2, 2, 2]])
    assert score_sum_rates(wrong, cells).auc[0] < score_sum_rates(true, cells).auc[0] - 0.02


def test_replacement_lowers_exposure_a_little():
    usual = informed_score_laws(chain(), GROUPS, VISITORS)
    replaced = informed_score_laws(chain(), GroupDraws(399, 150, 151), VISITORS)
    alone, busy = csr_array([[5, 0, 0, 0]]), csr_array([[0, 0, 0, 5]])
    assert score_sum_rates(replaced, alone).auc[0] == pytest.approx(
        score_sum_rates(usual, alone).auc[0], abs=1e-6
    )
    assert score_sum_rates(replaced, busy).auc[0] < score_sum_rates(usual, busy).auc[0] - 0.05


def test_grouped_cells_match_single_cells():
    counts = np.arange(5_000)
    assert (np.abs(round_counts(counts) - counts) <= 0.026 * counts + 0.5).all()
    np.testing.assert_array_equal(round_counts(counts)[:17], counts[:17])
    assert np.unique(round_counts(counts)).size < 150
    of_all = round_counts(counts, 4_999)
    nearer = np.minimum(counts, 4_999 - counts)  # decides how much the number in a group varies
    assert (np.abs(of_all - counts) <= 0.026 * nearer + 0.5).all()
    np.testing.assert_array_equal(4_999 - of_all[::-1], of_all)
    rates = np.concatenate([np.geomspace(1e-9, 0.5, 1_000), 1 - np.geomspace(1e-3, 0.5, 1_000)])
    for some in (lambda x: x, lambda x: 1 - x):
        assert (np.abs(np.log(some(round_rates(rates)) / some(rates))) <= 0.0301).all()
