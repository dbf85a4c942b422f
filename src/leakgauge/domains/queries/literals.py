"""The values that stand in a predicate."""

import datetime
import math
from decimal import Decimal, InvalidOperation
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.conditions import Operand, Type, Value

LARGEST = 2**63


def is_value(tree: dict[str, Any]) -> bool:
    """Whether a constant stands here in the tree of DuckDB's parser."""
    return tree["class"] == "CONSTANT" or _older_truth(tree) is not None


def literal_of(tree: dict[str, Any]) -> Value:
    """The value of a constant."""
    if (truth := _older_truth(tree)) is not None:
        return truth
    if tree["class"] != "CONSTANT":
        raise BadInput("a value must stand on one side of a comparison, and everywhere in a list or pattern")
    kind, text = _words(tree)
    match kind:
        case "BOOLEAN":
            return text.lower() == "true"
        case "STRING":
            return text
        case "INTEGER" | "NUMERIC":
            return _number(text)
        case "NULL_LITERAL":
            raise BadInput("nothing is equal to NULL; use IS NULL")
        case _:
            raise BadInput(f"a value of the kind {kind.lower()} is not allowed; use numbers and texts")


def suited(value: Value, operand: Operand) -> Value:
    """A value as the operand would hold it; one of another type is refused, whatever the records hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match operand.type:
        case Type.WHOLE if number:
            if not abs(value) < LARGEST:  # type: ignore[arg-type]
                raise BadInput(f"{value!r} is larger than any whole number in {operand.sql}")
            return value
        case Type.REAL if number:
            return float(value)  # type: ignore[arg-type]
        case Type.TRUTH if isinstance(value, bool):
            return value
        case Type.TEXT if isinstance(value, str):
            if "\0" in value:
                raise BadInput("a text holds a zero byte; remove it")
            return value
        case Type.TIME if isinstance(value, str):
            return _time(value, operand)
    raise BadInput(f"{operand.sql} is {operand.type}, and cannot be compared with {value!r}")


def _older_truth(tree: dict[str, Any]) -> bool | None:
    """True or false as it was parsed before DuckDB 2: a letter, to be read as a truth value."""
    if tree["class"] != "CAST" or (tree.get("cast_type") or {}).get("id") != "BOOLEAN":
        return None
    return {"t": True, "f": False}.get(str((tree["child"].get("value") or {}).get("value")))


def _words(tree: dict[str, Any]) -> tuple[str, str]:
    """What kind of constant, and its text; before DuckDB 2 the value came with its SQL type."""
    if "literal" in tree:
        return tree["literal"]["kind"], str(tree["literal"]["text"])
    value = tree.get("value") or {}
    kind = str((value.get("type") or {}).get("id", "nothing"))
    if value.get("is_null"):
        return "NULL_LITERAL", ""
    if kind == "DECIMAL":
        return "NUMERIC", f"{value['value']}e-{value['type']['type_info']['scale']}"
    whole = dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "INTEGER")
    kinds = {"VARCHAR": "STRING", "DOUBLE": "NUMERIC", **whole}
    return kinds.get(kind, kind), str(value.get("value"))


def _number(text: str) -> int | float:
    try:
        exact = Decimal(text.replace("_", ""))
        value = float(exact)
    except (InvalidOperation, OverflowError):
        raise BadInput(f"{text[:40]!r} is no number that can be read") from None
    if not math.isfinite(value):
        raise BadInput(f"{text[:40]} is larger than any number")
    whole = exact == exact.to_integral_value()
    return int(exact) if whole and abs(value) < LARGEST else value


def _time(text: str, operand: Operand) -> datetime.datetime:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{operand.sql} is a time, and {text[:40]!r} is none; write 'YYYY-MM-DD HH:MM:SS'"
        ) from None
    if time.tzinfo is not None:
        raise BadInput(f"{operand.sql} is a time without a zone; leave the zone out of {text!r}")
    return time
