import tracemalloc

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import laplace as laplace_law

from domains.queries.small_table import game, known, oracle, table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules, cache_key
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.target_questions import split_query
from leakgauge.mechanisms import gaussian, geometric, laplace

COUNT = Query(where="age > 30 AND smoker")


def shared(cache, one, other):
    return cache_key(cache, table().ask(one)) == cache_key(cache, table().ask(other))


@pytest.mark.parametrize(
    ("other", "text", "canonical"),
    [
        (Query(where="age > 30 AND smoker"), True, True),
        (Query(where="age  > 30 AND smoker"), False, True),
        (Query(where="smoker and not AGE <= 30"), False, True),
        (Query(where="age > 31 AND smoker"), False, False),
        (Query(kind=QueryKind.SUM, column="income", bound=1.0, where="age > 30 AND smoker"), False, False),
    ],
)
def test_cache_matches_text_or_condition(other, text, canonical):
    assert shared(AnswerCache.TEXT, COUNT, other) is text
    assert shared(AnswerCache.CANONICAL, COUNT, other) is canonical


def test_canonical_cache_treats_ids_as_a_set():
    one, turned, written = Query(ids=(3, 5)), Query(ids=(5, 3)), Query(where="id = 5 OR id = 3")
    assert shared(AnswerCache.CANONICAL, one, turned)
    assert shared(AnswerCache.CANONICAL, one, written)
    assert not shared(AnswerCache.TEXT, one, turned)


def test_equal_selection_is_not_equal_query():
    one, other = Query(where="age > 1000"), Query(where="age > 2000")
    assert not shared(AnswerCache.CANONICAL, one, other)


def test_no_cache_matches_nothing():
    assert cache_key(AnswerCache.NONE, table().ask(COUNT)) is None


def test_sums_with_different_bounds_differ():
    one, other = (Query(kind=QueryKind.SUM, column="income", bound=b, ids=(1,)) for b in (1.0, 2.0))
    assert not shared(AnswerCache.CANONICAL, one, other)
    assert not shared(AnswerCache.TEXT, one, other)


@pytest.mark.parametrize(
    ("budget", "epsilon", "most"),
    [(3.0, 0.3, 10), (0.3, 0.1, 3), (1.0, 0.3, 3), (0.7, 0.1, 7), (1.0, 1.0, 1), (10.0, 0.01, 1000)],
)
def test_affordable_answers_ignore_float_error(budget, epsilon, most):
    assert OracleRules(noise=laplace.Mechanism(epsilon=epsilon), budget=budget).most_answers == most


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan, np.inf])
def test_rejects_invalid_budget(budget):
    with pytest.raises(BadInput, match="budget must be > 0"):
        OracleRules(noise=laplace.Mechanism(epsilon=1.0), budget=budget)


def test_rejects_budget_below_one_answer():
    with pytest.raises(BadInput, match="nothing would ever be answered"):
        OracleRules(noise=laplace.Mechanism(epsilon=1.0), budget=0.9)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-300])
def test_rejects_budget_for_too_many_answers(epsilon):
    with pytest.raises(BadInput, match="pays for more than 1000000 answers"):
        OracleRules(noise=laplace.Mechanism(scale=1.0, sensitivity=epsilon), budget=3.0)


def test_rejects_budget_for_free_answers():
    with pytest.raises(BadInput, match="pays for more than 1000000 answers of epsilon 0"):
        OracleRules(noise=gaussian.Mechanism(sigma=1e200, delta=1e-5), budget=3.0)


def test_answer_costs_exact_and_not_nominal_epsilon():
    assert OracleRules(noise=laplace.Mechanism(epsilon=1.0, scale=0.5), budget=4.0).most_answers == 2


@pytest.mark.parametrize(
    "noise",
    [
        laplace.Mechanism(epsilon=0.5),
        laplace.Mechanism(scale=3.0),
        geometric.Mechanism(epsilon=0.5),
        geometric.Mechanism(scale=3.0),
        gaussian.Mechanism(epsilon=0.5, delta=1e-5),
        gaussian.Mechanism(sigma=3.0, delta=1e-5),
        laplace.Mechanism(scale=300.0, sensitivity=100.0),
    ],
)
def test_noise_scales_with_sensitivity(noise):
    rules = OracleRules(noise=noise)
    for query in (Query(), Query(kind=QueryKind.SUM, column="income", bound=50.0)):
        scaled = rules.noise_of(query)
        assert scaled.sensitivity == query.sensitivity
        assert scaled.noise_scale / query.sensitivity == pytest.approx(noise.noise_scale / noise.sensitivity)
        assert scaled.guarantee.epsilon == pytest.approx(rules.epsilon, rel=1e-6)


@pytest.mark.parametrize(
    ("accountant", "budget", "bounded"),
    [
        ("sequential", 1.0, True),
        ("per_predicate", 1.0, True),
        ("per_row", 1.0, False),
        ("none", 1.0, False),
        ("sequential", None, False),
    ],
)
def test_only_data_independent_refusals_are_sound(accountant, budget, bounded):
    rules = OracleRules(noise=laplace.Mechanism(epsilon=0.5), accountant=accountant, budget=budget)
    assert rules.bounded is bounded


QUIET = 1e-6  # scale of noise that hides nothing


def test_true_answer_counts_present_records():
    members = [[0, 0], [1, 0], [0, 1], [1, 1]]
    asked = oracle(members, targets=(1, 8), scale=QUIET)
    np.testing.assert_allclose(asked.ask(Query()), [8, 9, 9, 10], atol=1e-4)
    np.testing.assert_allclose(asked.ask(Query(where="age > 30")), [5, 5, 6, 6], atol=1e-4)
    np.testing.assert_allclose(asked.ask(Query(ids=(1, 2, 3, 55))), [2, 3, 2, 3], atol=1e-4)


def test_true_sum_is_clipped_per_record():
    asked = oracle([[0, 0], [1, 1]], targets=(4, 9), scale=QUIET)
    query = Query(kind=QueryKind.SUM, column="income", bound=25.0, ids=(0, 3, 4, 9))
    np.testing.assert_allclose(asked.ask(query), [25.5, 25.5], atol=1e-3)  # -25 and 25 more
    alone = Query(kind=QueryKind.SUM, column="income", bound=25.0, ids=(0, 3, 4))
    np.testing.assert_allclose(asked.ask(alone), [25.5, 0.5], atol=1e-3)


def test_noise_is_fresh_for_every_round_and_query():
    asked = oracle(np.zeros((4_000, 1)), epsilon=0.5)
    one, other = asked.ask(Query(ids=(5,))) - 1, asked.ask(Query(ids=(6, 7))) - 2
    for noise in (one, other):
        assert kstest(noise, laplace_law(scale=2).cdf).pvalue > 0.001
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(4_000)
    sums = asked.ask(Query(kind=QueryKind.SUM, column="income", bound=10.0, ids=(1,))) - 10
    assert kstest(sums, laplace_law(scale=20).cdf).pvalue > 0.001


@pytest.mark.parametrize(
    ("cache", "same_words", "other_words"),
    [("none", False, False), ("text", True, False), ("canonical", True, True)],
)
def test_cached_query_gets_same_answer(cache, same_words, other_words):
    asked = oracle(np.zeros((50, 1)), cache=cache)
    first = asked.ask(Query(where="age > 30"))
    assert (asked.ask(Query(where="age > 30")) == first).all() == same_words
    assert (asked.ask(Query(where="NOT age <= 30")) == first).all() == other_words


@pytest.mark.parametrize("accountant", ["sequential", "per_predicate", "per_row"])
def test_cached_answer_is_free_after_budget_is_spent(accountant):
    asked = oracle([[1]], cache="canonical", accountant=accountant, budget=1.0, targets=(3,))
    first = asked.ask(Query(ids=(1, 3)))
    assert np.isnan(asked.ask(Query(ids=(2, 3)))).all()
    assert asked.ask(Query(ids=(3, 1))) == first
    assert asked.obtained.tolist() == [[1.0]]
    assert asked.believed["sequential"].tolist() == [1.0]


def test_given_answers_are_read_only():
    asked = oracle([[1]], cache="canonical")
    first = asked.ask(Query())
    kept = float(first[0])
    first[:] = 0
    assert asked.ask(Query())[0] == kept


def test_accounts_of_both_sides():
    m, members = 6, np.array([[False], [True]])
    asked = oracle(members, targets=(9,), epsilon=0.5, accountant="none")
    for i in range(m):
        asked.ask(Query(ids=(i, 9)))
    asked.ask(Query(ids=(7,)))  # not about the target
    assert asked.obtained.tolist() == [[m * 0.5], [m * 0.5]]  # theorem 3
    believed = {name: spent.tolist() for name, spent in asked.believed.items()}
    assert believed == {
        "sequential": [3.5, 3.5],
        "per_predicate": [3.0, 3.0],
        "per_row": [0.5, 3.0],  # theorem 4
        "none": [0.0, 0.0],
    }


def test_refused_answers_are_not_obtained():
    asked = oracle([[False], [True]], targets=(9,), accountant="per_row", budget=2.0)
    answers = np.array([asked.ask(Query(ids=(i, 9))) for i in range(5)])
    assert (~np.isnan(answers)).sum(axis=0).tolist() == [5, 2]
    assert asked.obtained.tolist() == [[5.0], [2.0]]
    assert asked.believed["per_row"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("accountant", ["sequential", "per_predicate"])
def test_sound_accountants_refuse_all_rounds_alike(accountant):
    members = np.random.default_rng(1).random((200, 2)) < 0.5
    asked = oracle(members, targets=(8, 9), accountant=accountant, budget=3.0, cache="canonical")
    texts = ["age > 30", "age < 20", "id IN (1, 9)", "id IN (2, 9)", "smoker", "age > 30 ", "id = 9", "true"]
    refused = np.array([np.isnan(asked.ask(Query(where=text))) for text in texts])
    assert refused.any()
    assert (refused == refused[:, :1]).all()


def test_all_adversaries_get_the_same_reproducible_noise():
    members = np.zeros((100, 1))
    one, other, third = oracle(members, seed=5), oracle(members, seed=5), oracle(members, seed=6)
    query = Query(ids=(1, 2))
    answers = one.ask(query)
    assert (answers == other.ask(query)).all()
    assert not (answers == third.ask(query)).any()


def test_large_block_needs_no_dense_table():
    challenger = game(data={"records": 20_000}, budget=100.0, accountant="per_row")
    rounds = challenger.flip(10_000, np.random.default_rng(0))
    parts = split_query(known(challenger), 0, 29)
    parts.ask(challenger.release(rounds[:2], np.random.default_rng(0)).oracle())
    tracemalloc.start()
    try:
        parts.ask(challenger.release(rounds, np.random.default_rng(0)).oracle())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000 * 20_000 / 10  # a tenth of a byte for each pair of a round and a record


def test_small_counts_are_refused_by_the_true_number():
    """Ten people, one of them a target: a count of seven others is answered to eight at least, or not."""
    asked = oracle([[True], [False]], targets=(3,), at_least=8, accountant="sequential")
    assert np.isnan(asked.ask(Query(ids=(0, 1, 2, 3, 4, 5, 6, 7)))).tolist() == [False, True]
    assert np.isnan(asked.ask(Query(ids=(0, 1, 2)))).all()
    assert not np.isnan(asked.ask(Query())).any()
    np.testing.assert_allclose(asked.believed["sequential"], [2.0, 1.0])  # what is refused costs nothing


def test_small_noisy_counts_cost_as_much_as_others():
    n = 4_000
    asked = oracle(
        np.tile([[True], [False]], (n // 2, 1)), targets=(3,), at_least=8, suppress_by="answer", cache="text"
    )
    for query in (Query(ids=tuple(range(8))), Query(ids=(0, 3))):
        answers, present = asked.ask(query), np.arange(n) % 2 == 0
        np.testing.assert_array_equal(asked.ask(query), answers)  # from the cache, suppressed ones too
        for is_in in (False, True):
            given = ~np.isnan(answers[present == is_in])
            true = len(query.ids) - (not is_in)
            assert (answers[present == is_in][given] >= 8).all()
            expected = laplace_law(scale=1.0).sf(8 - true)
            assert abs(given.mean() - expected) < 4.5 * np.sqrt(0.25 / (n / 2))
    np.testing.assert_allclose(asked.obtained, 2.0)


@pytest.mark.parametrize(
    ("at_least", "suppress_by", "bounded"),
    [(None, "records", True), (10, "records", False), (10, "answer", True)],
)
def test_refusals_by_the_true_number_promise_nothing(at_least, suppress_by, bounded):
    owner = game(budget=3.0, at_least=at_least, suppress_by=suppress_by) if at_least else game(budget=3.0)
    assert (owner.guarantee is not None) is bounded


def test_rejects_impossible_smallest_counts():
    with pytest.raises(BadInput, match="at_least must be >= 1"):
        game(at_least=0)
    with pytest.raises(BadInput, match="add at_least"):
        game(suppress_by="answer")
    with pytest.raises(BadInput, match="a sum is no count"):
        game(at_least=3, suppress_by="answer", query={"kind": "sum", "column": "income", "bound": 3.0})
    with pytest.raises(BadInput, match="lower at_least"):
        game(at_least=5_000).control()
