"""The sweep of a plan: the product of its lists of values, one point for each audit."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any

from leakgauge.core.errors import BadInput

MOST_POINTS = 10_000  # audits of one sweep


def sweep_points(
    sweep: Mapping[str, Any], tables: Mapping[str, dict[str, Any]], where: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield, for each point of a sweep, the suffix of its audit's name and the tables with its values.

    >>> [name for name, _ in sweep_points({"a.b": [1, 2], "a.c": [True]}, {"a": {}}, "sweep")]
    ['@b=1,c=true', '@b=2,c=true']
    """
    lists = dict(_dotted_keys(sweep, ""))
    for key, values in lists.items():
        _check_sweep_key(key, values, list(tables), where)
    if prod(len(values) for values in lists.values()) > MOST_POINTS:
        raise BadInput(f"{where}: over {MOST_POINTS} audits; sweep fewer values")
    last = [key.rsplit(".", 1)[-1] for key in lists]
    shown = [key if last.count(short) > 1 else short for key, short in zip(lists, last)]
    for values in product(*lists.values()):
        point = deepcopy(dict(tables))
        for key, value in zip(lists, values):
            _set_dotted_key(point, key, deepcopy(value), where)
        pairs = ",".join(f"{key}={_folder_text(value)}" for key, value in zip(shown, values))
        yield (f"@{pairs}" if pairs else ""), point


def _dotted_keys(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield dotted keys: ``{ mechanism.epsilon = [1] }`` means the same with and without quotes."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _dotted_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _check_sweep_key(key: str, values: Any, tables: list[str], where: str) -> None:
    first, *rest = key.split(".")
    if first not in tables or not rest or not all(rest):
        raise BadInput(f"{where}: {key!r} cannot be swept; a key begins with {', '.join(tables)} and a dot")
    if not isinstance(values, list) or not values:
        raise BadInput(f"{where}: {key!r} must be a list of values, got {values!r}")


def _set_dotted_key(tables: dict[str, Any], key: str, value: Any, where: str) -> None:
    *path, last = key.split(".")
    table = tables
    for depth, part in enumerate(path, 1):
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise BadInput(f"{where}: {key!r}: {'.'.join(path[:depth])} is {table!r}; make it a table")
    table[last] = value


def _folder_text(value: Any) -> str:
    """Write a value so that it can stand in the name of a folder."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "x".join(_folder_text(item) for item in value)
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", str(value))
