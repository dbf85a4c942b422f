from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from domains.queries.log.query_logs import answers, random_sparse, sparse
from leakgauge.domains.queries.log import best_attack as kinds
from leakgauge.domains.queries.log import best_attack as module
from leakgauge.domains.queries.log import incidence, kind_counts, ratio_kinds
from leakgauge.domains.queries.log.best_attack import (
    best_attack_per_record,
    record_signatures,
    tight_epsilon_per_record,
)
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record
from leakgauge.mechanisms.geometric import Mechanism as Geometric
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.theory import epsilon_per_target, gdp, loss_composition
from leakgauge.theory.loss_composition import epsilon_bounds
from leakgauge.theory.privacy_loss import LaplaceCell

RATES = ("accuracy", "auc", "tpr")


def attack(log, found):
    made = record_signatures(log, found, epsilon_per_record(log, found, 1e-5).mu_squared)
    return made, *best_attack_per_record(made)


def test_records_with_equal_signature_are_computed_once():
    log = answers([2.0, 2.0, 4.0, 4.0])
    made, reached, error = attack(log, sparse(4, 4, [0, 2, 1, 3, 0, 1], [0, 0, 1, 1, 2, 2]))
    assert made.cells.shape[0] == 3
    assert made.which[0] == made.which[1]
    assert reached.accuracy[0] == reached.accuracy[1] > reached.accuracy[3] == 0.5
    assert (reached.auc[3], reached.tpr[3]) == (0.5, 0.01)
    assert 0 <= error < 1e-4


def test_closed_forms_hold_for_one_answer():
    log = answers([1 / 0.3, 2.0, 0.5], noise=[0, 2, 1])
    _, reached, _ = attack(log, sparse(3, 3, [0, 1, 2], [0, 1, 2]))
    expected = [1 - np.exp(-0.15) / 2, ndtr(0.25), 1 / (1 + np.exp(-2.0))]
    np.testing.assert_allclose(reached.accuracy, expected, atol=1e-5)


@pytest.mark.parametrize(("m", "ratio", "success"), [(10, 1.0, 0.917), (29, 0.33, 0.802), (10, 0.3, 0.675)])
def test_equal_answers_match_paper(m, ratio, success):
    _, reached, _ = attack(answers([1 / ratio] * m), sparse(m, 1, range(m), [0] * m))
    assert reached.accuracy[0] == pytest.approx(success, abs=1e-3)


def test_many_signatures_stay_within_stated_error(monkeypatch):
    rng = np.random.default_rng(4)
    log = answers(rng.choice([2.0, 3.0, 7.0, 20.0], 60), noise=rng.choice([0, 0, 1, 2], 60))
    found = random_sparse(rng, 60, 30)
    monkeypatch.setattr(module, "_ONE_BY_ONE", 0)
    made, many, error = attack(log, found)
    assert len(made.mu_squared) == 30
    monkeypatch.setattr(module, "_ONE_BY_ONE", 10**9)
    single, width = best_attack_per_record(made)
    assert width < 1e-4
    assert error < 5e-4
    for name in ("accuracy", "auc", "tpr"):
        np.testing.assert_allclose(getattr(many, name), getattr(single, name), atol=5e-4)


def test_rounding_up_never_lowers_exposure(monkeypatch):
    rng = np.random.default_rng(5)
    found = random_sparse(rng, 40, 12)
    log = answers(rng.uniform(2, 9, 40))
    _, exact, width = attack(log, found)
    monkeypatch.setattr(kinds, "MOST_KINDS", 5)
    made, rough, error = attack(log, found)
    assert made.rounded
    for name in ("accuracy", "auc", "tpr"):
        more = getattr(rough, name) - getattr(exact, name)
        assert (more > -3e-4).all()
        assert (more < error + width).all()
    assert error < 5e-4
    assert width < 5e-4


def test_many_geometric_scales_are_accurate(monkeypatch):
    """Within the stated share: it is not taken for a law that reveals far more."""
    rng = np.random.default_rng(6)
    log = answers([2000.0] * 10, noise=1, bound=2000.0)
    sizes = np.concatenate([rng.integers(1, 40, 60), rng.integers(900, 2001, 60)]).astype(float)
    found = sparse(10, 12, np.tile(np.arange(10), 12), np.repeat(np.arange(12), 10), sizes)
    _, exact, width = attack(log, found)
    monkeypatch.setattr(kinds, "MOST_KINDS", 20)
    made, rough, error = attack(log, found)
    assert made.rounded == pytest.approx(0.002, abs=2e-5)
    assert error < 0.004
    for name in ("accuracy", "auc", "tpr"):
        more = getattr(rough, name) - getattr(exact, name)
        assert (more > -2 * width).all()
        assert (more < min(error + width, 0.002)).all()


def test_very_many_geometric_scales_are_rounded_with_note(monkeypatch):
    log = answers([1.0, 2.0, 3.0], noise=1, bound=40.0)
    found = sparse(3, 1, [0, 1, 2], [0] * 3, [1.0, 3.0, 40.0])
    _, exact, _ = attack(log, found)
    monkeypatch.setattr(kinds, "MOST_KINDS", 2)
    monkeypatch.setattr(kinds, "MOST_ROUNDED", 2)
    made, rough, _ = attack(log, found)
    assert sorted(made.kinds.shift.tolist()) == [0, 1, 3]
    assert made.rounded == pytest.approx(0.002 + 1.01 / 30)
    assert exact.accuracy[0] - 1e-4 < rough.accuracy[0] < exact.accuracy[0] + made.rounded


def test_very_many_laplace_scales_are_rounded_once(monkeypatch):
    log = answers([1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(kinds, "MOST_KINDS", 2)
    monkeypatch.setattr(kinds, "MOST_ROUNDED", 2)
    made, _, _ = attack(log, sparse(4, 1, range(4), [0] * 4))
    assert made.rounded == kinds.STEP


@pytest.mark.parametrize(("noise", "ratio"), [(0, 3.9), (1, 4.5)])
def test_rounding_error_covers_steepest_tpr(monkeypatch, noise, ratio):
    log = answers([1 / (ratio * (1 - 1e-4 * i)) for i in range(10)], noise=noise)
    found = sparse(10, 10, range(10), range(10))
    _, exact, width = attack(log, found)
    monkeypatch.setattr(kinds, "MOST_KINDS", 2)
    made, rough, error = attack(log, found)
    assert made.rounded == kinds.STEP
    assert kinds.STEP < (rough.tpr - exact.tpr).max() < error
    assert (rough.tpr > exact.tpr - width).all()


def test_contributions_count_by_size():
    log = answers([100.0] * 3, bound=100.0)
    found = sparse(3, 4, [0, 0, 0, 1], [0, 1, 2, 2], [-50.0, 50.0, 0.0, 20.0])
    _, reached, _ = attack(log, found)
    one = [np.mean(loss_composition.best_attack([(LaplaceCell(ratio), 1)]).accuracy) for ratio in (0.5, 0.2)]
    np.testing.assert_allclose(reached.accuracy, [one[0], one[0], one[1], 0.5], atol=1e-5)


def test_huge_shift_is_recognised_with_certainty():
    _, reached, _ = attack(answers([1e-9]), sparse(1, 1, [0], [0]))
    assert (reached.accuracy[0], reached.auc[0], reached.tpr[0]) == pytest.approx((1, 1, 1), abs=1e-6)


def test_stated_error_of_many_different_sums_is_near_the_true_one(monkeypatch):
    """Contributions of 6,000 sizes, rounded up, against the same without rounding."""
    rng = np.random.default_rng(8)
    inside = rng.random((1_000, 30)) < 0.2
    queries, records = np.nonzero(inside)
    found = sparse(1_000, 30, queries, records, rng.uniform(1.0, 100.0, queries.size))
    log = answers([1_000.0] * 1_000, bound=100.0)
    monkeypatch.setattr(kinds, "MOST_KINDS", 2_000)
    made, rough, error = attack(log, found)
    monkeypatch.setattr(kinds, "MOST_KINDS", 10**9)
    _, exact, _ = attack(log, found)
    differences = [np.abs(getattr(rough, name) - getattr(exact, name)).max() for name in RATES]
    assert made.rounded == kinds.STEP
    assert max(differences) < error < 4e-4
    assert max(differences) > error / 8


@pytest.mark.parametrize("noise", [0, 1, 2])
def test_tight_epsilon_is_below_the_sum_and_holds(noise):
    """Against the same answers composed one record at a time, and against a closed form."""
    scales = [4.0] * 60 + [9.0] * 40
    log = answers(scales, noise=noise)
    rng = np.random.default_rng(9)
    found = random_sparse(rng, 100, 8, share=0.7)
    spent = epsilon_per_record(log, found, 1e-6)
    made = record_signatures(log, found, spent.mu_squared)
    tight = tight_epsilon_per_record(made, spent.epsilon, 1e-6)
    for record in range(8):
        own = found.queries[found.starts[record] : found.starts[record + 1]]
        if noise == 2:
            expected = gdp.epsilon_at(float(np.sqrt(np.sum(1 / log.scale[own] ** 2))), 1e-6)
        else:
            mechanism = (Laplace, Geometric)[noise]
            cells = [(mechanism(scale=scale).loss_cell(1.0), 1) for scale in log.scale[own].tolist()]
            expected = epsilon_bounds(cells, 1e-6).high
        assert tight[record] == pytest.approx(expected, rel=1e-6)
        assert tight[record] <= spent.epsilon[record]
    assert (tight < 0.7 * spent.epsilon).all() or noise == 2


def test_many_small_answers_add_up_to_far_more_than_they_spend():
    """A sum of 49.97 where the best attack is right 66.8 %: by the normal limit of many answers, about 4."""
    n, epsilon = 3_306, 49.97 / 3_306
    log, found = answers([1 / epsilon] * n), sparse(n, 1, np.arange(n), np.zeros(n, dtype=int))
    spent = epsilon_per_record(log, found, 1e-6)
    made, reached, _ = attack(log, found)
    (tight,) = tight_epsilon_per_record(made, spent.epsilon, 1e-6)
    mu = epsilon * np.sqrt(n)
    assert spent.epsilon[0] == pytest.approx(49.97)
    assert tight == pytest.approx(gdp.epsilon_at(mu, 1e-6), rel=0.01)
    assert tight == pytest.approx(4.15, abs=0.01)
    assert reached.accuracy[0] == pytest.approx(ndtr(mu / 2), abs=1e-3)


def test_tight_epsilon_of_very_many_records_is_above_the_least_one_by_a_tenth_at_most(monkeypatch):
    log = answers([4.0] * 60 + [9.0] * 40, noise=np.repeat([0, 1], 50))
    found = random_sparse(np.random.default_rng(10), 100, 40, share=0.7)
    spent = epsilon_per_record(log, found, 1e-6)
    made = record_signatures(log, found, spent.mu_squared)
    least = tight_epsilon_per_record(made, spent.epsilon, 1e-6)
    monkeypatch.setattr(epsilon_per_target, "MOST_TIGHT", 0)
    above = tight_epsilon_per_record(made, spent.epsilon, 1e-6)
    assert (above >= least).all()
    assert (above > least).any()
    assert (above < 1.1 * least).all()


def test_an_answer_that_hides_nothing_has_no_smaller_epsilon():
    log, found = answers([1.0, 1e-3]), sparse(2, 2, [0, 1, 0], [0, 0, 1])
    spent = epsilon_per_record(log, found, 1e-6)
    made = record_signatures(log, found, spent.mu_squared)
    tight = tight_epsilon_per_record(made, spent.epsilon, 1e-6)
    assert tight[0] == spent.epsilon[0] == pytest.approx(1001.0)
    assert tight[1] < 1


@pytest.mark.parametrize("most", [kinds.MOST_KINDS, 20])
def test_sums_of_one_column_have_the_kinds_of_single_pairs(monkeypatch, most):
    """A record adds the same to all sums: its kinds come from a table of values and rates."""
    rng, n_records, n_queries = np.random.default_rng(8), 60, 40
    inside = np.sort(rng.choice(n_records * n_queries, 900, replace=False))
    queries, records = inside // n_records, inside % n_records
    values = rng.integers(0, 12, n_records) / 4
    scale = rng.choice([1.0, 2.5, 7.0], n_queries)
    log, found = answers(scale, bound=3.0), sparse(n_queries, n_records, queries, records, values[records])
    by_table = ratio_kinds.ratio_kinds(log, found, most, kinds.STEP)
    monkeypatch.setattr(ratio_kinds, "_LARGEST_TABLE", 0)
    by_pair = ratio_kinds.ratio_kinds(log, found, most, kinds.STEP)
    assert by_table.table is not None
    assert by_pair.table is None
    np.testing.assert_array_equal(by_table.ratios, by_pair.ratios)
    assert by_table.step == by_pair.step == (0.0 if most > 20 else kinds.STEP)
    (block,) = found.blocks()
    one_by_one = by_pair.positions(found.queries, np.abs(found.contributions))
    np.testing.assert_array_equal(by_table.table.kinds(block, found.queries), one_by_one)


def test_a_ratio_of_an_earlier_block_is_not_taken_for_a_near_one_of_a_later(monkeypatch):
    """Two records in two blocks: their ratios are in one cell of the grid, and neither block has both."""
    n, near, nearer = 41, np.exp(-0.70001), np.exp(-0.70095)
    values = np.array([[near] * (n - 1) + [0.1], [nearer] * (n - 1) + [0.1]])
    log, both = answers([1.0] * n, bound=10.0), np.arange(2)
    found = sparse(n, 2, np.tile(np.arange(n), 2), np.repeat(both, n), values.ravel())
    monkeypatch.setattr(incidence, "_BLOCK", n)
    assert len(list(found.blocks())) == 2
    spent = epsilon_per_record(log, found, 1e-5)
    signatures = record_signatures(log, found, spent.mu_squared)
    np.testing.assert_allclose(np.sort(signatures.kinds.rate), [0.1, nearer, near], rtol=1e-12)
    tight = tight_epsilon_per_record(signatures, spent.epsilon, 1e-5)
    for record, ratio in enumerate((near, nearer)):
        cells = [(LaplaceCell(ratio), n - 1), (LaplaceCell(0.1), 1)]
        truth = epsilon_bounds(cells, 1e-5)
        assert truth.low <= tight[record] <= truth.high * (1 + 5e-4)


def test_entries_of_one_kind_may_stay_apart_where_there_are_many_kinds(monkeypatch):
    rng = np.random.default_rng(9)
    queries, records = np.nonzero(rng.random((200, 30)) < 0.2)
    found = sparse(200, 30, queries, records, rng.uniform(1.0, 100.0, queries.size).round(1))
    log = answers([1_000.0] * 200, bound=100.0)
    results = []
    for factor, apart in ((0, True), (10**9, False)):
        monkeypatch.setattr(kind_counts, "_FEW_REPEATED", factor)
        made, reached, _ = attack(log, found)
        ends = made.cells.indptr.tolist()
        rows = [made.cells.indices[start:end] for start, end in pairwise(ends)]
        assert any(np.unique(row).size < row.size for row in rows) == apart
        tight = tight_epsilon_per_record(made, epsilon_per_record(log, found, 1e-5).epsilon, 1e-5)
        results.append([*(getattr(reached, name) for name in RATES), tight])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
