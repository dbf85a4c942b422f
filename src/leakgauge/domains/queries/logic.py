"""Conditions joined and negated: negation is carried through to single tests, unknown stays unknown."""

from collections.abc import Iterable
from dataclasses import replace

from leakgauge.domains.queries.conditions import (
    All,
    Any,
    Bound,
    Condition,
    Like,
    Member,
    Null,
    Operand,
    Pair,
    Truth,
    Value,
)

_OPPOSITE = {"=": "<>", "<>": "="}


def all_of(parts: Iterable[Condition]) -> Condition:
    """The parts together: flat, each once; excluded values of an operand are one test."""
    found = _flat(parts, All)
    if Truth(False) in found:
        return Truth(False)
    return _one(All, _merged(found - {Truth(True)}, negated=True), empty=True)


def any_of(parts: Iterable[Condition]) -> Condition:
    """One of the parts: flat, each once; accepted values of an operand are one test."""
    found = _flat(parts, Any)
    if Truth(True) in found:
        return Truth(True)
    return _one(Any, _merged(found - {Truth(False)}, negated=False), empty=False)


def opposite(condition: Condition) -> Condition:
    """What selects the records for which a condition is false; where it is unknown, so is this."""
    match condition:
        case Truth(holds):
            return Truth(not holds)
        case Member() | Null() | Like():
            return replace(condition, negated=not condition.negated)
        case Bound():
            return replace(condition, lower=not condition.lower, closed=not condition.closed)
        case Pair(left, "<", right):
            return Pair(right, "<=", left)
        case Pair(left, "<=", right):
            return Pair(right, "<", left)
        case Pair():
            return replace(condition, sign=_OPPOSITE[condition.sign])
        case All(parts):
            return any_of(map(opposite, parts))
        case Any(parts):
            return all_of(map(opposite, parts))


def _flat(parts: Iterable[Condition], kind: type[All] | type[Any]) -> frozenset[Condition]:
    found: set[Condition] = set()
    for part in parts:
        found |= part.parts if isinstance(part, kind) else {part}
    return frozenset(found)


def _merged(parts: frozenset[Condition], *, negated: bool) -> frozenset[Condition]:
    values: dict[Operand, frozenset[Value]] = {}
    others: set[Condition] = set()
    for part in parts:
        if isinstance(part, Member) and part.negated == negated:
            values[part.operand] = values.get(part.operand, frozenset()) | part.values
        else:
            others.add(part)
    return frozenset(others | {Member(operand, found, negated) for operand, found in values.items()})


def _one(kind: type[All] | type[Any], parts: frozenset[Condition], *, empty: bool) -> Condition:
    if not parts:
        return Truth(empty)
    return next(iter(parts)) if len(parts) == 1 else kind(parts)
