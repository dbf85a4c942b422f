"""The three ways in which a log says which records a query contains: rows, lists and predicates."""

import numpy as np

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.coding import Coded, Pairs
from leakgauge.domains.queries.log.sources import Source
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import Ints, Records

_SPLIT = r"'[;\s]+'"


def long_pairs(source: Source) -> Pairs:
    """A row for each record of each query: query, record, and perhaps contribution."""
    query, record = source.names["query"], source.names["record"]
    columns = f"{query} AS query, {record} AS record"
    if source.has("contribution"):
        columns += f", {source.names['contribution']} AS contribution"
    return Pairs(
        source.path,
        f"SELECT {columns} FROM {source.sql}",
        f"SELECT row_number() OVER () AS n, {columns} FROM {source.sql}",
        source.is_whole("query"),
        source.is_whole("record"),
        source.has("contribution"),
    )


def listed_pairs(source: Source) -> Pairs:
    """A list of ids for each query, or ids in one text between semicolons or blanks."""
    if source.is_list("records"):
        whole, ids = source.is_whole("records"), "records"
    else:
        whole = False
        ids = f"string_split_regex(trim(CAST(records AS VARCHAR), ' ;\t\r\n'), {_SPLIT})"
    rows = f"SELECT n, query, unnest({ids}) AS record FROM log"
    kept = f"SELECT * FROM ({rows}) WHERE record IS NULL OR CAST(record AS VARCHAR) <> ''"
    return Pairs(source.path, f"SELECT query, record FROM ({kept})", kept, True, whole, False)


def refuse_unclear(connection: Connection, source: Source, *, given: bool) -> None:
    """Every query must say in one way which records it contains; predicates need the table."""
    where = 'l."where" IS NOT NULL' if source.has("where") else "false"
    lists = "nullif(trim(CAST(l.records AS VARCHAR)), '') IS NOT NULL" if source.has("records") else "false"
    rules = [(f"{where} AND {lists}", "has both where and records; leave one out")]
    if source.has("where") and source.has("records"):
        rules.append((f"NOT ({where}) AND NOT ({lists})", "has neither where nor records; add one"))
    if not given and source.has("where"):
        by_predicate = where if source.has("records") else "true"
        rules.append((by_predicate, "selects by a predicate, so the table is needed: add --data FILE"))
    for bad, rule in rules:
        found = connection.execute(f"SELECT min(n) FROM log l WHERE {bad}").fetchall()[0][0]
        if found is not None:
            raise BadInput(f"{source.path.name}, row {found}: {rule}")


def by_predicate(connection: Connection, source: Source, table: Records) -> Coded:
    """The records that predicates select; a query with none selects all, where lists are not in use."""
    rule = 'WHERE "where" IS NOT NULL' if source.has("records") else ""
    found = connection.execute(
        f'SELECT "where", min(n), list(code ORDER BY code) FROM log {rule} GROUP BY "where" ORDER BY min(n)'
    ).fetchall()
    queries: list[Ints] = []
    records: list[Ints] = []
    for where, n, codes in found:
        try:
            rows = table.rows(table.condition(Query(where=where)))
        except BadInput as error:
            raise BadInput(f"{source.path.name}, row {n}: {error}") from None
        queries.append(np.repeat(np.array(codes, dtype=np.int32), rows.size))
        records.append(np.tile(rows.astype(np.int32), len(codes)))
    return Coded(_all(queries), _all(records), None)


def _all(parts: list[Ints]) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts]).astype(np.int32)
