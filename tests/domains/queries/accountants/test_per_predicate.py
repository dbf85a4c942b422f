import numpy as np
import pytest

from domains.queries.accountants.random_queries import answered, asked, queries, selected, with_and_without
from domains.queries.small_table import table
from leakgauge.domains.queries.query import Query


def spent_on(*said):
    questions = [
        table().ask(Query(where=text) if isinstance(text, str) else Query(ids=text)) for text in said
    ]
    return answered("per_predicate", [[False], [True]], questions, 99)[1][-1].tolist()


@pytest.mark.parametrize("seed", range(30))
def test_neighbouring_tables_are_charged_the_same(seed):
    rng = np.random.default_rng([3, seed])
    drawn = queries(rng, 15)
    one, other = (answered("per_predicate", [[0], [1]], asked(t, drawn), 4) for t in with_and_without(rng))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[0][:, 0], one[0][:, 1])  # whether the target is there or not


@pytest.mark.parametrize("seed", range(20))
def test_charge_bounds_answers_about_any_possible_record(seed):
    rng = np.random.default_rng([4, seed])
    drawn = queries(rng, 15)
    there, _ = with_and_without(rng)
    questions = asked(there, drawn)
    allowed, spent = answered("per_predicate", [[0], [1]], questions, 4)
    most = np.cumsum(selected(questions) & allowed[:, :1], axis=0).max(axis=1)
    assert (most <= spent[:, 0]).all()
    assert spent.max() <= 4
    assert most[-1] >= 2  # the queries do meet


def test_disjoint_ids_cost_one_answer():
    assert spent_on((1, 2), (3, 4), (5,)) == [1, 1]
    assert spent_on("id IN (1, 2)", "id = 3", (4,)) == [1, 1]


def test_ids_are_counted_separately():
    assert spent_on((1, 2), (3, 4), (1, 3)) == [2, 2]
    assert spent_on((1,), (2,), (1, 2)) == [2, 2]
    assert spent_on((1, 3), (2, 3), (4, 3)) == [3, 3]


def test_splitting_is_charged_regardless_of_target():
    assert spent_on(*[(i, 9) for i in range(8)]) == [8, 8]
    assert spent_on(*[f"id IN ({i}, 9)" for i in range(8)]) == [8, 8]


def test_unknown_ids_are_charged():
    assert spent_on((1, 77), (2, 77), (77,)) == [3, 3]


def test_disjoint_predicates_cost_one_answer():
    assert spent_on("age < 30", "age >= 30 AND age < 40", "age >= 40 AND smoker") == [1, 1]
    assert spent_on("region = 'north'", "region = 'south'") == [1, 1]


def test_undecided_predicates_count_as_overlapping():
    assert spent_on("age < 30", "income > 3") == [2, 2]
    assert spent_on("age < 30", "age <> 10 OR smoker", (3,)) == [3, 3]
    assert spent_on((1,), (2,), "true") == [3, 3]


def test_empty_predicate_is_charged():
    assert spent_on("age > 1000", "age > 1000") == [2, 2]
