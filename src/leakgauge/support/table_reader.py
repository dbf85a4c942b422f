"""Turn a table of a plan into a frozen dataclass, with messages that say what is wrong and where."""

import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from numbers import Integral, Real
from typing import Any, TypeVar, Union, get_args, get_origin

from leakgauge.core.errors import BadInput

Value = TypeVar("Value")
_COMMA_OR_PERCENT = re.compile(  # not 1,000, which may be a thousand
    r"(?=.*[,%])(?![1-9]\d{0,2},\d{3}$)(\d{1,15}(?:[.,]\d{1,15})?)\s*(%?)"
)
_LARGEST_WHOLE = 2**63  # what a TOML file can hold


def read_dataclass(kind: type[Value], table: Mapping[str, Any], where: str, *, joint: str = ".") -> Value:
    """Build a frozen dataclass from a table: known keys, right types, nothing missing.

    Integers are accepted as floats; lists become tuples; strings become enum members; tables become nested
    dataclasses. Every message begins with ``where``; ``joint`` is between it and the name of a key.

    >>> from leakgauge.core.guarantee import Guarantee
    >>> read_dataclass(Guarantee, {"epsilon": 1}, "audit 'x': mechanism").epsilon
    1.0
    """
    if not isinstance(table, Mapping):
        raise BadInput(f"{where}: expected a table, got {_shortened(table)}")
    known: dict[str, Field[Any]] = {field.name: field for field in fields(kind) if field.init}  # type: ignore[arg-type]
    for key in table:
        require_known(key, list(known), f"{where}: no key")
    hints = typing.get_type_hints(kind)
    for name, field in known.items():
        if name not in table and field.default is MISSING and field.default_factory is MISSING:
            raise BadInput(f"{where}: {name!r} is missing; add {name} = ...")
    values = {key: convert_value(hints[key], value, f"{where}{joint}{key}") for key, value in table.items()}
    try:
        return kind(**values)
    except BadInput as error:
        name = where.rpartition(" ")[2].strip("'")  # not twice, where the message begins with it
        raise BadInput(f"{where}: {str(error).removeprefix(f'{name}: ')}") from None


def require_known(name: object, known: Sequence[object], kind: str) -> None:
    """Refuse a name that is not known, and point to the nearest one that is."""
    if any(name == choice and isinstance(name, bool) == isinstance(choice, bool) for choice in known):
        return
    words = [choice for choice in known if isinstance(choice, str)]
    begun = [word for word in words if name and word.startswith(str(name))]
    near = sorted(begun, key=len) or get_close_matches(str(name), words, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(map(str, known)) or 'none'}"
    raise BadInput(f"{kind} is called {name!r}; {hint}")


def convert_value(kind: Any, value: Any, where: str) -> Any:
    """Check one value against a type hint."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if origin is typing.Literal:
        require_known(value, list(arguments), f"{where}: no choice")
        return value
    if origin is tuple or kind is tuple:
        return _convert_tuple(arguments, value, where)
    if origin in (dict, Mapping) or kind is dict:
        if not isinstance(value, Mapping):
            _refuse(value, "a table", where)
        of_key, of_item = arguments or (Any, Any)
        return {
            convert_value(of_key, key, where): convert_value(of_item, item, f"{where}.{key}")
            for key, item in value.items()
        }
    if isinstance(kind, type) and issubclass(kind, Enum):
        require_known(value, [member.value for member in kind], f"{where}: no choice")
        return kind(value)
    if isinstance(kind, type) and is_dataclass(kind):
        return read_dataclass(kind, value, where)
    if kind is float:
        real = isinstance(value, Real) and not isinstance(value, bool)
        return float(value) if real else _refuse(value, "a number", where)
    if kind is int:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and abs(int(value)) >= _LARGEST_WHOLE:
            raise BadInput(f"{where}: must be below 2^63, got a number of {len(str(int(value)))} digits")
        return int(value) if whole else _refuse(value, "a whole number", where)
    if kind is bool:
        return value if isinstance(value, bool) else _refuse(value, "true or false", where)
    if kind is str:
        return value if isinstance(value, str) else _refuse(value, "a string", where)
    if kind is type(None):
        return None if value is None else _refuse(value, "nothing", where)
    return value


def _convert_union(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    tables = [kind for kind in kinds if is_dataclass(kind)]
    if isinstance(value, Mapping) and len(tables) == 1:
        return convert_value(tables[0], value, where)  # its message is about a key, the others' is not
    problems = []
    for kind in kinds:
        if kind is type(None) and value is not None:
            continue
        try:
            return convert_value(kind, value, where)
        except BadInput as error:
            problems.append(str(error))
    raise BadInput(problems[0])


def _convert_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        _refuse(value, "a list", where)
    if not kinds or kinds[-1] is Ellipsis:
        kinds = (kinds[0] if kinds else Any,) * len(value)
    if len(kinds) != len(value):
        raise BadInput(f"{where}: expected {len(kinds)} values, got {len(value)}")
    return tuple(
        convert_value(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value))
    )


def number_way_out(text: object) -> str:
    """How to write a number that was written with a decimal comma or as a percentage; else nothing.

    >>> number_way_out("0,6"), number_way_out("97.5 %"), number_way_out("1,000")
    ('; write 0.6', '; write 0.975', '')
    """
    match = _COMMA_OR_PERCENT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return ""
    number = match[1].replace(",", ".")
    return f"; write {float(number) / 100:g}" if match[2] else f"; write {number}"


def _refuse(value: Any, rule: str, where: str) -> Any:
    way_out = number_way_out(value) if rule == "a number" else ""
    raise BadInput(f"{where}: must be {rule}, got {_shortened(value)}{way_out}")


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
