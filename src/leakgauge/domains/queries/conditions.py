"""Which records a query selects, in one normal form: equal conditions are equal values.

A condition that is unknown (NULL) selects nothing, as in SQL; negation has already reached the single tests.
"""

import datetime
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool | datetime.datetime


class Type(StrEnum):
    """What a column holds, as SQL calls it."""

    WHOLE = "BIGINT"
    REAL = "DOUBLE"
    TEXT = "VARCHAR"
    TRUTH = "BOOLEAN"
    TIME = "TIMESTAMP"


@dataclass(frozen=True)
class Operand:
    """A column, or an allowed function of one, as checked SQL."""

    sql: str
    type: Type


@dataclass(frozen=True)
class Truth:
    """Selects everything, or nothing."""

    holds: bool


@dataclass(frozen=True)
class Member:
    """The operand is one of the values; ``negated``: it is there and none of them."""

    operand: Operand
    values: frozenset[Value]
    negated: bool = False


@dataclass(frozen=True)
class Bound:
    """The operand is at least (``lower``) or at most a value; without it unless ``closed``."""

    operand: Operand
    value: Value
    lower: bool
    closed: bool = True


@dataclass(frozen=True)
class Pair:
    """Two operands compared by ``=``, ``<>``, ``<`` or ``<=``."""

    left: Operand
    sign: str
    right: Operand


@dataclass(frozen=True)
class Null:
    """The operand has no value; ``negated``: it has one."""

    operand: Operand
    negated: bool = False


@dataclass(frozen=True)
class Like:
    """A text matches a pattern of SQL; ``folded``: whatever the case of its letters."""

    operand: Operand
    pattern: str
    folded: bool
    negated: bool = False


@dataclass(frozen=True)
class All:
    """Every part holds."""

    parts: "frozenset[Condition]"


@dataclass(frozen=True)
class Any:
    """Some part holds."""

    parts: "frozenset[Condition]"


Condition: TypeAlias = Truth | Member | Bound | Pair | Null | Like | All | Any


def quoted(column: str) -> str:
    """A column as SQL writes it.

    >>> quoted("id")
    '"id"'
    """
    return '"' + column.replace('"', '""') + '"'


def literal(value: int | str) -> str:
    """An id as SQL writes it.

    >>> literal("O'Hara"), literal(7)
    ("'O''Hara'", '7')
    """
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
