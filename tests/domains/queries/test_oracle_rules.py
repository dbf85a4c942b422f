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
