"""Parse a predicate in SQL into a condition; DuckDB parses it, and nothing of it is ever executed."""

import datetime
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.sql.conditions import (
    BooleanConstant,
    ColumnType,
    Condition,
    IsIn,
    IsNull,
    LikePattern,
    OneSidedBound,
    Operand,
    OperandComparison,
    Value,
    quote_identifier,
)
from leakgauge.domains.queries.sql.normal_form import all_of, any_of, negate, simplify
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import lock_database, open_database

LARGEST_INTEGER = 2**63


def is_literal(tree: dict[str, Any]) -> bool:
    """Whether a constant stands here in the tree of DuckDB's parser."""
    return tree["class"] == "CONSTANT" or _boolean_before_duckdb_2(tree) is not None


def literal_of(tree: dict[str, Any]) -> Value:
    """The value of a constant."""
    if (truth := _boolean_before_duckdb_2(tree)) is not None:
        return truth
    if tree["class"] != "CONSTANT":
        raise BadInput("a value must stand on one side of a comparison, and everywhere in a list or pattern")
    kind, text = _kind_and_text(tree)
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


def coerce_to_column(value: Value, operand: Operand) -> Value:
    """A value as the operand would hold it; one of another type is refused, whatever the records hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match operand.type:
        case ColumnType.WHOLE if number:
            if not abs(value) < LARGEST_INTEGER:  # type: ignore[arg-type]
                raise BadInput(f"{value!r} is larger than any whole number in {operand.sql}")
            return value
        case ColumnType.REAL if number:
            return float(value)  # type: ignore[arg-type]
        case ColumnType.TRUTH if isinstance(value, bool):
            return value
        case ColumnType.TEXT if isinstance(value, str):
            if "\0" in value:
                raise BadInput("a text holds a zero byte; remove it")
            return value
        case ColumnType.TIME if isinstance(value, str):
            return _time(value, operand)
    raise BadInput(f"{operand.sql} is {operand.type}, and cannot be compared with {value!r}")


def _boolean_before_duckdb_2(tree: dict[str, Any]) -> bool | None:
    """True or false as it was parsed before DuckDB 2: a letter, to be read as a truth value."""
    if tree["class"] != "CAST" or (tree.get("cast_type") or {}).get("id") != "BOOLEAN":
        return None
    return {"t": True, "f": False}.get(str((tree["child"].get("value") or {}).get("value")))


def _kind_and_text(tree: dict[str, Any]) -> tuple[str, str]:
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
    return int(exact) if whole and abs(value) < LARGEST_INTEGER else value


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


ParseTree: TypeAlias = dict[str, Any]  # of DuckDB's parser

TEXT_FUNCTIONS = ("length", "lower", "upper")  # of a text; besides, the remainder of a whole number


def operand_of(tree: ParseTree, columns: Mapping[str, ColumnType]) -> Operand:
    """The column, or the function of one, that stands here."""
    if tree["class"] == "COLUMN_REF":
        return _column(tree["column_names"], columns)
    if tree["class"] == "FUNCTION":
        return _function(tree, lambda part: operand_of(part, columns))
    raise not_allowed(tree)


def _column(names: list[str], columns: Mapping[str, ColumnType]) -> Operand:
    if len(names) != 1:
        raise BadInput(f"{'.'.join(names)} is not a column of the table; write a column alone")
    spelling = {column.lower(): column for column in columns}
    require_known(names[0].lower(), list(spelling), "no column")
    column = spelling[names[0].lower()]
    return Operand(quote_identifier(column), columns[column])


def _function(tree: ParseTree, operand: Callable[[ParseTree], Operand]) -> Operand:
    name, arguments = str(tree["function_name"]).lower(), arguments_of(tree)
    if name == "%" and len(arguments) == 2:
        number, divisor = operand(arguments[0]), literal_of(arguments[1])
        if number.type is not ColumnType.WHOLE or isinstance(divisor, bool) or not isinstance(divisor, int):
            raise BadInput("% takes a column of whole numbers and a whole number")
        if not 0 < divisor < 2**63:
            raise BadInput(f"% {divisor}: the divisor must be > 0")
        return Operand(f"({number.sql} % {divisor})", ColumnType.WHOLE)
    if name not in TEXT_FUNCTIONS:
        raise BadInput(f"{name} is no function that is allowed; allowed: %, {', '.join(TEXT_FUNCTIONS)}")
    if len(arguments) != 1 or (text := operand(arguments[0])).type is not ColumnType.TEXT:
        raise BadInput(f"{name} takes one text")
    return Operand(f"{name}({text.sql})", ColumnType.WHOLE if name == "length" else ColumnType.TEXT)


def arguments_of(tree: ParseTree) -> list[ParseTree]:
    """What a function is applied to; refuses what aggregates and windows add."""
    if tree.get("filter") or tree.get("distinct") or (tree.get("order_bys") or {}).get("orders"):
        raise BadInput(f"{tree['function_name']} is used as an aggregate; predicates are about one record")
    if tree.get("schema") or tree.get("catalog"):
        raise BadInput(f"{tree['function_name']} is called in a schema; write its name alone")
    if "arguments" in tree:
        if any(argument.get("name") for argument in tree["arguments"]):
            raise BadInput(f"{tree['function_name']} takes no named arguments")
        return [argument["expression"] for argument in tree["arguments"]]
    return list(tree["children"])  # before DuckDB 2


def not_allowed(tree: ParseTree) -> BadInput:
    """What to say of a part of a predicate that is not allowed."""
    what = {
        "SUBQUERY": "a query inside",
        "WINDOW": "a window",
        "PARAMETER": "a parameter",
        "STAR": "a star",
        "CAST": "a cast",
        "CASE": "a case",
        "LAMBDA": "a lambda",
        "CONSTANT": "a value where a column belongs",
        "FUNCTION": f"the function {str(tree.get('function_name', '')).lower()}",
    }.get(tree["class"], str(tree["type"]).lower().replace("_", " "))
    return BadInput(
        f"holds {what}, which is not allowed; compare columns with values by =, <, IN, BETWEEN, LIKE or "
        "IS NULL, and join tests by AND, OR and NOT"
    )


# A predicate as DuckDB's parser sees it becomes a condition; what is not known to be harmless is refused.
#
# No condition can fail on some records and not on others, so that errors tell nothing of the data.


_LIKES = {"~~": (False, False), "!~~": (False, True), "~~*": (True, False), "!~~*": (True, True)}
_BOUNDS = {  # whether the left is the greater one, and whether they may be equal
    "COMPARE_LESSTHAN": (False, False),
    "COMPARE_LESSTHANOREQUALTO": (False, True),
    "COMPARE_GREATERTHAN": (True, False),
    "COMPARE_GREATERTHANOREQUALTO": (True, True),
}


def condition_of(tree: ParseTree, columns: Mapping[str, ColumnType]) -> Condition:
    """The condition that a parsed predicate stands for; negations are carried through to its tests."""

    def inner(part: ParseTree) -> Condition:
        return condition_of(part, columns)

    match tree["class"], tree["type"]:
        case "CONJUNCTION", "CONJUNCTION_AND":
            return all_of([inner(part) for part in tree["children"]])
        case "CONJUNCTION", "CONJUNCTION_OR":
            return any_of([inner(part) for part in tree["children"]])
        case "OPERATOR", "OPERATOR_NOT":
            return negate(inner(tree["children"][0]))
        case "OPERATOR", ("OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL") as kind:
            return IsNull(operand_of(tree["children"][0], columns), negated=kind == "OPERATOR_IS_NOT_NULL")
        case "OPERATOR", ("COMPARE_IN" | "COMPARE_NOT_IN") as kind:
            found = _listed(tree["children"], columns)
            return found if kind == "COMPARE_IN" else negate(found)
        case "COMPARISON", kind:
            return _comparison(kind, tree["left"], tree["right"], columns)
        case "BETWEEN", "COMPARE_BETWEEN":
            low = _comparison("COMPARE_GREATERTHANOREQUALTO", tree["input"], tree["lower"], columns)
            high = _comparison("COMPARE_LESSTHANOREQUALTO", tree["input"], tree["upper"], columns)
            return all_of([low, high])
        case "FUNCTION", _ if tree["function_name"] in _LIKES:
            return _like(tree, columns)
        case kind, _ if kind == "COLUMN_REF" or is_literal(tree):
            return _boolean_column_or_literal(tree, columns)
        case _:
            raise not_allowed(tree)


def _boolean_column_or_literal(tree: ParseTree, columns: Mapping[str, ColumnType]) -> Condition:
    if is_literal(tree):
        if isinstance(value := literal_of(tree), bool):
            return BooleanConstant(value)
        raise BadInput(f"{value!r} is neither true nor false; compare something")
    operand = operand_of(tree, columns)
    if operand.type is not ColumnType.TRUTH:
        raise BadInput(f"{operand.sql} is neither true nor false; compare it with something")
    return IsIn(operand, frozenset({True}))


def _comparison(kind: str, left: ParseTree, right: ParseTree, columns: Mapping[str, ColumnType]) -> Condition:
    if kind not in _BOUNDS and kind not in ("COMPARE_EQUAL", "COMPARE_NOTEQUAL"):
        raise BadInput(
            f"{kind.removeprefix('COMPARE_').lower()} is no comparison that is allowed; use = or <"
        )
    if is_literal(left) and is_literal(right):
        return _constants(kind, left, right)
    if is_literal(left):
        turned = kind.replace("LESS", "?").replace("GREATER", "LESS").replace("?", "GREATER")
        return _comparison(turned, right, left, columns)
    operand = operand_of(left, columns)
    if not is_literal(right):
        return _pair(kind, operand, operand_of(right, columns))
    value = coerce_to_column(literal_of(right), operand)
    if kind not in _BOUNDS:
        return IsIn(operand, frozenset({value}), negated=kind == "COMPARE_NOTEQUAL")
    lower, closed = _BOUNDS[kind]
    if operand.type is ColumnType.TRUTH:
        raise BadInput(f"{operand.sql} is true or false; use =")
    return OneSidedBound(operand, value, lower, closed)


def _constants(kind: str, left: ParseTree, right: ParseTree) -> BooleanConstant:
    one, other = literal_of(left), literal_of(right)
    if isinstance(one, str) != isinstance(other, str) or isinstance(one, bool) != isinstance(other, bool):
        raise BadInput(f"{one!r} and {other!r} cannot be compared")
    if kind not in _BOUNDS:
        return BooleanConstant((one == other) == (kind == "COMPARE_EQUAL"))
    greater, closed = _BOUNDS[kind]
    return BooleanConstant((one > other if greater else one < other) or (closed and one == other))  # type: ignore[operator]


def _pair(kind: str, left: Operand, right: Operand) -> Condition:
    numbers = {ColumnType.WHOLE, ColumnType.REAL}
    if left.type is not right.type and not {left.type, right.type} <= numbers:
        raise BadInput(f"{left.sql} and {right.sql} cannot be compared: {left.type} and {right.type}")
    if kind not in _BOUNDS:
        first, second = sorted((left, right), key=repr)
        return OperandComparison(first, "=" if kind == "COMPARE_EQUAL" else "<>", second)
    greater, closed = _BOUNDS[kind]
    low, high = (right, left) if greater else (left, right)
    return OperandComparison(low, "<=" if closed else "<", high)


def _listed(children: list[ParseTree], columns: Mapping[str, ColumnType]) -> Condition:
    operand = operand_of(children[0], columns)
    return IsIn(operand, frozenset(coerce_to_column(literal_of(child), operand) for child in children[1:]))


def _like(tree: ParseTree, columns: Mapping[str, ColumnType]) -> Condition:
    text, pattern = arguments_of(tree)
    operand, value = operand_of(text, columns), literal_of(pattern)
    if operand.type is not ColumnType.TEXT or not isinstance(value, str):
        raise BadInput(f"LIKE compares a text with a pattern; {operand.sql} is {operand.type}")
    folded, negated = _LIKES[tree["function_name"]]
    return LikePattern(operand, str(coerce_to_column(value, operand)), folded, negated)


# Predicates in SQL, checked: one condition on the columns of the table, and nothing else.
#
# DuckDB parses the text; nothing of it is ever executed. Of the tree that comes back, what is known to be
# harmless becomes a condition, and everything else is refused.


LONGEST_PREDICATE = 1_000_000
DEEPEST_NESTING = 100
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")


def parse_predicate(text: str, columns: Mapping[str, ColumnType]) -> Condition:
    """The condition that a text stands for; texts that say the same in other words mostly give the same."""
    try:
        return simplify(condition_of(_where(text), columns))
    except BadInput as error:
        raise BadInput(f"where = {_excerpt(text)}: {error}") from None
    except RecursionError:
        raise BadInput(f"where = {_excerpt(text)}: is nested too deeply; use fewer brackets") from None


def _excerpt(text: str) -> str:
    return repr(text) if len(text) <= 80 else repr(text[:77]) + "..."


def _where(text: str) -> ParseTree:
    """Parse a text as what follows WHERE; anything that would change the rest of the query is refused."""
    import duckdb

    if len(text) > LONGEST_PREDICATE:
        raise BadInput(f"has {len(text)} letters; at most {LONGEST_PREDICATE} are read; ask by ids instead")
    if not text.strip():
        raise BadInput("is empty; leave it out to select all records")
    bare = _QUOTED.sub("", text)
    if "--" in bare or "/*" in bare:
        raise BadInput("holds a comment; write the predicate alone")
    if bare.rstrip().endswith(";"):
        raise BadInput("ends with a semicolon; write the predicate alone")
    try:
        text.encode()
        found = _parsed(f"SELECT 1 WHERE {text}")
    except (duckdb.Error, UnicodeError) as error:
        raise BadInput(
            f"is no SQL: {_first_line(str(error))}; write what follows WHERE, as in age >= 30"
        ) from None
    if found.get("error"):
        _refuse_statement(str(found.get("error_message", "")))
    statements = found["statements"]
    if len(statements) != 1:
        raise BadInput("holds more than one statement; write one predicate")
    node = dict(statements[0]["node"])
    where = node.pop("where_clause", None)
    rest = dict(_parsed("SELECT 1 WHERE true")["statements"][0]["node"])
    rest.pop("where_clause")
    if where is None or _without_positions(node) != _without_positions(rest):
        raise BadInput("is more than a predicate; write only what follows WHERE, without other clauses")
    return where


def _refuse_statement(said: str) -> NoReturn:
    if "Only SELECT" in said:
        raise BadInput("holds a statement besides the predicate; write one predicate")
    if "expression depth" in said:
        raise BadInput(f"is nested more than {DEEPEST_NESTING} deep; write it with fewer brackets")
    raise BadInput(f"is no predicate: {_first_line(said)}; write only what follows WHERE, as in age >= 30")


def _first_line(said: str) -> str:
    return said.partition("\n")[0].rstrip(" !.")


def _parsed(sql: str) -> ParseTree:
    (text,) = _parser().execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()[0]
    return json.loads(text)


@lru_cache(maxsize=1)
def _parser() -> Any:
    connection = open_database()
    connection.execute(f"SET max_expression_depth = {DEEPEST_NESTING}")
    return lock_database(connection)


def _without_positions(tree: Any) -> Any:
    """A tree without the positions of its words."""
    if isinstance(tree, dict):
        return {
            key: _without_positions(part)
            for key, part in tree.items()
            if not key.startswith("query_location")
        }
    return [_without_positions(part) for part in tree] if isinstance(tree, list) else tree
