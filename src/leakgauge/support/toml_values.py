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

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)")
_TABLE_TWICE = re.compile(r"Cannot declare \((.*)\) twice")
_KEY_TWICE = re.compile(r"Duplicate inline table key ('.*')")
_KEY = re.compile(r'\s*(?:\[{1,2}\s*([^\]]+?)\s*\]|([\w."-]+)\s*=)')
_WORD = re.compile(r"([A-Za-z_][\w./:-]*)\s*(?=[,}\]#]|$)")
_LAST_WORD = re.compile(r"=\s*(?=\S*[A-Za-z])(\w[\w./:-]*)\s*(?:#.*)?$")


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


def toml_problem(text: str, error: Exception) -> str:
    """Why a plan is not TOML and what to do about it; JSON and YAML are recognised by their beginnings.

    >>> toml_problem('{"seed": 1}', ValueError("Invalid statement (at line 1, column 1)")).partition("; ")[2]
    'this looks like JSON; a plan is a TOML file: write seed = 1, not "seed": 1'
    """
    first = text.lstrip()
    if first.startswith("{"):
        way_out = 'this looks like JSON; a plan is a TOML file: write seed = 1, not "seed": 1'
    elif first.startswith("---") or re.match(r"[A-Za-z_]+:(\s|$)", first):
        way_out = "this looks like YAML; a plan is a TOML file: write seed = 1, not seed: 1"
    else:
        return toml_line_problem(text, error)
    return f"not valid TOML: {error}; {way_out}"


def toml_line_problem(text: str, error: Exception) -> str:
    """Why a file is not TOML, and what to do about the line that its reader names.

    >>> toml_line_problem("name = laplace", ValueError("Invalid value (at line 1, column 8)"))
    'not valid TOML: Invalid value (at line 1, column 8); write it in quotes: "laplace"'
    >>> toml_line_problem("a = 1\\na = 2", ValueError("Cannot overwrite a value (at line 2, column 6)"))
    "not valid TOML: 'a' is given twice (at line 2, column 6); delete one of the two"
    >>> toml_line_problem("", ValueError("Duplicate inline table key 'a' (at line 1, column 17)"))
    "not valid TOML: 'a' is given twice between the braces (at line 1, column 17); delete one of the two"
    """
    place = _PLACE.search(str(error))
    line = text.split("\n")[int(place[1]) - 1] if place else text.rstrip().rpartition("\n")[2]
    where = place[0] if place else ""
    if number := _WRONG_NUMBER.search(text):
        way_out = f"{number[1]} is not a number there{number_way_out(number[1])}"
        return f"not valid TOML: {error}; {way_out}"
    if twice := _TABLE_TWICE.match(str(error)):
        name = ".".join(re.findall(r"'([^']*)'", twice[1]))
        return (
            f"not valid TOML: the table [{name}] is there twice{where}; write all its keys under one of them"
        )
    if inside := _KEY_TWICE.match(str(error)):
        return f"not valid TOML: {inside[1]} is given twice between the braces{where}; delete one of the two"
    if str(error).startswith("Cannot overwrite a value") and (key := _KEY.match(line)):
        return f"not valid TOML: {(key[1] or key[2])!r} is given twice{where}; delete one of the two"
    return f"not valid TOML: {error}; {_line_way_out(str(error), line, place)}"


def _line_way_out(problem: str, line: str, place: "re.Match[str] | None") -> str:
    """What to do about a line: close quotes, or write a word in quotes."""
    if problem.startswith("Illegal character '\\n'"):
        return "close the quotes in that line"
    found = None
    if place and problem.startswith("Invalid value"):
        found = _WORD.match(line, int(place[2]) - 1)
    elif problem.startswith("Expected newline"):  # behind what began like a number, or like true
        found = _LAST_WORD.search(line)
    if found is None:
        return "fix the file there"
    word = found[1]
    return f"write {word.lower()}" if word.lower() in ("true", "false") else f'write it in quotes: "{word}"'
