import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.theory import asymmetric_composition
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.characteristic_functions import ScoreLaws, laws_on_nodes, score_nodes
from leakgauge.theory.score_sums import RowParts, row_sums, score_sum_rates

DENSE = np.random.default_rng(3).integers(0, 3, (40, 6)) * (np.arange(40) % 5 > 0)[:, None]
SIZES = (1, 1, 2, 3, 5, 9, 15, 16, 25, 60, 140)


def laws_of(pairs: list[DistributionPair], scores: list[np.ndarray] | None = None) -> ScoreLaws:
    said = [pair.losses for pair in pairs] if scores is None else scores
    kinds = np.concatenate([np.full(pair.members.size, i) for i, pair in enumerate(pairs)])
    flat = np.concatenate(said)
    largest = np.max(np.abs(flat[np.isfinite(flat)]))
    worlds = (np.concatenate([getattr(pair, name) for pair in pairs]) for name in ("members", "others"))
    return laws_on_nodes(score_nodes(float(largest)), len(pairs), kinds, flat, *worlds)


def noisy_cells(kind: str) -> list[DistributionPair]:
    """Laws of cells as they occur: rounded Laplace noise, suppressed or not; raw Poisson counts."""
    from scipy.stats import laplace, poisson

    if kind == "raw":
        counts = np.arange(60)
        laws = [poisson.pmf(counts, mean) for mean in (0.3, 1.0, 4.0, 12.0)]
        return [DistributionPair.of(np.append(0, law[:-1] / law[:-1].sum()), law / law.sum()) for law in laws]
    scale, suppress = {"weak": (10.0, 1), "usual": (1.0, 1), "strong": (0.5, 0)}[kind]
    edges = np.concatenate([[-np.inf], np.arange(suppress + 1, 100 + 20 * scale), [np.inf]])
    return [
        DistributionPair.of(
            np.diff(laplace.cdf(edges, count + 1, scale)), np.diff(laplace.cdf(edges, count, scale))
        )
        for count in (0, 1, 2, 3, 5, 30)
    ]


def some_targets(n_kinds: int, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array([np.bincount(rng.integers(n_kinds, size=n), minlength=n_kinds) for n in SIZES])


@pytest.mark.parametrize("kind", ["weak", "usual", "strong", "raw"])
def test_sums_match_bracketed_optimum(kind):
    pairs = noisy_cells(kind)
    cells = some_targets(len(pairs), 1)
    found = score_sum_rates(laws_of(pairs), cells)
    for i, row in enumerate(cells.toarray()):
        best = asymmetric_composition.best_attack([(pair, int(n)) for pair, n in zip(pairs, row)])
        low, high = best.tpr_at(0.01)
        assert best.accuracy[0] - 2e-4 < found.accuracy[i] < best.accuracy[1] + 2e-4
        assert best.auc[0] - 1.5e-4 < found.auc[i] < best.auc[1] + 1.5e-4
        assert low - 1e-3 < found.tpr[i] < high + 1e-3


def test_more_frequencies_are_more_accurate():
    pairs = noisy_cells("usual")
    cells = some_targets(len(pairs), 2)
    errors = []
    exact = [
        asymmetric_composition.best_attack([(p, int(n)) for p, n in zip(pairs, row)])
        for row in cells.toarray()
    ]
    for finer in (1, 4):
        found = score_sum_rates(laws_of(pairs), cells, finer=finer)
        errors.append(max(abs(best.accuracy[0] - value) for best, value in zip(exact, found.accuracy)))
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 3e-5


def test_wrong_beliefs_match_simulation():
    rng = np.random.default_rng(3)
    pairs = noisy_cells("usual")
    beliefs = [pair.losses + rng.normal(scale=0.3, size=pair.losses.size) for pair in pairs]
    counts = np.array([5, 0, 4, 0, 6, 10])
    found = score_sum_rates(laws_of(pairs, beliefs), csr_array([counts]))
    n = 100_000
    scores = np.zeros((2, n))
    for pair, belief, times in zip(pairs, beliefs, counts):
        for world, law in enumerate((pair.others, pair.members)):
            for _ in range(times):
                scores[world] += belief[rng.choice(law.size, n, p=law)]
    order = [np.sort(world) for world in scores]
    ranks = np.searchsorted(order[0], scores[1])
    assert found.auc[0] == pytest.approx(ranks.mean() / n, abs=0.005)
    cuts = np.linspace(-10, 10, 400)
    gains = np.searchsorted(order[0], cuts) - np.searchsorted(order[1], cuts)
    assert found.accuracy[0] == pytest.approx((1 + gains.max() / n) / 2, abs=0.005)
    cut = order[0][int(0.99 * n)]
    assert found.tpr[0] == pytest.approx(np.mean(scores[1] > cut), abs=0.01)


def test_certain_decisions_are_ranked_first_and_last():
    sure = DistributionPair.of([0.5, 0.5, 0.0], [0.0, 0.7, 0.3])
    found = score_sum_rates(laws_of([sure]), csr_array([[1], [2]]))
    best = [asymmetric_composition.best_attack([(sure, n)]) for n in (1, 2)]
    np.testing.assert_allclose(found.accuracy, [b.accuracy[0] for b in best], atol=1e-4)
    np.testing.assert_allclose(found.auc, [b.auc[0] for b in best], atol=1e-4)
    np.testing.assert_allclose(found.tpr, [b.tpr_at(0.01)[0] for b in best], atol=1e-4)


@pytest.mark.parametrize(
    ("members", "others", "tpr"), [([0.2, 0.8], [0.1, 0.9], 0.02), ([0.9, 0.1], [0.005, 0.995], None)]
)
def test_fpr_of_one_percent_may_lie_in_an_atom(members, others, tpr):
    pair = DistributionPair.of(members, others)
    scores = [np.array([50.0, 0.1]), np.array([0.1, -50.0])][tpr is None]
    found = score_sum_rates(laws_of([pair], [scores]), csr_array([[1]]))
    exact = members[0] + members[1] * (0.01 - others[0]) / others[1] if tpr is None else tpr
    assert found.tpr[0] == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("n", [1, 5, 20, 80])
def test_atom_at_the_end_is_not_wrapped_around(n):
    """Nearly all non-members score the least there is; a score that is ten higher is rare among them."""
    pair = DistributionPair.of([0.5, 0.5], [1 - np.exp(-10) / 2, np.exp(-10) / 2])
    found, best = (
        score_sum_rates(laws_of([pair]), csr_array([[n]])),
        asymmetric_composition.best_attack([(pair, n)]),
    )
    assert found.accuracy[0] == pytest.approx(best.accuracy[0], abs=1e-4)
    assert found.auc[0] == pytest.approx(best.auc[0], abs=1e-4)
    assert found.tpr[0] == pytest.approx(float(best.tpr_at(0.01)[0]), abs=1e-4)


@pytest.mark.parametrize("finer", [1, 4])
@pytest.mark.parametrize("mirrored", [False, True])
def test_best_threshold_may_be_at_an_end(mirrored, finer):
    """Who is told out for sure by one output, and in by all others, is told apart by that one alone.

    Three cells in which a non-member has an output of its own with chance .507: all but .493^3 of them are
    known, and no better can be done, for the other scores lie on the same side of every threshold.
    """
    members, others = [0.0, 0.796, 0.204], [0.507, 0.306, 0.187]
    pair = DistributionPair.of(*((others, members) if mirrored else (members, others)))
    found = score_sum_rates(laws_of([pair]), csr_array([[3]]), finer=finer)
    assert found.accuracy[0] == pytest.approx(1 - 0.493**3 / 2, abs=2e-4)


def test_raw_counts_of_empty_cell_reveal_everything():
    alone = DistributionPair.of([0.0, 1.0], [1.0, 0.0])
    found = score_sum_rates(laws_of([alone, noisy_cells("weak")[0]]), csr_array([[1, 3]]))
    assert (found.accuracy[0], found.auc[0], found.tpr[0]) == pytest.approx((1, 1, 1))


def test_unmoved_target_is_not_exposed():
    pairs = noisy_cells("usual")
    found = score_sum_rates(laws_of(pairs), csr_array((2, len(pairs)), dtype=np.uint8))
    np.testing.assert_array_equal(found.accuracy, 0.5)
    np.testing.assert_array_equal(found.auc, 0.5)
    np.testing.assert_array_equal(found.tpr, 0.01)


def test_targets_are_computed_independently():
    pairs = noisy_cells("usual")
    cells = some_targets(len(pairs), 4)
    together, alone = score_sum_rates(laws_of(pairs), cells), score_sum_rates(laws_of(pairs), cells[[4]])
    assert together.auc[4] == pytest.approx(alone.auc[0], abs=1e-6)
    assert together.tpr[4] == pytest.approx(alone.tpr[0], abs=1e-5)


def sampled_scores(pairs, cells, n, rng):
    """Scores of each target as a member and as a non-member, drawn independently."""
    present, absent = np.zeros((2, cells.shape[0], n))
    for target, row in enumerate(cells.toarray()):
        for pair, number in zip(pairs, row.tolist()):
            for scores, chances in ((present, pair.members), (absent, pair.others)):
                drawn = rng.choice(pair.losses, (number, n), p=chances / chances.sum())
                scores[target] += drawn.sum(axis=0)
    return present, absent


@pytest.mark.parametrize("kind", ["weak", "usual"])
def test_one_threshold_for_all_targets_matches_simulation(kind):
    """AUC and TPR of members against the non-members of all targets together."""
    pairs, n = noisy_cells(kind), 20_000
    cells = some_targets(len(pairs), 3)
    tails = score_sum_rates(laws_of(pairs), cells, common=True).tails
    auc, tpr = tails.rates()
    present, absent = (each.round(6) for each in sampled_scores(pairs, cells, n, np.random.default_rng(5)))
    pool = np.sort(absent.ravel())
    cut = np.quantile(pool, 0.99, method="higher")
    ties = (0.01 - (pool > cut).mean()) / (pool == cut).mean()  # guessed at random
    found = (present > cut).mean(axis=1) + ties * (present == cut).mean(axis=1)
    below = (np.searchsorted(pool, present, "left") + np.searchsorted(pool, present, "right")) / 2 / pool.size
    np.testing.assert_allclose(auc, below.mean(axis=1), atol=0.012)
    np.testing.assert_allclose(tpr, found, atol=0.03)
    zero = [
        (1 + (p > 0).mean() + (p == 0).mean() / 2 - (a > 0).mean() - (a == 0).mean() / 2) / 2
        for p, a in zip(present, absent)
    ]
    np.testing.assert_allclose(score_sum_rates(laws_of(pairs), cells).at_zero, zero, atol=0.012)


@pytest.mark.parametrize("certain", [-np.inf, np.inf])
def test_certain_scores_decide_where_all_others_are_on_one_side_of_zero(certain):
    """One world in four of five cells shows an output that the other world never shows."""
    sure, unsure = np.array([0.8, 0.1, 0.1]), np.array([0.0, 0.5, 0.5])
    finite = np.array([1.0, 3.0]) if certain < 0 else np.array([-1.0, -3.0])
    worlds = (unsure, sure) if certain < 0 else (sure, unsure)
    pair = DistributionPair.of(*worlds)
    cells = csr_array(np.array([[1], [2], [5]], dtype=np.uint8))
    found = score_sum_rates(laws_of([pair], [np.append(certain, finite)]), cells).at_zero
    np.testing.assert_allclose(found, [1 - 0.2**n / 2 for n in (1, 2, 5)], atol=1e-6)


def test_targets_who_move_nothing_are_at_chance_with_one_threshold():
    tails = score_sum_rates(
        laws_of(noisy_cells("usual")), csr_array((3, 6), dtype=np.uint8), common=True
    ).tails
    auc, tpr = tails.rates()
    np.testing.assert_allclose(auc, 0.5)
    np.testing.assert_allclose(tpr, 0.01)


def test_parts_hold_their_own_rows_only():
    rows = np.array([1, 2, 7, 8, 30, 31, 39])
    parts = RowParts(csr_array(DENSE), rows, 3, rows / 2)
    assert len(parts) == 3
    for own, (cells, numbers) in zip(parts.rows_of_parts(), parts, strict=True):
        np.testing.assert_array_equal(cells.toarray(), DENSE[own])
        np.testing.assert_array_equal(numbers, own / 2)
    found = np.concatenate(list(parts.columns()))
    assert set(found) == set(np.nonzero(DENSE[rows])[1])
    assert [cells.shape[0] for cells, _ in parts[1:]] == [3, 1]


def test_rows_are_summed_also_where_they_are_empty():
    np.testing.assert_array_equal(row_sums(csr_array(DENSE)), DENSE.sum(axis=1))
    ones = csr_array(DENSE > 0, dtype=np.uint8)
    ones.data = np.broadcast_to(np.uint8(1), ones.nnz)
    np.testing.assert_array_equal(row_sums(ones), (DENSE > 0).sum(axis=1))
