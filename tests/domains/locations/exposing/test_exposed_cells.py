import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.exposing.exposed_cells import (
    Groups,
    alike_counts,
    alike_rates,
    believed_laws,
    informed_laws,
)
from leakgauge.mechanisms import laplace
from leakgauge.theory import pair_sums
from leakgauge.theory.pairs import Pair, mixture
from leakgauge.theory.score_sums import reached

GROUPS = Groups(n_people=399, n_in=150, n_out=150)
VISITORS = np.array([0, 2, 9, 120])


def chain(**steps) -> Chain:
    return Chain(noise=laplace.Mechanism(scale=1.0), group_size=151, round=True, **steps)


def exact_pair(chain: Chain, visitors: int, *, known: bool) -> Pair:
    """From the table of the chain and the hypergeometric law of others' implementations."""
    from scipy.stats import hypergeom

    counts = np.arange(151)
    weights = hypergeom.pmf(counts, GROUPS.n_people, visitors, GROUPS.n_in)
    _, law = chain.table(np.arange(152))
    if not known:
        return Pair.of(weights @ law[1:], weights @ law[:-1])
    likely = weights > 1e-14
    return mixture([Pair.of(law[c + 1], law[c]) for c in counts[likely]], weights[likely])


@pytest.mark.parametrize("steps", [{}, {"clamp": True, "suppress": 2}], ids=str)
def test_who_knows_the_count_reaches_the_optimum_of_exact_pairs(steps):
    laws = informed_laws(chain(**steps), GROUPS, VISITORS)
    cells = csr_array([[1, 2, 2, 1], [0, 0, 0, 9]])
    found = reached(laws, cells, finer=4)
    for i, row in enumerate(cells.toarray()):
        pairs = [(exact_pair(chain(**steps), int(v), known=True), int(n)) for v, n in zip(VISITORS, row)]
        best = pair_sums.best_attack(pairs)
        assert found.accuracy[i] == pytest.approx(best.accuracy[0], abs=1e-4)
        assert found.auc[i] == pytest.approx(best.auc[0], abs=1e-4)


@pytest.mark.parametrize("steps", [{}, {"clamp": True, "suppress": 2}], ids=str)
def test_who_believes_the_truth_comes_close_to_the_optimum_of_exact_pairs(steps):
    """A group drawn without replacement has counts that vary a little less than the adversary believes."""
    laws = believed_laws(chain(**steps), GROUPS, VISITORS, np.maximum(VISITORS, 0.5) / GROUPS.n_people)
    cells = csr_array([[1, 2, 3, 2]])
    found = reached(laws, cells, finer=4)
    pairs = [
        (exact_pair(chain(**steps), int(v), known=False), int(n))
        for v, n in zip(VISITORS, cells.toarray()[0])
    ]
    best = pair_sums.best_attack(pairs)
    assert best.auc[0] - 0.01 < found.auc[0] < best.auc[1] + 1e-4
    assert best.accuracy[0] - 0.01 < found.accuracy[0] < best.accuracy[1] + 1e-4


def test_wrong_beliefs_reach_less():
    true, wrong = (
        believed_laws(chain(), GROUPS, VISITORS, rates)
        for rates in (np.maximum(VISITORS, 0.5) / 399, np.array([0.3, 0.3, 0.001, 0.001]))
    )
    cells = csr_array([[2, 2, 2, 2]])
    assert reached(wrong, cells).auc[0] < reached(true, cells).auc[0] - 0.02


def test_being_replaced_hides_a_little():
    usual = informed_laws(chain(), GROUPS, VISITORS)
    replaced = informed_laws(chain(), Groups(399, 150, 151), VISITORS)
    alone, busy = csr_array([[5, 0, 0, 0]]), csr_array([[0, 0, 0, 5]])
    assert reached(replaced, alone).auc[0] == pytest.approx(reached(usual, alone).auc[0], abs=1e-6)
    assert reached(replaced, busy).auc[0] < reached(usual, busy).auc[0] - 0.05


def test_numbers_taken_together_are_alike():
    counts = np.arange(5_000)
    assert (np.abs(alike_counts(counts) - counts) <= 0.026 * counts + 0.5).all()
    np.testing.assert_array_equal(alike_counts(counts)[:17], counts[:17])
    assert np.unique(alike_counts(counts)).size < 150
    rates = np.geomspace(1e-9, 0.99, 1_000)
    assert (np.abs(np.log(alike_rates(rates) / rates)) <= 0.0301).all()
