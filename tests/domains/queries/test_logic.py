import pytest

from leakgauge.domains.queries.conditions import (
    All,
    Any,
    Bound,
    Like,
    Member,
    Null,
    Operand,
    Pair,
    Truth,
    Type,
)
from leakgauge.domains.queries.logic import all_of, any_of, opposite

AGE, WEIGHT, NAME = Operand('"age"', Type.WHOLE), Operand('"weight"', Type.REAL), Operand('"name"', Type.TEXT)
ADULT, ANN = Bound(AGE, 18, lower=True), Member(NAME, frozenset({"ann"}))


def test_parts_are_flat_and_each_is_there_once():
    assert all_of([ADULT, all_of([ANN, ADULT])]) == All(frozenset({ADULT, ANN}))
    assert any_of([ADULT, any_of([ANN, ADULT])]) == Any(frozenset({ADULT, ANN}))
    assert all_of([ADULT]) == any_of([ADULT]) == ADULT


def test_truths_are_worked_out():
    assert all_of([ADULT, Truth(True)]) == any_of([ADULT, Truth(False)]) == ADULT
    assert all_of([ADULT, Truth(False)]) == Truth(False)
    assert any_of([ADULT, Truth(True)]) == Truth(True)
    assert (all_of([]), any_of([])) == (Truth(True), Truth(False))


@pytest.mark.parametrize(
    "condition",
    [
        Truth(True),
        ANN,
        ADULT,
        Null(AGE),
        Like(NAME, "a%", folded=True),
        Pair(AGE, "<", WEIGHT),
        Pair(AGE, "<=", WEIGHT),
        Pair(AGE, "=", WEIGHT),
        All(frozenset({ADULT, ANN})),
        Any(frozenset({ADULT, Null(NAME)})),
    ],
)
def test_the_opposite_of_the_opposite_is_the_same(condition):
    assert opposite(condition) != condition
    assert opposite(opposite(condition)) == condition


def test_negation_reaches_the_single_tests():
    assert opposite(All(frozenset({ADULT, ANN}))) == Any(
        frozenset({Bound(AGE, 18, lower=False, closed=False), Member(NAME, frozenset({"ann"}), negated=True)})
    )
