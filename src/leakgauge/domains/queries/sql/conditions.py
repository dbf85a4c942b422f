"""Conditions on the columns of a table, as frozen values, and the SQL that selects their records.

In its normal form a condition has nested parts flattened, negations moved inwards and values simplified.
Whether two conditions can select the same record is decided from the conditions alone.
"""

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool | datetime.datetime

_SIGNS = {(True, True): ">=", (True, False): ">", (False, True): "<=", (False, False): "<"}
_OPPOSITE = {"=": "<>", "<>": "="}


class ColumnType(StrEnum):
    """The SQL type of a column."""

    WHOLE = "BIGINT"
    REAL = "DOUBLE"
    TEXT = "VARCHAR"
    TRUTH = "BOOLEAN"
    TIME = "TIMESTAMP"


@dataclass(frozen=True)
class Operand:
    """A column, or an allowed function of one, as checked SQL."""

    sql: str
    type: ColumnType


@dataclass(frozen=True)
class BooleanConstant:
    """Selects everything, or nothing."""

    holds: bool


@dataclass(frozen=True)
class IsIn:
    """The operand is one of the values; ``negated``: it is not null and none of them."""

    operand: Operand
    values: frozenset[Value]
    negated: bool = False


@dataclass(frozen=True)
class OneSidedBound:
    """The operand is at least (``lower``) or at most a value; the value is included if ``closed``."""

    operand: Operand
    value: Value
    lower: bool
    closed: bool = True


@dataclass(frozen=True)
class OperandComparison:
    """Two operands compared by ``=``, ``<>``, ``<`` or ``<=``."""

    left: Operand
    sign: str
    right: Operand


@dataclass(frozen=True)
class IsNull:
    """The operand is null; ``negated``: it is not null."""

    operand: Operand
    negated: bool = False


@dataclass(frozen=True)
class LikePattern:
    """A text matches a LIKE pattern; ``folded``: ignoring case."""

    operand: Operand
    pattern: str
    folded: bool
    negated: bool = False


@dataclass(frozen=True)
class And:
    """Every part holds."""

    parts: "frozenset[Condition]"


@dataclass(frozen=True)
class Or:
    """Some part holds."""

    parts: "frozenset[Condition]"


Condition: TypeAlias = (
    BooleanConstant | IsIn | OneSidedBound | OperandComparison | IsNull | LikePattern | And | Or
)


def quote_identifier(column: str) -> str:
    """Return a column name quoted for SQL.

    >>> quote_identifier("id")
    '"id"'
    """
    return '"' + column.replace('"', '""') + '"'


def quote_literal(value: Value) -> str:
    """Return a value as an SQL literal; a time is a text.

    >>> quote_literal("O'Hara"), quote_literal(7), quote_literal(1.5), quote_literal(True)
    ("'O''Hara'", '7', '1.5', 'TRUE')
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.datetime():
            return f"'{value.isoformat(sep=' ')}'"
        case _:
            return repr(value)


def where_clause(condition: Condition) -> tuple[str, list[str]]:
    """Return the SQL after WHERE, and the texts for its question marks.

    >>> where_clause(IsIn(Operand('"region"', ColumnType.TEXT), frozenset({"north"})))
    ('("region" IN (?))', ['north'])
    """
    texts: list[str] = []
    return _sql(condition, texts), texts


def _sql(condition: Condition, texts: list[str]) -> str:
    match condition:
        case BooleanConstant(holds):
            return "true" if holds else "false"
        case IsIn(operand, values, negated):
            operator = "NOT IN" if negated else "IN"
            return f"({operand.sql} {operator} ({', '.join(_listed(values, texts))}))"
        case OneSidedBound(operand, value, lower, closed):
            return f"({operand.sql} {_SIGNS[lower, closed]} {_value(value, texts)})"
        case OperandComparison(left, sign, right):
            return f"({left.sql} {sign} {right.sql})"
        case IsNull(operand, negated):
            return f"({operand.sql} IS {'NOT ' if negated else ''}NULL)"
        case LikePattern(operand, pattern, folded, negated):
            operator = ("NOT " if negated else "") + ("ILIKE" if folded else "LIKE")
            return f"({operand.sql} {operator} {_value(pattern, texts)})"
        case And(parts):
            return "(" + " AND ".join(_sql(part, texts) for part in _ordered(parts)) + ")"
        case Or(parts):
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


@dataclass(frozen=True)
class ValueRange:
    """The values that an operand can have: members of a set, between two bounds."""

    values: frozenset[Value] | None = None
    low: OneSidedBound | None = None
    high: OneSidedBound | None = None

    def within(self, other: "ValueRange") -> "ValueRange":
        """Return the intersection of two ranges."""
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = self.values & other.values
        return ValueRange(values, _tighter(self.low, other.low), _tighter(self.high, other.high))

    @property
    def empty(self) -> bool:
        """Whether no value is possible."""
        if self.values is not None:
            return not any(
                _satisfies(value, self.low) and _satisfies(value, self.high) for value in self.values
            )
        if self.low is None or self.high is None:
            return False
        low, high = self.low.value, self.high.value
        return low > high or (low == high and not (self.low.closed and self.high.closed))  # type: ignore[operator]


def value_ranges(condition: Condition) -> dict[Operand, ValueRange]:
    """Return necessary ranges of single operands; the condition may be stricter.

    >>> from leakgauge.domains.queries.sql.conditions import ColumnType
    >>> age = Operand('"age"', ColumnType.WHOLE)
    >>> value_ranges(OneSidedBound(age, 30, lower=True))[age].low.value
    30
    """
    match condition:
        case IsIn(operand, values, False):
            return {operand: ValueRange(values)}
        case OneSidedBound(operand, _, lower, _):
            return {operand: ValueRange(low=condition) if lower else ValueRange(high=condition)}
        case And(parts):
            ranges: dict[Operand, ValueRange] = {}
            for part in parts:
                for operand, span in value_ranges(part).items():
                    ranges[operand] = ranges.get(operand, ValueRange()).within(span)
            return ranges
        case _:
            return {}


def are_disjoint(first: dict[Operand, ValueRange], other: dict[Operand, ValueRange]) -> bool:
    """Return whether no record can satisfy both, because some operand would need two values.

    False may also mean that this is unknown.
    """
    return any(first[operand].within(other[operand]).empty for operand in first.keys() & other.keys())


def _tighter(first: OneSidedBound | None, other: OneSidedBound | None) -> OneSidedBound | None:
    if first is None or other is None:
        return first or other
    if first.value == other.value:
        return other if first.closed else first
    return first if (first.value > other.value) == first.lower else other  # type: ignore[operator]


def _satisfies(value: Value, bound: OneSidedBound | None) -> bool:
    if bound is None or value == bound.value:
        return bound is None or bound.closed
    return (value > bound.value) == bound.lower  # type: ignore[operator]
