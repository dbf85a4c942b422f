"""The normal form of a condition: nested parts flattened, negations moved inwards, values simplified."""

import math
from collections.abc import Iterable
from dataclasses import replace

from leakgauge.domains.queries.sql.conditions import (
    And,
    BooleanConstant,
    ColumnType,
    Condition,
    IsIn,
    IsNull,
    LikePattern,
    OneSidedBound,
    Operand,
    OperandComparison,
    Or,
    Value,
)

_OPPOSITE = {"=": "<>", "<>": "="}


def all_of(parts: Iterable[Condition]) -> Condition:
    """Join parts by AND: flat, without duplicates; excluded values of an operand become one test."""
    flat = _flat(parts, And)
    if BooleanConstant(False) in flat:
        return BooleanConstant(False)
    return _unwrapped(And, _merged(flat - {BooleanConstant(True)}, negated=True), empty=True)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Join parts by OR: flat, without duplicates; accepted values of an operand become one test."""
    flat = _flat(parts, Or)
    if BooleanConstant(True) in flat:
        return BooleanConstant(True)
    return _unwrapped(Or, _merged(flat - {BooleanConstant(False)}, negated=False), empty=False)


def negate(condition: Condition) -> Condition:
    """Return the negation of a condition; it is unknown where the condition is unknown."""
    match condition:
        case BooleanConstant(holds):
            return BooleanConstant(not holds)
        case IsIn() | IsNull() | LikePattern():
            return replace(condition, negated=not condition.negated)
        case OneSidedBound():
            return replace(condition, lower=not condition.lower, closed=not condition.closed)
        case OperandComparison(left, "<", right):
            return OperandComparison(right, "<=", left)
        case OperandComparison(left, "<=", right):
            return OperandComparison(right, "<", left)
        case OperandComparison():
            return replace(condition, sign=_OPPOSITE[condition.sign])
        case And(parts):
            return any_of(map(negate, parts))
        case Or(parts):
            return all_of(map(negate, parts))


def _flat(parts: Iterable[Condition], kind: type[And] | type[Or]) -> frozenset[Condition]:
    flat: set[Condition] = set()
    for part in parts:
        flat |= part.parts if isinstance(part, kind) else {part}
    return frozenset(flat)


def _merged(parts: frozenset[Condition], *, negated: bool) -> frozenset[Condition]:
    values: dict[Operand, frozenset[Value]] = {}
    others: set[Condition] = set()
    for part in parts:
        if isinstance(part, IsIn) and part.negated == negated:
            values[part.operand] = values.get(part.operand, frozenset()) | part.values
        else:
            others.add(part)
    return frozenset(others | {IsIn(operand, flat, negated) for operand, flat in values.items()})


def _unwrapped(kind: type[And] | type[Or], parts: frozenset[Condition], *, empty: bool) -> Condition:
    if not parts:
        return BooleanConstant(empty)
    return next(iter(parts)) if len(parts) == 1 else kind(parts)


def simplify(condition: Condition) -> Condition:
    """Return a simpler condition that selects the same records.

    Bounds of whole numbers become whole and closed; values that a column of whole numbers cannot hold are
    removed; "not true" becomes "false". Unknown may become false: neither selects a record.
    """
    match condition:
        case And(parts):
            return all_of(map(simplify, parts))
        case Or(parts):
            return any_of(map(simplify, parts))
        case OneSidedBound() if condition.operand.type is ColumnType.WHOLE:
            return _whole_bound(condition)
        case IsIn() if condition.operand.type is ColumnType.WHOLE:
            return _without_empty_set(
                replace(condition, values=frozenset(v for v in condition.values if _whole(v)))
            )
        case IsIn() if condition.operand.type is ColumnType.TRUTH and condition.negated:
            return _without_empty_set(
                IsIn(condition.operand, frozenset({True, False}) - condition.values, negated=False)
            )
        case IsIn():
            return _without_empty_set(condition)
        case _:
            return condition


def _without_empty_set(condition: IsIn) -> Condition:
    if condition.values:
        return condition
    return IsNull(condition.operand, negated=True) if condition.negated else BooleanConstant(False)


def _whole(value: object) -> bool:
    return isinstance(value, int | float) and value == math.floor(value)


def _whole_bound(bound: OneSidedBound) -> OneSidedBound:
    value = bound.value
    assert isinstance(value, int | float)
    if bound.lower:
        least = math.ceil(value) if bound.closed else math.floor(value) + 1
        return OneSidedBound(bound.operand, least, lower=True)
    most = math.floor(value) if bound.closed else math.ceil(value) - 1
    return OneSidedBound(bound.operand, most, lower=False)
