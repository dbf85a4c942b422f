"""Values that a TOML file can hold: check those from Python, and write them as text."""

import datetime
import json
import os
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import number_way_out

_WRONG_NUMBER = re.compile(r"^[^#\n\"\[{]*=\s*(\d+,\d+|\d+(?:[.,]\d+)?\s*%)\s*(?:#.*)?$", re.MULTILINE)


def toml_types(value: Any, where: str) -> Any:
    """Return a value as reading it from a TOML file would give it; refuse what such a file cannot hold."""
    match value:
        case Mapping():
            if strange := [key for key in value if not isinstance(key, str)]:
                raise BadInput(f"{where}: keys must be strings, got {strange[0]!r}")
            return {str(key): toml_types(item, f"{where}.{key}") for key, item in value.items()}
        case list() | tuple():
            return [toml_types(item, f"{where}[{i}]") for i, item in enumerate(value)]
        case bool() | datetime.date() | datetime.time():
            return value
        case str():
            return str(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case os.PathLike():
            return os.fspath(value)
    raise BadInput(
        f"{where}: a plan cannot hold {value!r}; use numbers, strings, lists and tables, and leave out a key "
        "that has no value"
    )


def toml_text(value: Any) -> str:
    """Write a value as a TOML file has it behind the equals sign; a key without a value is left out.

    >>> toml_text({"name": "laplace", "epsilon": 1.0, "sums": [True, False]})
    '{ "name" = "laplace", "epsilon" = 1.0, "sums" = [true, false] }'
    """
    match value:
        case bool():
            return str(value).lower()
        case dict():
            pairs = (
                f"{toml_text(key)} = {toml_text(item)}" for key, item in value.items() if item is not None
            )
            return "{ " + ", ".join(pairs) + " }"
        case list() | tuple():
            return "[" + ", ".join(toml_text(item) for item in value) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            raise BadInput(f"a plan cannot hold {value!r}; use numbers, strings, lists and tables")


def toml_way_out(text: str) -> str:
    """What to do about a file that is not TOML; JSON and YAML are recognised by their beginnings.

    >>> toml_way_out('{"seed": 1}')
    'this looks like JSON; a plan is a TOML file: write seed = 1, not "seed": 1'
    """
    first = text.lstrip()
    if first.startswith("{"):
        return 'this looks like JSON; a plan is a TOML file: write seed = 1, not "seed": 1'
    if first.startswith("---") or re.match(r"[A-Za-z_]+:(\s|$)", first):
        return "this looks like YAML; a plan is a TOML file: write seed = 1, not seed: 1"
    return toml_number_way_out(text)


def toml_number_way_out(text: str) -> str:
    """What to do about a file that is not TOML, which may have a number with a decimal comma or in percent.

    >>> toml_number_way_out("[limits]\\naccuracy = 60 %")
    '60 % is not a number there; write 0.6'
    """
    if number := _WRONG_NUMBER.search(text):
        return f"{number[1]} is not a number there{number_way_out(number[1])}"
    return "fix the file there"
