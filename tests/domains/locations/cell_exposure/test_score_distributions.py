import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.domains.locations.cell_exposure.score_distributions import (
    GroupDraws,
    believed_score_laws,
    informed_score_laws,
    round_counts,
    round_rates,
)
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.mechanisms import laplace
from leakgauge.theory import asymmetric_composition
from leakgauge.theory.asymmetric_composition import DistributionPair, mixture
from leakgauge.theory.score_sums import score_sum_rates

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
    rates = np.geomspace(1e-9, 0.99, 1_000)
    assert (np.abs(np.log(round_rates(rates) / rates)) <= 0.0301).all()
