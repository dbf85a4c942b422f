"""Conditions on the columns of a table, as frozen values, and the SQL that selects their records."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool | datetime.datetime

_SIGNS = {(True, True): ">=", (True, False): ">", (False, True): "<=", (False, False): "<"}


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


def quote_literal(value: int | str) -> str:
    """Return an id as an SQL literal.

    >>> quote_literal("O'Hara"), quote_literal(7)
    ("'O''Hara'", '7')
    """
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


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
