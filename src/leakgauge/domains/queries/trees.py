"""A predicate as DuckDB's parser sees it becomes a condition; what is not known to be harmless is refused.

No condition can fail on some records and not on others, so that errors tell nothing of the data.
"""

from collections.abc import Mapping

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.conditions import (
    Bound,
    Condition,
    Like,
    Member,
    Null,
    Operand,
    Pair,
    Truth,
    Type,
)
from leakgauge.domains.queries.literals import is_value, literal_of, suited
from leakgauge.domains.queries.logic import all_of, any_of, opposite
from leakgauge.domains.queries.operands import Tree, arguments_of, operand_of, refusal


_LIKES = {"~~": (False, False), "!~~": (False, True), "~~*": (True, False), "!~~*": (True, True)}
_BOUNDS = {  # whether the left is the greater one, and whether they may be equal
    "COMPARE_LESSTHAN": (False, False),
    "COMPARE_LESSTHANOREQUALTO": (False, True),
    "COMPARE_GREATERTHAN": (True, False),
    "COMPARE_GREATERTHANOREQUALTO": (True, True),
}


def condition_of(tree: Tree, columns: Mapping[str, Type]) -> Condition:
    """The condition that a parsed predicate stands for; negations are carried through to its tests."""

    def inner(part: Tree) -> Condition:
        return condition_of(part, columns)

    match tree["class"], tree["type"]:
        case "CONJUNCTION", "CONJUNCTION_AND":
            return all_of([inner(part) for part in tree["children"]])
        case "CONJUNCTION", "CONJUNCTION_OR":
            return any_of([inner(part) for part in tree["children"]])
        case "OPERATOR", "OPERATOR_NOT":
            return opposite(inner(tree["children"][0]))
        case "OPERATOR", ("OPERATOR_IS_NULL" | "OPERATOR_IS_NOT_NULL") as kind:
            return Null(operand_of(tree["children"][0], columns), negated=kind == "OPERATOR_IS_NOT_NULL")
        case "OPERATOR", ("COMPARE_IN" | "COMPARE_NOT_IN") as kind:
            found = _listed(tree["children"], columns)
            return found if kind == "COMPARE_IN" else opposite(found)
        case "COMPARISON", kind:
            return _comparison(kind, tree["left"], tree["right"], columns)
        case "BETWEEN", "COMPARE_BETWEEN":
            low = _comparison("COMPARE_GREATERTHANOREQUALTO", tree["input"], tree["lower"], columns)
            high = _comparison("COMPARE_LESSTHANOREQUALTO", tree["input"], tree["upper"], columns)
            return all_of([low, high])
        case "FUNCTION", _ if tree["function_name"] in _LIKES:
            return _like(tree, columns)
        case kind, _ if kind == "COLUMN_REF" or is_value(tree):
            return _bare(tree, columns)
        case _:
            raise refusal(tree)


def _bare(tree: Tree, columns: Mapping[str, Type]) -> Condition:
    if is_value(tree):
        if isinstance(value := literal_of(tree), bool):
            return Truth(value)
        raise BadInput(f"{value!r} is neither true nor false; compare something")
    operand = operand_of(tree, columns)
    if operand.type is not Type.TRUTH:
        raise BadInput(f"{operand.sql} is neither true nor false; compare it with something")
    return Member(operand, frozenset({True}))


def _comparison(kind: str, left: Tree, right: Tree, columns: Mapping[str, Type]) -> Condition:
    if kind not in _BOUNDS and kind not in ("COMPARE_EQUAL", "COMPARE_NOTEQUAL"):
        raise BadInput(
            f"{kind.removeprefix('COMPARE_').lower()} is no comparison that is allowed; use = or <"
        )
    if is_value(left) and is_value(right):
        return _constants(kind, left, right)
    if is_value(left):
        turned = kind.replace("LESS", "?").replace("GREATER", "LESS").replace("?", "GREATER")
        return _comparison(turned, right, left, columns)
    operand = operand_of(left, columns)
    if not is_value(right):
        return _pair(kind, operand, operand_of(right, columns))
    value = suited(literal_of(right), operand)
    if kind not in _BOUNDS:
        return Member(operand, frozenset({value}), negated=kind == "COMPARE_NOTEQUAL")
    lower, closed = _BOUNDS[kind]
    if operand.type is Type.TRUTH:
        raise BadInput(f"{operand.sql} is true or false; use =")
    return Bound(operand, value, lower, closed)


def _constants(kind: str, left: Tree, right: Tree) -> Truth:
    one, other = literal_of(left), literal_of(right)
    if isinstance(one, str) != isinstance(other, str) or isinstance(one, bool) != isinstance(other, bool):
        raise BadInput(f"{one!r} and {other!r} cannot be compared")
    if kind not in _BOUNDS:
        return Truth((one == other) == (kind == "COMPARE_EQUAL"))
    greater, closed = _BOUNDS[kind]
    return Truth((one > other if greater else one < other) or (closed and one == other))  # type: ignore[operator]


def _pair(kind: str, left: Operand, right: Operand) -> Condition:
    numbers = {Type.WHOLE, Type.REAL}
    if left.type is not right.type and not {left.type, right.type} <= numbers:
        raise BadInput(f"{left.sql} and {right.sql} cannot be compared: {left.type} and {right.type}")
    if kind not in _BOUNDS:
        first, second = sorted((left, right), key=repr)
        return Pair(first, "=" if kind == "COMPARE_EQUAL" else "<>", second)
    greater, closed = _BOUNDS[kind]
    low, high = (right, left) if greater else (left, right)
    return Pair(low, "<=" if closed else "<", high)


def _listed(children: list[Tree], columns: Mapping[str, Type]) -> Condition:
    operand = operand_of(children[0], columns)
    return Member(operand, frozenset(suited(literal_of(child), operand) for child in children[1:]))


def _like(tree: Tree, columns: Mapping[str, Type]) -> Condition:
    text, pattern = arguments_of(tree)
    operand, value = operand_of(text, columns), literal_of(pattern)
    if operand.type is not Type.TEXT or not isinstance(value, str):
        raise BadInput(f"LIKE compares a text with a pattern; {operand.sql} is {operand.type}")
    folded, negated = _LIKES[tree["function_name"]]
    return Like(operand, str(suited(value, operand)), folded, negated)
