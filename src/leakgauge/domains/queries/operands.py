"""What a predicate may compare: columns of the table, and a few functions of them that cannot fail."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.queries.conditions import Operand, Type, quoted
from leakgauge.domains.queries.literals import literal_of

Tree: TypeAlias = dict[str, Any]  # of DuckDB's parser

FUNCTIONS = ("length", "lower", "upper")  # of a text; besides, the remainder of a whole number


def operand_of(tree: Tree, columns: Mapping[str, Type]) -> Operand:
    """The column, or the function of one, that stands here."""
    if tree["class"] == "COLUMN_REF":
        return _column(tree["column_names"], columns)
    if tree["class"] == "FUNCTION":
        return _function(tree, lambda part: operand_of(part, columns))
    raise refusal(tree)


def _column(names: list[str], columns: Mapping[str, Type]) -> Operand:
    if len(names) != 1:
        raise BadInput(f"{'.'.join(names)} is not a column of the table; write a column alone")
    spelling = {column.lower(): column for column in columns}
    require(names[0].lower(), list(spelling), "no column")
    column = spelling[names[0].lower()]
    return Operand(quoted(column), columns[column])


def _function(tree: Tree, operand: Callable[[Tree], Operand]) -> Operand:
    name, arguments = str(tree["function_name"]).lower(), arguments_of(tree)
    if name == "%" and len(arguments) == 2:
        number, divisor = operand(arguments[0]), literal_of(arguments[1])
        if number.type is not Type.WHOLE or isinstance(divisor, bool) or not isinstance(divisor, int):
            raise BadInput("% takes a column of whole numbers and a whole number")
        if not 0 < divisor < 2**63:
            raise BadInput(f"% {divisor}: the divisor must be > 0")
        return Operand(f"({number.sql} % {divisor})", Type.WHOLE)
    if name not in FUNCTIONS:
        raise BadInput(f"{name} is no function that is allowed; allowed: %, {', '.join(FUNCTIONS)}")
    if len(arguments) != 1 or (text := operand(arguments[0])).type is not Type.TEXT:
        raise BadInput(f"{name} takes one text")
    return Operand(f"{name}({text.sql})", Type.WHOLE if name == "length" else Type.TEXT)


def arguments_of(tree: Tree) -> list[Tree]:
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


def refusal(tree: Tree) -> BadInput:
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
