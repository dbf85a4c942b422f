"""Predicates in SQL, checked: one condition on the columns of the table, and nothing else.

DuckDB parses the text; nothing of it is ever executed. Of the tree that comes back, what is known to be
harmless becomes a condition, and everything else is refused.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

from leakgauge.core.database import closed, opened
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.conditions import Condition, Type
from leakgauge.domains.queries.simplifying import simplified
from leakgauge.domains.queries.trees import Tree, condition_of

MOST_LETTERS = 1_000_000
DEEPEST = 100
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")


def parse(text: str, columns: Mapping[str, Type]) -> Condition:
    """The condition that a text stands for; texts that say the same in other words mostly give the same."""
    try:
        return simplified(condition_of(_where(text), columns))
    except BadInput as error:
        raise BadInput(f"where = {_shown(text)}: {error}") from None
    except RecursionError:
        raise BadInput(f"where = {_shown(text)}: is nested too deeply; use fewer brackets") from None


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 80 else repr(text[:77]) + "..."


def _where(text: str) -> Tree:
    """Parse a text as what follows WHERE; anything that would change the rest of the query is refused."""
    import duckdb

    if len(text) > MOST_LETTERS:
        raise BadInput(f"has {len(text)} letters; at most {MOST_LETTERS} are read; ask by ids instead")
    if not text.strip():
        raise BadInput("is empty; leave it out to select all records")
    bare = _QUOTED.sub("", text)
    if "--" in bare or "/*" in bare:
        raise BadInput("holds a comment; write the predicate alone")
    if bare.rstrip().endswith(";"):
        raise BadInput("ends with a semicolon; write the predicate alone")
    try:
        text.encode()
        found = _parsed(f"SELECT 1 WHERE {text}")
    except (duckdb.Error, UnicodeError) as error:
        raise BadInput(f"is no SQL: {_line(str(error))}; write what follows WHERE, as in age >= 30") from None
    if found.get("error"):
        _refuse_statement(str(found.get("error_message", "")))
    statements = found["statements"]
    if len(statements) != 1:
        raise BadInput("holds more than one statement; write one predicate")
    node = dict(statements[0]["node"])
    where = node.pop("where_clause", None)
    rest = dict(_parsed("SELECT 1 WHERE true")["statements"][0]["node"])
    rest.pop("where_clause")
    if where is None or _placeless(node) != _placeless(rest):
        raise BadInput("is more than a predicate; write only what follows WHERE, without other clauses")
    return where


def _refuse_statement(said: str) -> NoReturn:
    if "Only SELECT" in said:
        raise BadInput("holds a statement besides the predicate; write one predicate")
    if "expression depth" in said:
        raise BadInput(f"is nested more than {DEEPEST} deep; write it with fewer brackets")
    raise BadInput(f"is no predicate: {_line(said)}; write only what follows WHERE, as in age >= 30")


def _line(said: str) -> str:
    return said.partition("\n")[0].rstrip(" !.")


def _parsed(sql: str) -> Tree:
    (text,) = _parser().execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()[0]
    return json.loads(text)


@lru_cache(maxsize=1)
def _parser() -> Any:
    connection = opened()
    connection.execute(f"SET max_expression_depth = {DEEPEST}")
    return closed(connection)


def _placeless(tree: Any) -> Any:
    """A tree without the positions of its words."""
    if isinstance(tree, dict):
        return {key: _placeless(part) for key, part in tree.items() if not key.startswith("query_location")}
    return [_placeless(part) for part in tree] if isinstance(tree, list) else tree
