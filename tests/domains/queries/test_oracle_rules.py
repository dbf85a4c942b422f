import numpy as np
import pytest

from domains.queries.small_table import table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle_rules import AnswerCache, OracleRules, cache_key
from leakgauge.domains.queries.query import Query, QueryKind
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
def test_a_cache_knows_a_question_by_its_words_or_by_its_condition(other, text, canonical):
    assert shared(AnswerCache.TEXT, COUNT, other) is text
    assert shared(AnswerCache.CANONICAL, COUNT, other) is canonical


def test_ids_are_a_set_to_a_canonical_cache_and_the_same_as_a_predicate_that_names_them():
    one, turned, written = Query(ids=(3, 5)), Query(ids=(5, 3)), Query(where="id = 5 OR id = 3")
    assert shared(AnswerCache.CANONICAL, one, turned)
    assert shared(AnswerCache.CANONICAL, one, written)
    assert not shared(AnswerCache.TEXT, one, turned)


def test_questions_that_happen_to_select_the_same_records_are_not_the_same():
    one, other = Query(where="age > 1000"), Query(where="age > 2000")
    assert not shared(AnswerCache.CANONICAL, one, other)


def test_without_a_cache_no_question_is_known():
    assert cache_key(AnswerCache.NONE, table().ask(COUNT)) is None


def test_sums_with_different_bounds_are_different_questions():
    one, other = (Query(kind=QueryKind.SUM, column="income", bound=b, ids=(1,)) for b in (1.0, 2.0))
    assert not shared(AnswerCache.CANONICAL, one, other)
    assert not shared(AnswerCache.TEXT, one, other)


@pytest.mark.parametrize(
    ("budget", "epsilon", "most"),
    [(3.0, 0.3, 10), (0.3, 0.1, 3), (1.0, 0.3, 3), (0.7, 0.1, 7), (1.0, 1.0, 1), (10.0, 0.01, 1000)],
)
def test_the_budget_pays_for_whole_answers_whatever_binary_fractions_say(budget, epsilon, most):
    assert OracleRules(noise=laplace.Mechanism(epsilon=epsilon), budget=budget).most_answers == most


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan, np.inf])
def test_a_budget_is_a_finite_number_above_zero(budget):
    with pytest.raises(BadInput, match="budget must be > 0"):
        OracleRules(noise=laplace.Mechanism(epsilon=1.0), budget=budget)


def test_a_budget_that_pays_for_nothing_is_refused():
    with pytest.raises(BadInput, match="nothing would ever be answered"):
        OracleRules(noise=laplace.Mechanism(epsilon=1.0), budget=0.9)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-300])
def test_a_budget_that_pays_for_more_answers_than_can_be_composed_is_refused(epsilon):
    with pytest.raises(BadInput, match="pays for more than 1000000 answers"):
        OracleRules(noise=laplace.Mechanism(scale=1.0, sensitivity=epsilon), budget=3.0)


def test_a_budget_for_answers_that_cost_nothing_is_refused():
    with pytest.raises(BadInput, match="pays for more than 1000000 answers of epsilon 0"):
        OracleRules(noise=gaussian.Mechanism(sigma=1e200, delta=1e-5), budget=3.0)


def test_an_answer_costs_what_its_noise_supports_and_not_what_the_label_says():
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
def test_noise_grows_with_what_a_record_can_move_so_that_every_answer_costs_the_same(noise):
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
def test_only_refusals_that_do_not_look_at_records_bound_anything(accountant, budget, bounded):
    rules = OracleRules(noise=laplace.Mechanism(epsilon=0.5), accountant=accountant, budget=budget)
    assert rules.bounded is bounded
