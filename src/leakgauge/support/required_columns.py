"""Check that a file has all columns that a plan names; one message reports all that are missing."""

import json
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from leakgauge.core.errors import BadInput

ColumnNames: TypeAlias = Mapping[str, str | Sequence[str]]  # by key of the plan
_MOST_NAMES = 20  # that a message lists
_UNKNOWN = "..."  # for the user to fill in
_SHORTEST_PART = 3  # letters of a name that is found within another one


def require_columns(
    wanted: ColumnNames, known: Sequence[str], file: str, where: str, line: str = "{}"
) -> None:
    """Refuse a file that lacks columns, with the line of the plan that would name them.

    In ``line`` the keys and their values take the place of the braces: all keys where it is a table of the
    plan, else those that need another value.

    >>> wanted = {"user": "user", "time": "time"}
    >>> require_columns(wanted, ["user_id", "time"], "v.csv", "data", "columns = { {} }")
    Traceback (most recent call last):
    leakgauge.core.errors.BadInput: data: v.csv has no column 'user'; it has user_id, time. \
Map it: columns = { user = "user_id", time = "time" }
    """
    there = set(known)
    missing = [name for names in wanted.values() for name in _as_list(names) if name not in there]
    if not missing:
        return
    named = {name for names in wanted.values() for name in _as_list(names)}
    free = [name for name in known if name not in named]
    values = {
        key: _toml_value(key, names, known, free)
        for key, names in wanted.items()
        if line != "{}" or set(_as_list(names)) & set(missing)
    }
    pairs = ", ".join(f"{key} = {value}" for key, value in values.items())
    them = "it" if len(missing) == 1 else "them"
    raise BadInput(
        f"{where}: {missing_columns_text(missing, known, file)}. Map {them}: {line.replace('{}', pairs)}"
    )


def missing_columns_text(missing: Sequence[str], known: Sequence[str], file: str) -> str:
    """Which columns a file lacks, and which it has.

    >>> missing_columns_text(["a", "b"], ["c"], "rows.csv")
    "rows.csv has no columns 'a' and 'b'; it has c"
    """
    names = [repr(name) for name in missing[:_MOST_NAMES]]
    if len(missing) > _MOST_NAMES:
        names.append(f"{len(missing) - _MOST_NAMES} more")
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    there = ", ".join([*known[:_MOST_NAMES], *([_UNKNOWN] if len(known) > _MOST_NAMES else [])]) or "none"
    return f"{file} has no column{'s' * (len(missing) > 1)} {listed}; it has {there}"


def _toml_value(key: str, names: str | Sequence[str], known: Collection[str], free: Sequence[str]) -> str:
    """The value to write for a key: the names that are right, and the nearest ones for the others."""
    listed = _as_list(names)
    values = [name if name in known else _nearest(name, key, free) for name in listed[:_MOST_NAMES]]
    quoted = [json.dumps(value, ensure_ascii=False) for value in values]
    if isinstance(names, str):
        return quoted[0]
    return f"[{', '.join([*quoted, *([_UNKNOWN] if len(listed) > _MOST_NAMES else [])])}]"


def _nearest(name: str, key: str, free: Sequence[str]) -> str:
    """The column that is meant, as far as one can tell from its name."""
    by_lower = {column.lower(): column for column in reversed(free)}
    for word in (name.lower(), key):
        if near := get_close_matches(word, list(by_lower), n=1):
            return by_lower[near[0]]
    for word in (name.lower(), key):
        for lower, column in by_lower.items():
            if min(len(word), len(lower)) >= _SHORTEST_PART and (word in lower or lower in word):
                return column
    return _UNKNOWN


def _as_list(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
