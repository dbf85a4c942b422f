import tracemalloc

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import laplace as laplace_law

from domains.queries.small_table import game, known, oracle
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.query_splitting import split_query

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
