import pytest

from leakgauge.domains.queries.conditions import Bound, Member, Null, Operand, Truth, Type
from leakgauge.domains.queries.simplifying import simplified

AGE, WEIGHT, SMOKES = Operand("a", Type.WHOLE), Operand("w", Type.REAL), Operand("s", Type.TRUTH)


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
    assert simplified(Bound(AGE, value, lower, closed)) == Bound(AGE, whole, lower, closed=True)


def test_bounds_of_real_numbers_stay():
    bound = Bound(WEIGHT, 5.5, lower=True, closed=False)
    assert simplified(bound) == bound


def test_values_that_no_whole_number_has_are_left_out():
    assert simplified(Member(AGE, frozenset({1, 2.5}))) == Member(AGE, frozenset({1}))
    assert simplified(Member(AGE, frozenset({2.5}))) == Truth(False)
    assert simplified(Member(AGE, frozenset({2.5}), negated=True)) == Null(AGE, negated=True)


def test_not_true_is_false():
    assert simplified(Member(SMOKES, frozenset({True}), negated=True)) == Member(SMOKES, frozenset({False}))
