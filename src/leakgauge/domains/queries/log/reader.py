"""Read a query log: the answers, the records, and the records that each query contains."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.data import ID, load_records
from leakgauge.domains.queries.log import answers as log_answers
from leakgauge.domains.queries.log import incidence as log_incidence
from leakgauge.domains.queries.log import record_pairs
from leakgauge.domains.queries.log.files import (
    CONTAINS_FLAG,
    DATA_FLAG,
    LOG_FLAG,
    LogSource,
    QueryLogFiles,
    open_source,
)
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.support.required_columns import missing_columns_text
from leakgauge.support.tabular import Connection, open_database

_DECIMAL_COMMAS = 'write decimal = ","'  # the way out of a message about a table
UNUSED_ANSWERS = (
    "The column answer of the log is not used: name a column of the table with two values (--secret, in "
    "Python secret=...) to see how many of its values the answers give away."
)


@dataclass(frozen=True, eq=False)
class QueryLog:
    """The answers so far, the names of the records, and the queries that contain each record."""

    answers: log_answers.LoggedAnswers
    names: npt.NDArray[Any]  # ids of the records: whole numbers or texts
    incidence: log_incidence.Incidence
    notes: tuple[str, ...]
    given: Reals | None = None  # the numbers that were answered, where they are asked for; NaN for none


def read_query_log(
    files: QueryLogFiles, *, table: OracleRecords | None = None, with_answers: bool = False
) -> QueryLog:
    """Read a log; errors name the row. Another ``table`` may stand for the one of the files."""
    if table is None and files.data is not None:
        table = read_table(files.data, files.id)
    with open_database() as connection:
        # stream the pairs, and hash the tables of queries and records, whichever DuckDB expects to be larger
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        source = open_source(connection, files.log, LOG_FLAG)
        long = files.contains is None and source.has("record")
        if with_answers:
            _require_answers(source)
        log_table = log_answers.create_log_table(connection, source, long=long, with_answers=with_answers)
        given = log_answers.fetch_answers(connection) if with_answers else None
        answers, disagree = log_answers.read_answers(
            log_answers.fetch_noise_columns(connection), source.path.name
        )
        if table is not None:
            _register(connection, table)
        pairs = _joined(list(_pairs(connection, source, files, table, log_table.whole)))
        names = _names(connection, table)
        pairs, notes = log_incidence.clip_contributions(connection, pairs, answers, table, source.path.name)
    sparse = log_incidence.build_incidence(pairs, answers.rows, names.size)
    del pairs
    notes = (*_notes(files, answers, sparse, log_table.repeated, disagree), *notes)
    if source.has("answer") and files.secret is None:
        notes = (*notes, UNUSED_ANSWERS)
    return QueryLog(answers, names, sparse, notes, given)


def _require_answers(source: LogSource) -> None:
    if not source.has("answer"):
        raise BadInput(
            f"{source.path.name}: no column is called 'answer', so that no secret can be reconstructed; add "
            "the numbers that were answered, or leave out the secret"
        )


def read_table(path: Path, id_column: str | None) -> OracleRecords:
    """Read the table that was queried."""
    if not path.is_file():
        raise BadInput(f"{DATA_FLAG}: there is no file {path}; check the path")
    table = {"source": str(path.absolute()), "id": ID if id_column is None else id_column}
    try:
        try:
            return load_records(table, path.parent, seed=0)
        except BadInput as error:
            if _DECIMAL_COMMAS not in str(error):
                raise
            return load_records({**table, "decimal": ","}, path.parent, seed=0)
    except BadInput as error:
        key, _, rest = str(error).partition(":")
        rest = rest.replace("Map it: id = ", "Name it (--id, in Python id_column=...): ")
        rest = rest.replace(_DECIMAL_COMMAS, "write decimal points")
        raise BadInput(f"{'id column' if key == 'data.id' else DATA_FLAG}:{rest}") from None


def _pairs(
    connection: Connection,
    source: LogSource,
    files: QueryLogFiles,
    table: OracleRecords | None,
    log_whole: bool,
) -> Iterator[record_pairs.CodedPairs]:
    """Return the pairs of query and record, from whichever columns or file has them."""
    if files.contains is not None:
        if clash := [name for name in ("where", "records") if source.has(name)]:
            raise BadInput(
                f"{source.path.name}: has a column {clash[0]!r}, and {CONTAINS_FLAG} also lists the "
                "records of queries; leave one of them out"
            )
        contains = open_source(connection, files.contains, CONTAINS_FLAG)
        if missing := [name for name in ("query", "record") if not contains.has(name)]:
            text = missing_columns_text(missing, list(contains.types), contains.path.name)
            raise BadInput(f"{text}; needed: query, record")
        yield _coded(connection, record_pairs.pairs_from_rows(contains), table, log_whole)
    elif source.has("record"):
        yield _coded(connection, record_pairs.pairs_from_rows(source), table, log_whole)
    elif source.has("records") or source.has("where"):
        record_pairs.require_one_selection(connection, source, given=table is not None)
        if source.has("records"):
            yield _coded(connection, record_pairs.pairs_from_lists(source), table, log_whole)
        if source.has("where") and table is not None:
            yield record_pairs.pairs_from_predicates(connection, source, table)
    else:
        raise BadInput(
            f"{source.path.name}: does not list the records of a query; add a column records, record "
            f"or where, or a file of them (--{CONTAINS_FLAG}, in Python {CONTAINS_FLAG}=...)"
        )


def _coded(
    connection: Connection, pairs: record_pairs.SqlPairs, table: OracleRecords | None, log_whole: bool
) -> record_pairs.CodedPairs:
    if table is None:
        return record_pairs.code_pairs(connection, pairs, log_whole=log_whole, records=None)
    pairs = replace(pairs, record_whole=pairs.record_whole and isinstance(table.ids[0], int))
    return record_pairs.code_pairs(connection, pairs, log_whole=log_whole, records="records")


def _joined(parts: list[record_pairs.CodedPairs]) -> record_pairs.CodedPairs:
    if len(parts) == 1:
        return parts[0]
    queries, records = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("queries", "records")
    )
    return record_pairs.CodedPairs(queries, records, None)  # neither lists nor predicates have contributions


def _register(connection: Connection, table: OracleRecords) -> None:
    """Copy the ids of the table into the database, as ``records``."""
    ids = np.ma.getdata(table.columns[table.id_column])
    kind = "BIGINT" if isinstance(table.ids[0], int) else "VARCHAR"
    connection.register("given", {"code": np.arange(len(table), dtype=np.int32), "record": ids})
    connection.execute(f"CREATE TABLE records AS SELECT code, CAST(record AS {kind}) AS record FROM given")
    connection.unregister("given")


def _names(connection: Connection, table: OracleRecords | None) -> npt.NDArray[Any]:
    if table is not None:
        return np.ma.getdata(table.columns[table.id_column])
    names = connection.execute("SELECT record FROM records ORDER BY code").fetchnumpy()["record"]
    if not names.size:
        raise BadInput(
            "no query of the log contains a record, so nobody is exposed; check whether ids are missing"
        )
    return np.ma.getdata(names)


def _notes(
    files: QueryLogFiles,
    answers: log_answers.LoggedAnswers,
    sparse: log_incidence.Incidence,
    repeated: int,
    disagree: int,
) -> Iterator[str]:
    yield (
        f"Answers in {files.log.name}: {len(answers):,}; records in them, once for each answer: "
        f"{int(sparse.starts[-1]):,}."
    )
    counts = {
        "Rows of the log that repeat an earlier id (the same release, counted once)": repeated,
        "Records repeated in the same query (counted once)": sparse.repeated,
        "Answers whose scale does not match their epsilon (the scale is used)": disagree,
    }
    for title, number in counts.items():
        if number:
            yield f"{title}: {number:,}."
