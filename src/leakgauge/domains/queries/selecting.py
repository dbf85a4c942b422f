"""A condition as SQL that selects its records: operands that were checked, signs from here, values apart."""

import datetime
from collections.abc import Iterable

from leakgauge.domains.queries.conditions import (
    All,
    Any,
    Bound,
    Condition,
    Like,
    Member,
    Null,
    Pair,
    Truth,
    Value,
)

_SIGNS = {(True, True): ">=", (True, False): ">", (False, True): "<=", (False, False): "<"}


def selecting(condition: Condition) -> tuple[str, list[str]]:
    """What follows WHERE, and the texts that its question marks stand for.

    >>> from leakgauge.domains.queries.conditions import Operand, Type
    >>> selecting(Member(Operand('"region"', Type.TEXT), frozenset({"north"})))
    ('("region" IN (?))', ['north'])
    """
    texts: list[str] = []
    return _sql(condition, texts), texts


def _sql(condition: Condition, texts: list[str]) -> str:
    match condition:
        case Truth(holds):
            return "true" if holds else "false"
        case Member(operand, values, negated):
            word = "NOT IN" if negated else "IN"
            return f"({operand.sql} {word} ({', '.join(_listed(values, texts))}))"
        case Bound(operand, value, lower, closed):
            return f"({operand.sql} {_SIGNS[lower, closed]} {_value(value, texts)})"
        case Pair(left, sign, right):
            return f"({left.sql} {sign} {right.sql})"
        case Null(operand, negated):
            return f"({operand.sql} IS {'NOT ' if negated else ''}NULL)"
        case Like(operand, pattern, folded, negated):
            word = ("NOT " if negated else "") + ("ILIKE" if folded else "LIKE")
            return f"({operand.sql} {word} {_value(pattern, texts)})"
        case All(parts):
            return "(" + " AND ".join(_sql(part, texts) for part in _ordered(parts)) + ")"
        case Any(parts):
            return "(" + " OR ".join(_sql(part, texts) for part in _ordered(parts)) + ")"


def _ordered(parts: Iterable[Condition]) -> list[Condition]:
    return sorted(parts, key=repr)


def _listed(values: Iterable[Value], texts: list[str]) -> list[str]:
    return [_value(value, texts) for value in sorted(values, key=repr)]


def _value(value: Value, texts: list[str]) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"CAST({value} AS BIGINT)" if -(2**63) <= value < 2**63 else f"CAST({value} AS HUGEINT)"
        case float():
            return f"CAST({value!r} AS DOUBLE)" if "e" in repr(value) else f"{value!r}e0"
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case str():
            texts.append(value)
            return "?"
