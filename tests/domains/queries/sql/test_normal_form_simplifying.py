import pytest

from leakgauge.domains.queries.sql.conditions import (
    BooleanConstant,
    ColumnType,
    IsIn,
    IsNull,
    OneSidedBound,
    Operand,
)
from leakgauge.domains.queries.sql.normal_form import simplify

AGE, WEIGHT, SMOKES = (
    Operand("a", ColumnType.WHOLE),
    Operand("w", ColumnType.REAL),
    Operand("s", ColumnType.TRUTH),
)


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
def test_bounds_of_whole_numbers_are_whole(value, lower, closed, whole):
    assert simplify(OneSidedBound(AGE, value, lower, closed)) == OneSidedBound(AGE, whole, lower, closed=True)


def test_bounds_of_real_numbers_stay():
    bound = OneSidedBound(WEIGHT, 5.5, lower=True, closed=False)
    assert simplify(bound) == bound


def test_values_that_no_whole_number_has_are_left_out():
    assert simplify(IsIn(AGE, frozenset({1, 2.5}))) == IsIn(AGE, frozenset({1}))
    assert simplify(IsIn(AGE, frozenset({2.5}))) == BooleanConstant(False)
    assert simplify(IsIn(AGE, frozenset({2.5}), negated=True)) == IsNull(AGE, negated=True)


def test_not_true_is_false():
    assert simplify(IsIn(SMOKES, frozenset({True}), negated=True)) == IsIn(SMOKES, frozenset({False}))
