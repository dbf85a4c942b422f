import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.conditions import Operand, Type
from leakgauge.domains.queries.literals import literal_of, suited


def constant(kind, text):
    return {"class": "CONSTANT", "literal": {"kind": kind, "text": text}}


def older(kind, value, **more):
    """As DuckDB wrote constants before its second version."""
    return {"class": "CONSTANT", "value": {"type": {"id": kind, **more}, "is_null": False, "value": value}}


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (constant("INTEGER", "1_000"), 1000),
        (constant("NUMERIC", ".5"), 0.5),
        (constant("NUMERIC", "3e1"), 30),
        (constant("STRING", "3"), "3"),
        (constant("BOOLEAN", "true"), True),
        (older("INTEGER", 5), 5),
        (older("DOUBLE", 0.25), 0.25),
        (older("DECIMAL", 305, type_info={"width": 3, "scale": 1}), 30.5),
        (older("VARCHAR", "x"), "x"),
        (older("BOOLEAN", True), True),
    ],
)
def test_constants_become_values_of_their_type(tree, value):
    assert literal_of(tree) == value
    assert type(literal_of(tree)) is type(value)


@pytest.mark.parametrize(
    "tree",
    [
        constant("NULL_LITERAL", ""),
        constant("BLOB", "x"),
        constant("INTEGER", "x"),
        constant("NUMERIC", "1e999"),
    ],
)
def test_other_constants_are_refused(tree):
    with pytest.raises(BadInput):
        literal_of(tree)


def test_whole_numbers_are_exact_however_large():
    assert literal_of(constant("INTEGER", "9007199254740993")) == 9007199254740993
    assert suited(9007199254740993, Operand("a", Type.WHOLE)) == 9007199254740993
    with pytest.raises(BadInput, match="larger than any whole number"):
        suited(2**63, Operand("a", Type.WHOLE))
