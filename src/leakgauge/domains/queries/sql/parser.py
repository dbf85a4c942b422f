"""Parse a predicate in SQL into a condition on the columns of the table.

DuckDB parses the text, which is never executed. Those parts of the parse tree that are known to be harmless
become a condition; everything else is refused. No condition can fail on some records and not on others, so
errors reveal nothing about the data.
"""

import datetime
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.sql import conditions
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import lock_database, open_database

ParseTree: TypeAlias = dict[str, Any]  # of DuckDB's parser

LARGEST_INTEGER = 2**63
LONGEST_PREDICATE = 1_000_000
DEEPEST_NESTING = 100
TEXT_FUNCTIONS = ("length", "lower", "upper")  # allowed besides %, the remainder of a whole number
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_LIKES = {"~~": (False, False), "!~~": (False, True), "~~*": (True, False), "!~~*": (True, True)}
_BOUNDS = {  # whether the left is the greater one, and whether they may be equal
    "COMPARE_LESSTHAN": (False, False),
    "COMPARE_LESSTHANOREQUALTO": (False, True),
    "COMPARE_GREATERTHAN": (True, False),
    "COMPARE_GREATERTHANOREQUALTO": (True, True),
}


def is_literal(tree: dict[str, Any]) -> bool:
    """Return whether a node of DuckDB's parse tree is a constant."""
    return tree["class"] == "CONSTANT" or _boolean_before_duckdb_2(tree) is not None


def literal_of(tree: dict[str, Any]) -> conditions.Value:
    """Return the value of a constant."""
    if (truth := _boolean_before_duckdb_2(tree)) is not None:
        return truth
    if tree["class"] != "CONSTANT":
        raise BadInput(
            "one side of a comparison must be a value, and so must every item of a list and a pattern"
        )
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


def coerce_to_column(value: conditions.Value, operand: conditions.Operand) -> conditions.Value:
    """Convert a value to the type of an operand; other types are refused, whatever the records are."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match operand.type:
        case conditions.ColumnType.WHOLE if number:
            if not abs(value) < LARGEST_INTEGER:  # type: ignore[arg-type]
                raise BadInput(
                    f"{value!r} is larger than any whole number in {operand.sql}; use a smaller one"
                )
            return value
        case conditions.ColumnType.REAL if number:
            return float(value)  # type: ignore[arg-type]
        case conditions.ColumnType.TRUTH if isinstance(value, bool):
            return value
        case conditions.ColumnType.TEXT if isinstance(value, str):
            if "\0" in value:
                raise BadInput("a text contains a zero byte; remove it")
            return value
        case conditions.ColumnType.TIME if isinstance(value, str):
            return _time(value, operand)
    raise BadInput(
        f"{operand.sql} is {operand.type} and cannot be compared with {value!r}; use a value of that type"
    )


def _boolean_before_duckdb_2(tree: dict[str, Any]) -> bool | None:
    """Read true or false as parsed before DuckDB 2: a letter that is cast to a truth value."""
    if tree["class"] != "CAST" or (tree.get("cast_type") or {}).get("id") != "BOOLEAN":
        return None
    return {"t": True, "f": False}.get(str((tree["child"].get("value") or {}).get("value")))


def _kind_and_text(tree: dict[str, Any]) -> tuple[str, str]:
    """Return the kind and the text of a constant; before DuckDB 2 it had an SQL type instead."""
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
        raise BadInput(f"{text[:40]!r} is not a readable number; fix it") from None
    if not math.isfinite(value):
        raise BadInput(f"{text[:40]} is larger than any number; use a smaller one")
    whole = exact == exact.to_integral_value()
    return int(exact) if whole and abs(value) < LARGEST_INTEGER else value


def _time(text: str, operand: conditions.Operand) -> datetime.datetime:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{operand.sql} is a time, and {text[:40]!r} is not; write 'YYYY-MM-DD HH:MM:SS'"
        ) from None
    if time.tzinfo is not None:
        raise BadInput(f"{operand.sql} is a time without a zone; leave the zone out of {text!r}")
    return time


def operand_of(tree: ParseTree, columns: Mapping[str, conditions.ColumnType]) -> conditions.Operand:
    """Return the column, or the function of a column, at a node."""
    if tree["class"] == "COLUMN_REF":
        return _column(tree["column_names"], columns)
    if tree["class"] == "FUNCTION":
        return _function(tree, lambda part: operand_of(part, columns))
    raise not_allowed(tree)


def _column(names: list[str], columns: Mapping[str, conditions.ColumnType]) -> conditions.Operand:
    if len(names) != 1:
        raise BadInput(f"{'.'.join(names)} is not a column of the table; write only the column")
    spelling = {column.lower(): column for column in columns}
    require_known(names[0].lower(), list(spelling), "no column")
    column = spelling[names[0].lower()]
    return conditions.Operand(conditions.quote_identifier(column), columns[column])


def _function(tree: ParseTree, operand: Callable[[ParseTree], conditions.Operand]) -> conditions.Operand:
    name, arguments = str(tree["function_name"]).lower(), arguments_of(tree)
    if name == "%" and len(arguments) == 2:
        number, divisor = operand(arguments[0]), literal_of(arguments[1])
        if (
            number.type is not conditions.ColumnType.WHOLE
            or isinstance(divisor, bool)
            or not isinstance(divisor, int)
        ):
            raise BadInput("% needs a column of whole numbers and a whole number")
        if not 0 < divisor < 2**63:
            raise BadInput(f"% {divisor}: the divisor must be > 0")
        return conditions.Operand(f"({number.sql} % {divisor})", conditions.ColumnType.WHOLE)
    if name not in TEXT_FUNCTIONS:
        raise BadInput(f"{name} is not an allowed function; allowed: %, {', '.join(TEXT_FUNCTIONS)}")
    if len(arguments) != 1 or (text := operand(arguments[0])).type is not conditions.ColumnType.TEXT:
        raise BadInput(f"{name} needs one text column")
    return conditions.Operand(
        f"{name}({text.sql})", conditions.ColumnType.WHOLE if name == "length" else conditions.ColumnType.TEXT
    )


def arguments_of(tree: ParseTree) -> list[ParseTree]:
    """Return the arguments of a function; clauses of aggregates and windows are refused."""
    if tree.get("filter") or tree.get("distinct") or (tree.get("order_bys") or {}).get("orders"):
        raise BadInput(f"{tree['function_name']} is used as an aggregate; a predicate is about one record")
    if tree.get("schema") or tree.get("catalog"):
        raise BadInput(f"{tree['function_name']} is called in a schema; write only its name")
    if "arguments" in tree:
        if any(argument.get("name") for argument in tree["arguments"]):
            raise BadInput(f"{tree['function_name']} takes no named arguments")
        return [argument["expression"] for argument in tree["arguments"]]
    return list(tree["children"])  # before DuckDB 2


def not_allowed(tree: ParseTree) -> BadInput:
    """Return the error for a part of a predicate that is not allowed."""
    part_name = {
        "SUBQUERY": "a subquery",
        "WINDOW": "a window",
        "PARAMETER": "a parameter",
        "STAR": "a star",
        "CAST": "a cast",
        "CASE": "a case",
        "LAMBDA": "a lambda",
        "CONSTANT": "a value in place of a column",
        "FUNCTION": f"the function {str(tree.get('function_name', '')).lower()}",
    }.get(tree["class"], str(tree["type"]).lower().replace("_", " "))
    return BadInput(
        f"contains {part_name}, which is not allowed; compare columns with values by =, <, IN, BETWEEN, LIKE "
        "or IS NULL, and join tests by AND, OR and NOT"
    )


def condition_of(tree: ParseTree, columns: Mapping[str, conditions.ColumnType]) -> conditions.Condition:
    """Return the condition of a parsed predicate; negations are moved to its tests."""

    def inner(part: ParseTree) -> conditions.Condition:
        return condition_of(part, columns)

    match tree["class"], tree["type"]:
        case "CONJUNCTION", "CONJUNCTION_AND":
            return conditions.all_of([inner(part) for part in tree["children"]])
        case "CONJUNCTION", "CONJUNCTION_OR":
            return conditions.any_of([inner(part) for part in tree["children"]])
        case "OPERATOR", "OPERATOR_NOT":
            return conditions.negate(inner(tree["children"][0]))
        case "OPERATOR", ("OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL") as kind:
            return conditions.IsNull(
                operand_of(tree["children"][0], columns), negated=kind == "OPERATOR_IS_NOT_NULL"
            )
        case "OPERATOR", ("COMPARE_IN" | "COMPARE_NOT_IN") as kind:
            condition = _listed(tree["children"], columns)
            return condition if kind == "COMPARE_IN" else conditions.negate(condition)
        case "COMPARISON", kind:
            return _comparison(kind, tree["left"], tree["right"], columns)
        case "BETWEEN", "COMPARE_BETWEEN":
            low = _comparison("COMPARE_GREATERTHANOREQUALTO", tree["input"], tree["lower"], columns)
            high = _comparison("COMPARE_LESSTHANOREQUALTO", tree["input"], tree["upper"], columns)
            return conditions.all_of([low, high])
        case "FUNCTION", _ if tree["function_name"] in _LIKES:
            return _like(tree, columns)
        case kind, _ if kind == "COLUMN_REF" or is_literal(tree):
            return _boolean_column_or_literal(tree, columns)
        case _:
            raise not_allowed(tree)


def _boolean_column_or_literal(
    tree: ParseTree, columns: Mapping[str, conditions.ColumnType]
) -> conditions.Condition:
    if is_literal(tree):
        if isinstance(value := literal_of(tree), bool):
            return conditions.BooleanConstant(value)
        raise BadInput(f"{value!r} is neither true nor false; write a comparison")
    operand = operand_of(tree, columns)
    if operand.type is not conditions.ColumnType.TRUTH:
        raise BadInput(f"{operand.sql} is neither true nor false; compare it with a value")
    return conditions.IsIn(operand, frozenset({True}))


def _comparison(
    kind: str, left: ParseTree, right: ParseTree, columns: Mapping[str, conditions.ColumnType]
) -> conditions.Condition:
    if kind not in _BOUNDS and kind not in ("COMPARE_EQUAL", "COMPARE_NOTEQUAL"):
        raise BadInput(f"{kind.removeprefix('COMPARE_').lower()} is not an allowed comparison; use = or <")
    if is_literal(left) and is_literal(right):
        return _constants(kind, left, right)
    if is_literal(left):
        mirrored = kind.replace("LESS", "?").replace("GREATER", "LESS").replace("?", "GREATER")
        return _comparison(mirrored, right, left, columns)
    operand = operand_of(left, columns)
    if not is_literal(right):
        return _pair(kind, operand, operand_of(right, columns))
    value = coerce_to_column(literal_of(right), operand)
    if kind not in _BOUNDS:
        return conditions.IsIn(operand, frozenset({value}), negated=kind == "COMPARE_NOTEQUAL")
    lower, closed = _BOUNDS[kind]
    if operand.type is conditions.ColumnType.TRUTH:
        raise BadInput(f"{operand.sql} is true or false; use =")
    return conditions.OneSidedBound(operand, value, lower, closed)


def _constants(kind: str, left: ParseTree, right: ParseTree) -> conditions.BooleanConstant:
    first, other = literal_of(left), literal_of(right)
    if isinstance(first, str) != isinstance(other, str) or isinstance(first, bool) != isinstance(other, bool):
        raise BadInput(f"{first!r} and {other!r} cannot be compared")
    if kind not in _BOUNDS:
        return conditions.BooleanConstant((first == other) == (kind == "COMPARE_EQUAL"))
    greater, closed = _BOUNDS[kind]
    beyond = first > other if greater else first < other  # type: ignore[operator]
    return conditions.BooleanConstant(beyond or (closed and first == other))


def _pair(kind: str, left: conditions.Operand, right: conditions.Operand) -> conditions.Condition:
    numbers = {conditions.ColumnType.WHOLE, conditions.ColumnType.REAL}
    if left.type is not right.type and not {left.type, right.type} <= numbers:
        raise BadInput(
            f"{left.sql} and {right.sql} cannot be compared: they are {left.type} and {right.type}"
        )
    if kind not in _BOUNDS:
        first, second = sorted((left, right), key=repr)
        return conditions.OperandComparison(first, "=" if kind == "COMPARE_EQUAL" else "<>", second)
    greater, closed = _BOUNDS[kind]
    low, high = (right, left) if greater else (left, right)
    return conditions.OperandComparison(low, "<=" if closed else "<", high)


def _listed(children: list[ParseTree], columns: Mapping[str, conditions.ColumnType]) -> conditions.Condition:
    operand = operand_of(children[0], columns)
    return conditions.IsIn(
        operand, frozenset(coerce_to_column(literal_of(child), operand) for child in children[1:])
    )


def _like(tree: ParseTree, columns: Mapping[str, conditions.ColumnType]) -> conditions.Condition:
    text, pattern = arguments_of(tree)
    operand, value = operand_of(text, columns), literal_of(pattern)
    if operand.type is not conditions.ColumnType.TEXT or not isinstance(value, str):
        raise BadInput(f"LIKE compares a text with a pattern; {operand.sql} is {operand.type}")
    folded, negated = _LIKES[tree["function_name"]]
    return conditions.LikePattern(operand, str(coerce_to_column(value, operand)), folded, negated)


def parse_predicate(text: str, columns: Mapping[str, conditions.ColumnType]) -> conditions.Condition:
    """Parse a text into a condition in normal form; most equivalent texts give the same condition."""
    try:
        return conditions.simplify(condition_of(_parse_where(text), columns))
    except BadInput as error:
        raise BadInput(f"where = {_excerpt(text)}: {error}") from None
    except RecursionError:
        raise BadInput(f"where = {_excerpt(text)}: is nested too deeply; use fewer brackets") from None


def _excerpt(text: str) -> str:
    return repr(text) if len(text) <= 80 else repr(text[:77]) + "..."


def _parse_where(text: str) -> ParseTree:
    """Parse a text as what follows WHERE; refuse anything that changes the rest of the query."""
    import duckdb

    if len(text) > LONGEST_PREDICATE:
        raise BadInput(f"has {len(text)} characters, more than {LONGEST_PREDICATE}; select by ids instead")
    if not text.strip():
        raise BadInput("is empty; leave it out to select all records")
    bare = _QUOTED.sub("", text)
    if "--" in bare or "/*" in bare:
        raise BadInput("contains a comment; write only the predicate")
    if bare.rstrip().endswith(";"):
        raise BadInput("ends with a semicolon; write only the predicate")
    if _bracket_depth(bare) > DEEPEST_NESTING:  # the parser would take very long to say so
        _refuse_statement("expression depth")
    try:
        text.encode()
        parsed = _parsed(f"SELECT 1 WHERE {text}")
    except (duckdb.Error, UnicodeError) as error:
        raise BadInput(
            f"is not valid SQL: {_first_line(str(error))}; write what follows WHERE, as in age >= 30"
        ) from None
    if parsed.get("error"):
        _refuse_statement(str(parsed.get("error_message", "")))
    statements = parsed["statements"]
    if len(statements) != 1:
        raise BadInput("contains more than one statement; write one predicate")
    node = dict(statements[0]["node"])
    where = node.pop("where_clause", None)
    if where is None or _without_positions(node) != _query_around_predicate():
        raise BadInput("is more than a predicate; write only what follows WHERE, without other clauses")
    return where


def _bracket_depth(text: str) -> int:
    """Return how many brackets are open at most, at any place of a text.

    >>> _bracket_depth("(a = 1) OR (b IN (2, 3))")
    2
    """
    steps = (1 if letter in "([{" else -1 for letter in text if letter in "()[]{}")
    return max(accumulate(steps), default=0)


def _refuse_statement(message: str) -> NoReturn:
    if "Only SELECT" in message:
        raise BadInput("contains a statement besides the predicate; write one predicate")
    if "expression depth" in message:
        raise BadInput(f"is nested more than {DEEPEST_NESTING} deep; write it with fewer brackets")
    raise BadInput(
        f"is not a predicate: {_first_line(message)}; write only what follows WHERE, as in age >= 30"
    )


def _first_line(message: str) -> str:
    return message.partition("\n")[0].rstrip(" !.")


def _parsed(sql: str) -> ParseTree:
    (text,) = _parser().execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()[0]
    return json.loads(text)


@lru_cache(maxsize=1)
def _query_around_predicate() -> ParseTree:
    """Return what a predicate must leave as it is, without text positions."""
    query = dict(_parsed("SELECT 1 WHERE true")["statements"][0]["node"])
    query.pop("where_clause")
    around: ParseTree = _without_positions(query)
    return around


@lru_cache(maxsize=1)
def _parser() -> Any:
    connection = open_database()
    connection.execute(f"SET max_expression_depth = {DEEPEST_NESTING}")
    return lock_database(connection)


def _without_positions(tree: Any) -> Any:
    """Return a tree without text positions."""
    if isinstance(tree, dict):
        return {
            key: _without_positions(part)
            for key, part in tree.items()
            if not key.startswith("query_location")
        }
    return [_without_positions(part) for part in tree] if isinstance(tree, list) else tree
