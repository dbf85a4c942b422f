"""The rows of a query log in a database, one for each release."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.answers import NUMBERS
from leakgauge.domains.queries.log.sources import Source, told

_WORDS = ("mechanism", "kind")
_TEXTS = ("column", "where")
FIELDS = (*NUMBERS, *_WORDS, *_TEXTS)


@dataclass(frozen=True)
class LogTable:
    """The table ``log`` (n, query, code, records, and the fields), and how many rows repeated a release."""

    whole: bool  # whether query ids are whole numbers
    repeated: int


def made(connection: Connection, source: Source, *, long: bool) -> LogTable:
    """Make the table of a log; ``long``: the log has a row for each record of a query."""
    if not source.has("query"):
        raise BadInput(
            f"{source.path.name}: no column is called 'query'; a log has the id of each query there. "
            f"Found: {', '.join(source.types) or 'none'}"
        )
    whole = source.is_whole("query")
    fields = ", ".join(f"{_field(source, name)} AS {_name(name)}" for name in FIELDS)
    records = source.names["records"] if source.has("records") else "NULL"
    odd = " ".join(f"WHEN {_odd(source, name)} THEN '{name}'" for name in NUMBERS if source.has(name))
    rows = (
        f"SELECT row_number() OVER () AS n, {source.names['query']} AS query, {records} AS records, "
        f"{fields}, CASE {odd or 'WHEN false THEN NULL'} END AS odd FROM {source.sql}"
    )
    with told(source.path):
        if long:
            same = ", ".join(_name(name) for name in FIELDS)
            rows = f"SELECT min(n) AS n, query, records, {same}, odd FROM ({rows}) GROUP BY ALL"
        connection.execute(f"CREATE TABLE said AS {rows}")
    _refuse_odd(connection, source)
    whole = whole or _all_whole(connection)
    key = "CAST(query AS BIGINT)" if whole else "CAST(query AS VARCHAR)"
    connection.execute(
        "CREATE TABLE log AS SELECT * EXCLUDE (first), CAST(row_number() OVER (ORDER BY n) - 1 AS INTEGER) "
        f"AS code FROM (SELECT * EXCLUDE (odd) REPLACE ({key} AS query), min(n) OVER (PARTITION BY query) "
        "AS first FROM said) WHERE n = first ORDER BY n"
    )
    repeated = _count(connection, "said") - _count(connection, "log")
    if repeated:
        _refuse_contradiction(connection, source)
    connection.execute("DROP TABLE said")
    return LogTable(whole, repeated)


def fetched(connection: Connection) -> dict[str, npt.NDArray[Any]]:
    """The columns that say how much noise each answer has."""
    names = ", ".join(_name(name) for name in (*NUMBERS, *_WORDS))
    return connection.execute(f"SELECT n, query, {names} FROM log ORDER BY code").fetchnumpy()


def _name(field: str) -> str:
    return f'"{field}"'


def _field(source: Source, name: str) -> str:
    if not source.has(name):
        return f"CAST(NULL AS {'DOUBLE' if name in NUMBERS else 'VARCHAR'})"
    if name in NUMBERS:
        return f"TRY_CAST({source.names[name]} AS DOUBLE)"
    text = f"nullif(trim(CAST({source.names[name]} AS VARCHAR)), '')"
    return f"lower({text})" if name in _WORDS else text


def _odd(source: Source, name: str) -> str:
    text = f"trim(CAST({source.names[name]} AS VARCHAR))"
    return f"{text} <> '' AND TRY_CAST({source.names[name]} AS DOUBLE) IS NULL"


def _all_whole(connection: Connection) -> bool:
    """Whether texts are all whole numbers, written as such."""
    number = "TRY_CAST(query AS BIGINT)"
    (found,) = connection.execute(
        f"SELECT bool_and(coalesce(CAST({number} AS VARCHAR) = query, false)) FROM said"
    ).fetchall()[0]
    return bool(found)


def _refuse_odd(connection: Connection, source: Source) -> None:
    file = source.path.name
    if _count(connection, "said") == 0:
        raise BadInput(f"{file}: there is no query in it; a log has at least one row")
    bad = "query IS NULL OR trim(CAST(query AS VARCHAR)) = ''"
    for n, *_ in connection.execute(f"SELECT min(n) FROM said WHERE {bad} HAVING count(*) > 0").fetchall():
        raise BadInput(f"{file}, row {n}: has no query id; every row needs one")
    odd = "SELECT n, odd FROM said WHERE odd IS NOT NULL ORDER BY n LIMIT 1"
    for n, name in connection.execute(odd).fetchall():
        raise BadInput(f"{file}, row {n}: {name} is not a number; mend it")


def _refuse_contradiction(connection: Connection, source: Source) -> None:
    """Rows with the same id are one release: a cache has given the same answer again."""
    same = (*map(_name, FIELDS), "records")
    differ = " OR ".join(f"s.{name} IS DISTINCT FROM l.{name}" for name in same)
    found = connection.execute(
        "SELECT s.n, l.n FROM said s JOIN log l ON CAST(s.query AS VARCHAR) = CAST(l.query AS VARCHAR) "
        f"WHERE s.n <> l.n AND ({differ}) ORDER BY s.n LIMIT 1"
    ).fetchall()
    for n, first in found:
        raise BadInput(
            f"{source.path.name}, row {n}: has the query id of row {first} but says something else; rows "
            "with the same id are one release, so give other releases other ids"
        )


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
