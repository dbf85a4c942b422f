import pytest

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
)
from leakgauge.domains.queries.sql.normal_form import all_of, any_of, negate, simplify

AGE, WEIGHT, NAME = (
    Operand('"age"', ColumnType.WHOLE),
    Operand('"weight"', ColumnType.REAL),
    Operand('"name"', ColumnType.TEXT),
)
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
