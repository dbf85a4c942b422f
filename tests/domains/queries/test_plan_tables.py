import numpy as np
import pytest

from domains.queries.small_table import game
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.oracle import AnswerCache
from leakgauge.domains.queries.plan_tables import QueriesTargetOrder, read_challenger_table, read_oracle_rules
from leakgauge.domains.queries.query import QueryKind

LAPLACE = {"name": "laplace", "epsilon": 0.3}


def test_reads_a_full_table():
    given = {
        "targets": {"n": 2, "choose": "most"},
        "query": {"kind": "sum", "column": "income", "bound": 100},
        "budget": 3,
        "accountant": "per_predicate",
        "cache": "text",
    }
    table = read_challenger_table(given)
    assert (table.targets.how_many, table.targets.choose) == (2, QueriesTargetOrder.MOST)
    assert (table.query.kind, table.query.bound) == (QueryKind.SUM, 100.0)
    rules = read_oracle_rules(LAPLACE, table)
    assert (rules.budget, rules.accountant, rules.cache) == (3.0, "per_predicate", AnswerCache.TEXT)
    assert rules.noise.noise_scale == pytest.approx(100 / 0.3)


def test_default_oracle_is_sequential_with_canonical_cache():
    rules = read_oracle_rules(LAPLACE, read_challenger_table({}))
    assert (rules.accountant, rules.cache, rules.budget) == ("sequential", AnswerCache.CANONICAL, None)


@pytest.mark.parametrize(
    ("challenger", "mechanism", "message"),
    [
        ({"budget": -1}, LAPLACE, "budget must be > 0"),
        ({"budget": 0.0}, LAPLACE, "budget must be > 0"),
        ({"budget": np.nan}, LAPLACE, "budget must be > 0"),
        ({"budget": 0.2}, LAPLACE, "nothing would ever be answered"),
        ({"budget": "3"}, LAPLACE, "must be a number"),
        ({"accountant": "per_rows"}, LAPLACE, "did you mean 'per_row'"),
        ({"cache": "canonicall"}, LAPLACE, "did you mean 'canonical'"),
        ({"budgets": 3}, LAPLACE, "did you mean 'budget'"),
        ({"targets": 0}, LAPLACE, "n must be >= 1"),
        ({"targets": {"names": [1], "n": 2}}, LAPLACE, "leave out n"),
        ({"query": {"kind": "mean"}}, LAPLACE, "'mean'"),
        ({"query": {"kind": "sum", "column": "age"}}, LAPLACE, "needs a bound"),
        ({"query": {"kind": "sum", "bound": 3}}, LAPLACE, "needs a column"),
        ({"query": {"kind": "sum", "column": "age", "bound": -3}}, LAPLACE, "bound must be > 0"),
        ({"query": {"kind": "sum", "column": "age", "bound": float("nan")}}, LAPLACE, "bound must be > 0"),
        ({"query": {"ids": [1, 2]}}, LAPLACE, "attacks choose the ids"),
        ({"promise": 0}, LAPLACE, "promise must be > 0"),
        ({"promise": 3, "budget": 3}, LAPLACE, "follows from budget"),
        ({}, {}, "'name' is missing"),
        ({}, {"name": "laplac", "epsilon": 1}, "did you mean 'laplace'"),
        ({}, {"name": "exponential", "epsilon": 1}, "exponential"),
        ({}, {"name": "laplace", "epsilon": 0}, "epsilon must be > 0"),
        ({}, {"name": "laplace", "epsilon": -1}, "epsilon must be > 0"),
        ({}, {"name": "laplace", "epsilon": np.nan}, "epsilon must be > 0"),
        ({}, {"name": "laplace"}, "neither epsilon nor scale"),
        ({}, {"name": "laplace", "epsilon": 1, "sensitivity": 2}, "follows from challenger.query"),
        ({}, {"name": "laplace", "epsilon": 1, "unit": "user"}, "about a record"),
        ({}, {"name": "gaussian", "epsilon": 1}, "'delta' is missing"),
        (
            {"query": {"kind": "sum", "column": "age", "bound": 2.5}},
            {"name": "geometric", "epsilon": 1},
            "whole",
        ),
        (
            {"query": {"kind": "sum", "column": "income", "bound": 50}},
            {"name": "geometric", "epsilon": 1},
            "whole",
        ),
        ({"query": {"kind": "sum", "column": "wage", "bound": 2}}, LAPLACE, "no column is called 'wage'"),
        ({"query": {"kind": "sum", "column": "region", "bound": 2}}, LAPLACE, "only numbers"),
        ({"query": {"where": "wage > 3"}}, LAPLACE, "no column is called 'wage'"),
        ({"query": {"where": "1=1; DROP TABLE records"}}, LAPLACE, "a statement besides"),
        ({"query": {"where": "age > 1000"}}, LAPLACE, "the query selects 0 records"),
        ({"targets": 1001}, LAPLACE, "1001 wanted"),
        ({"targets": {"names": [5000]}}, LAPLACE, "no record has the id '5000'"),
        ({"targets": {"names": [3, "3"]}}, LAPLACE, "named twice"),
        ({"targets": {"names": [3]}, "query": {"where": "id > 3"}}, LAPLACE, "does not select '3'"),
    ],
)
def test_rejects_invalid_plan(challenger, mechanism, message):
    with pytest.raises(BadInput, match=message) as refusal:
        game(mechanism=mechanism, **challenger)
    assert "\n" not in str(refusal.value)
