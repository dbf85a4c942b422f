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
from leakgauge.domains.queries.sql.normal_form import all_of, any_of, negate

AGE, WEIGHT, NAME = (
    Operand('"age"', ColumnType.WHOLE),
    Operand('"weight"', ColumnType.REAL),
    Operand('"name"', ColumnType.TEXT),
)
ADULT, ANN = OneSidedBound(AGE, 18, lower=True), IsIn(NAME, frozenset({"ann"}))


def test_parts_are_flat_and_each_is_there_once():
    assert all_of([ADULT, all_of([ANN, ADULT])]) == And(frozenset({ADULT, ANN}))
    assert any_of([ADULT, any_of([ANN, ADULT])]) == Or(frozenset({ADULT, ANN}))
    assert all_of([ADULT]) == any_of([ADULT]) == ADULT


def test_truths_are_worked_out():
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
def test_the_opposite_of_the_opposite_is_the_same(condition):
    assert negate(condition) != condition
    assert negate(negate(condition)) == condition


def test_negation_reaches_the_single_tests():
    assert negate(And(frozenset({ADULT, ANN}))) == Or(
        frozenset(
            {OneSidedBound(AGE, 18, lower=False, closed=False), IsIn(NAME, frozenset({"ann"}), negated=True)}
        )
    )
