from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import read_dataclass


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    epsilon: float
    rounds: int = 1
    colour: Colour = Colour.RED
    grid: tuple[int, int] = (1, 1)
    names: tuple[str, ...] = ()
    inner: Inner = field(default_factory=Inner)
    cap: int | None = None
    how: Literal["fast", "slow"] = "fast"
    free: dict[str, int] = field(default_factory=dict)
    on: bool = False

    def __post_init__(self):
        if not self.epsilon > 0:
            raise BadInput(f"epsilon must be > 0, got {self.epsilon}")


def test_reads_a_whole_table():
    table = {"epsilon": 1, "colour": "red", "grid": [2, 3], "names": ["a"], "inner": {"size": 4}, "cap": 5}
    found = read_dataclass(Table, table, "here")
    expected = Table(epsilon=1.0, grid=(2, 3), names=("a",), inner=Inner(size=4), cap=5)
    assert found == expected
    assert isinstance(found.epsilon, float)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "here: 'epsilon' is missing"),
        ({"epsilom": 1}, "here: no key is called 'epsilom'; did you mean 'epsilon'?"),
        ({"epsilon": "1"}, "here.epsilon: must be a number, got '1'"),
        ({"epsilon": True}, "here.epsilon: must be a number, got True"),
        ({"epsilon": float("nan")}, "here: epsilon must be > 0, got nan"),
        ({"epsilon": 1, "rounds": 1.5}, "here.rounds: must be a whole number, got 1.5"),
        ({"epsilon": 1, "colour": "rad"}, "here.colour: no choice is called 'rad'; did you mean 'red'?"),
        ({"epsilon": 1, "grid": [1]}, "here.grid: expected 2 values, got 1"),
        ({"epsilon": 1, "names": [1]}, r"here.names\[0\]: must be a string, got 1"),
        ({"epsilon": 1, "inner": {"sise": 1}}, "here.inner: no key is called 'sise'; did you mean 'size'"),
        ({"epsilon": 1, "cap": "x"}, "here.cap: must be a whole number, got 'x'"),
        ({"epsilon": 1, "how": "slo"}, "here.how: no choice is called 'slo'; did you mean 'slow'"),
        ({"epsilon": 1, "free": 3}, "here.free: must be a table, got 3"),
        ({"epsilon": 1, "on": 1}, "here.on: must be true or false, got 1"),
        (3, "here: expected a table, got 3"),
    ],
)
def test_errors_are_one_line(table, message):
    with pytest.raises(BadInput, match=message) as refusal:
        read_dataclass(Table, table, "here")
    assert "\n" not in str(refusal.value)


def test_error_of_a_value_is_prefixed_once():
    from leakgauge.mechanisms import laplace

    with pytest.raises(BadInput) as refusal:
        read_dataclass(laplace.Mechanism, {"epsilon": -1.0}, "audit 'x': mechanism 'laplace'")
    assert str(refusal.value) == "audit 'x': mechanism 'laplace': epsilon must be > 0 and finite, got -1.0"


@dataclass(frozen=True)
class Sided:
    sides: Literal[1, 2] = 2


@pytest.mark.parametrize("given", [3, "two", True, 1.5])
def test_rejects_invalid_numeric_choice(given):
    with pytest.raises(BadInput, match=r"test\.sides: no choice is called .*; known: 1, 2"):
        read_dataclass(Sided, {"sides": given}, "test")
