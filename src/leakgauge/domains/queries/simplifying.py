"""The last touches to a condition, when negations have reached its tests: the same becomes the same."""

import math
from dataclasses import replace

from leakgauge.domains.queries.conditions import (
    All,
    Any,
    Bound,
    Condition,
    Member,
    Null,
    Truth,
    Type,
)
from leakgauge.domains.queries.logic import all_of, any_of


def simplified(condition: Condition) -> Condition:
    """A condition that selects the same records.

    Bounds of whole numbers are whole and closed; numbers that a column cannot hold are left out of its
    values; of two truth values, none but one is the other. Unknown may become false: both select nothing.
    """
    match condition:
        case All(parts):
            return all_of(map(simplified, parts))
        case Any(parts):
            return any_of(map(simplified, parts))
        case Bound() if condition.operand.type is Type.WHOLE:
            return _whole_bound(condition)
        case Member() if condition.operand.type is Type.WHOLE:
            return _accepting(replace(condition, values=frozenset(v for v in condition.values if _whole(v))))
        case Member() if condition.operand.type is Type.TRUTH and condition.negated:
            return _accepting(
                Member(condition.operand, frozenset({True, False}) - condition.values, negated=False)
            )
        case Member():
            return _accepting(condition)
        case _:
            return condition


def _accepting(condition: Member) -> Condition:
    if condition.values:
        return condition
    return Null(condition.operand, negated=True) if condition.negated else Truth(False)


def _whole(value: object) -> bool:
    return isinstance(value, int | float) and value == math.floor(value)


def _whole_bound(bound: Bound) -> Bound:
    value = bound.value
    assert isinstance(value, int | float)
    if bound.lower:
        least = math.ceil(value) if bound.closed else math.floor(value) + 1
        return Bound(bound.operand, least, lower=True)
    most = math.floor(value) if bound.closed else math.ceil(value) - 1
    return Bound(bound.operand, most, lower=False)
