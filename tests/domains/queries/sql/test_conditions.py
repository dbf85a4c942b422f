import datetime
from itertools import product

import numpy as np
import pytest

from domains.queries.random_predicates import predicate
from domains.queries.small_table import TYPES
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.domains.queries.sql.conditions import (
    And,
    BooleanConstant,
    ColumnType,
    IsIn,
    IsNull,
    LikePattern,
    OneSidedBound,
    Operand,
    OperandComparison,
    Or,
    all_of,
    any_of,
    are_disjoint,
    negate,
    simplify,
    value_ranges,
    where_clause,
)
from leakgauge.domains.queries.sql.parser import parse_predicate

NAME, AGE = Operand('"name"', ColumnType.TEXT), Operand('"age"', ColumnType.WHOLE)


def test_texts_are_passed_as_parameters():
    evil = "'; DROP TABLE records; --"
    sql, texts = where_clause(
        And(frozenset({IsIn(NAME, frozenset({evil})), LikePattern(NAME, evil, folded=False)}))
    )
    assert "DROP" not in sql
    assert texts == [evil, evil]
    assert sql.count("?") == 2


def test_values_are_sorted():
    assert where_clause(IsIn(AGE, frozenset({3, 1, 2}))) == where_clause(IsIn(AGE, frozenset({2, 3, 1})))


def test_times_and_reals_are_exact():
    since, weight = Operand('"since"', ColumnType.TIME), Operand('"weight"', ColumnType.REAL)
    time = datetime.datetime.fromisoformat("2020-01-02 03:04:05.000006")
    assert (
        where_clause(OneSidedBound(since, time, lower=True))[0]
        == "(\"since\" >= TIMESTAMP '2020-01-02 03:04:05.000006')"
    )
    assert where_clause(OneSidedBound(weight, 0.1, lower=False, closed=False))[0] == '("weight" < 0.1e0)'


WEIGHT = Operand('"weight"', ColumnType.REAL)
ADULT, ANN = OneSidedBound(AGE, 18, lower=True), IsIn(NAME, frozenset({"ann"}))


def test_nested_parts_are_flattened_and_deduplicated():
    assert all_of([ADULT, all_of([ANN, ADULT])]) == And(frozenset({ADULT, ANN}))
    assert any_of([ADULT, any_of([ANN, ADULT])]) == Or(frozenset({ADULT, ANN}))
    assert all_of([ADULT]) == any_of([ADULT]) == ADULT


def test_boolean_constants_are_simplified():
    assert all_of([ADULT, BooleanConstant(True)]) == any_of([ADULT, BooleanConstant(False)]) == ADULT
    assert all_of([ADULT, BooleanConstant(False)]) == BooleanConstant(False)
    assert any_of([ADULT, BooleanConstant(True)]) == BooleanConstant(True)
    assert (all_of([]), any_of([])) == (BooleanConstant(True), BooleanConstant(False))


@pytest.mark.parametrize(
    "condition",
    [
        BooleanConstant(True),
        ANN,
        ADULT,
        IsNull(AGE),
        LikePattern(NAME, "a%", folded=True),
        OperandComparison(AGE, "<", WEIGHT),
        OperandComparison(AGE, "<=", WEIGHT),
        OperandComparison(AGE, "=", WEIGHT),
        And(frozenset({ADULT, ANN})),
        Or(frozenset({ADULT, IsNull(NAME)})),
    ],
)
def test_double_negation_is_identity(condition):
    assert negate(condition) != condition
    assert negate(negate(condition)) == condition


def test_negation_is_pushed_to_leaves():
    assert negate(And(frozenset({ADULT, ANN}))) == Or(
        frozenset(
            {OneSidedBound(AGE, 18, lower=False, closed=False), IsIn(NAME, frozenset({"ann"}), negated=True)}
        )
    )


SMOKES = Operand('"smokes"', ColumnType.TRUTH)


@pytest.mark.parametrize(
    ("value", "lower", "closed", "whole"),
    [
        (5, True, False, 6),
        (5, False, False, 4),
        (5.5, True, True, 6),
        (5.5, True, False, 6),
        (5.5, False, True, 5),
        (-5.5, False, False, -6),
        (-5.5, True, True, -5),
    ],
)
def test_integer_bounds_are_integers(value, lower, closed, whole):
    assert simplify(OneSidedBound(AGE, value, lower, closed)) == OneSidedBound(AGE, whole, lower, closed=True)


def test_real_bounds_are_unchanged():
    bound = OneSidedBound(WEIGHT, 5.5, lower=True, closed=False)
    assert simplify(bound) == bound


def test_non_integer_values_are_dropped():
    assert simplify(IsIn(AGE, frozenset({1, 2.5}))) == IsIn(AGE, frozenset({1}))
    assert simplify(IsIn(AGE, frozenset({2.5}))) == BooleanConstant(False)
    assert simplify(IsIn(AGE, frozenset({2.5}), negated=True)) == IsNull(AGE, negated=True)


def test_negated_true_is_false():
    assert simplify(IsIn(SMOKES, frozenset({True}), negated=True)) == IsIn(SMOKES, frozenset({False}))


VALUES = {"age": ["1", "2", "2.5"], "income": ["1", "1.5", "2"], "region": ["'a'", "'b'"]}


@pytest.fixture(scope="module")
def everybody():
    """Every combination of these values, including missing ones."""
    ages = [0, 1, 2, 3, None]
    incomes = [0.5, 1.0, 1.2, 1.5, 1.7, 2.0, 9.0, None]
    rows = list(product(ages, incomes, ["a", "b", "c", None]))
    columns = {
        "id": np.arange(len(rows)),
        "age": np.ma.masked_array([row[0] or 0 for row in rows], mask=[row[0] is None for row in rows]),
        "income": np.ma.masked_array([row[1] or 0.0 for row in rows], mask=[row[1] is None for row in rows]),
        "region": np.array([row[2] for row in rows], dtype=object),
    }
    kinds = {
        "id": ColumnType.WHOLE,
        "age": ColumnType.WHOLE,
        "income": ColumnType.REAL,
        "region": ColumnType.TEXT,
    }
    return OracleRecords(kinds, columns, "id", "d")


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_conditions_share_no_record(everybody, seed):
    rng, n_disjoint = np.random.default_rng([2, seed]), 0
    for _ in range(150):
        one, other = (
            parse_predicate(predicate(rng, 2, VALUES, truths=False), everybody.types) for _ in range(2)
        )
        if are_disjoint(value_ranges(one), value_ranges(other)):
            n_disjoint += 1
            assert not set(everybody.rows(one).tolist()) & set(everybody.rows(other).tolist()), (one, other)
    assert n_disjoint >= 5


@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        ("age = 1", "age = 2", True),
        ("age = 1", "age = 1", False),
        ("age IN (1, 2)", "age IN (3, 4)", True),
        ("age IN (1, 2)", "age IN (2, 3)", False),
        ("age < 30", "age >= 30", True),
        ("age <= 30", "age >= 30", False),
        ("income < 30", "income > 30", True),
        ("income <= 30", "income >= 30", False),
        ("age < 30", "age IN (30, 31)", True),
        ("age < 30 AND smoker", "region = 'a' AND age > 40", True),
        ("age BETWEEN 1 AND 2", "age BETWEEN 3 AND 4", True),
        ("region = 'a'", "region = 'b' AND age > 3", True),
        ("region < 'b'", "region > 'b'", True),
        ("smoker", "NOT smoker", True),
        ("since < '2020-01-01'", "since >= '2020-01-01'", True),
        ("age < 30", "income > 40", False),  # another column: unknown
        ("age <> 1", "age = 1", False),  # disjoint, but not of the simple kind: assumed to overlap
        ("age < 30 OR smoker", "age > 40", False),
        ("lower(region) = 'a'", "lower(region) = 'b'", True),
        ("lower(region) = 'a'", "region = 'b'", False),
        ("true", "age = 1", False),
    ],
)
def test_disjointness_is_found_in_simple_cases(one, other, disjoint):
    first, second = value_ranges(parse_predicate(one, TYPES)), value_ranges(parse_predicate(other, TYPES))
    assert are_disjoint(first, second) is disjoint
    assert are_disjoint(second, first) is disjoint
