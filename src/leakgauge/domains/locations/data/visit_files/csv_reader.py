"""Visits in CSV files: detect the delimiter, read the rows, and number them to find malformed ones."""

import csv
import glob
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.visit_files.duckdb_rows import (
    Connection,
    NumberedRows,
    sql_list,
    sql_string,
)
from leakgauge.support.table_reader import require_known

DELIMITERS = (",", ";", "\t", "|", " ")
CHUNK = 50_000  # lines
NO_TEXT = "\ufffd"  # replaces bytes that cannot be decoded
MOST_LINES = 1_000_000  # searched for bad lines


@dataclass(frozen=True)
class CsvDialect:
    """How lines are split into columns; in SQL the columns are named c0, c1, ..."""

    names: tuple[str, ...]
    delimiter: str
    header: bool = True
    quote: str = '"'
    encoding: str = "utf-8"

    def column(self, name: str, where: str) -> str:
        """The SQL name of a column; refuses a missing or repeated name."""
        require_known(name, list(self.names), f"{where}: no column")
        if self.names.count(name) > 1:
            raise BadInput(
                f"{where}: {self.names.count(name)} columns are called {name!r}; names must differ"
            )
        return f"c{self.names.index(name)}"

    def relation(self, files: tuple[Path, ...]) -> str:
        """SQL that reads files and rejects malformed lines."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        return (
            f"read_csv({sql_list(glob.escape(str(file)) for file in files)}, auto_detect = false, "
            f"delim = {sql_string(self.delimiter)}, quote = {sql_string(self.quote)}, "
            f"escape = {sql_string(self.quote)}, "
            f"header = {str(self.header).lower()}, columns = {{{columns}}}, "
            f"encoding = {sql_string(self.encoding)}, filename = true, "
            "ignore_errors = true, store_rejects = true, rejects_limit = 0)"
        )

    def chunks(self, files: tuple[Path, ...]) -> Callable[[Connection], Iterator[NumberedRows]]:
        """Read the files again with line numbers (slow), up to about ``MOST_LINES`` lines."""

        def read(connection: Connection) -> Iterator[NumberedRows]:
            left = MOST_LINES
            for file in files:
                with open_text(file, self.encoding) as lines:
                    for chunk in _read_numbered_rows(connection, self, file, lines):
                        yield chunk
                        left -= CHUNK
                        if left <= 0:
                            return

        return read


def detect_dialect(
    files: tuple[Path, ...], wanted: list[str], header: tuple[str, ...] | None, encoding: str, where: str
) -> CsvDialect:
    """Detect the delimiter from the first line: the one that gives most of the wanted names.

    ``header`` are the column names of files without a header line; then the delimiter must give as many
    columns.
    """
    first, *others = (_first_line(file, encoding, where) for file in files)
    columns_by_delimiter = {
        d: tuple(name.strip() for name in next(csv.reader([first], delimiter=d), [])) for d in DELIMITERS
    }
    if header is not None:
        fitting = [d for d in DELIMITERS if len(columns_by_delimiter[d]) == len(header)]
        if not fitting:
            most = max(len(columns) for columns in columns_by_delimiter.values())
            raise BadInput(
                f"data.header names {len(header)} columns, but {files[0].name} has {most}; name all columns"
            )
        return CsvDialect(header, fitting[0], header=False, encoding=encoding)
    delimiter = max(
        DELIMITERS,
        key=lambda d: (len(set(wanted) & set(columns_by_delimiter[d])), len(columns_by_delimiter[d])),
    )
    for file, line in zip(files[1:], others):
        if line != first:
            twins = f"{files[0].name} and {file.name}"
            raise BadInput(f"{where}: the first lines of {twins} differ; all files need the same columns")
    return CsvDialect(columns_by_delimiter[delimiter], delimiter, encoding=encoding)


def count_malformed_lines(connection: Connection) -> int:
    """How many lines could not be split into columns when the files were last read."""
    (n_lines,) = connection.execute(
        "SELECT count(DISTINCT (file_id, line_byte_position)) FROM reject_errors "
        "WHERE scan_id = (SELECT max(scan_id) FROM reject_scans)"
    ).fetchall()[0]
    return int(n_lines)


def open_text(file: Path, encoding: str) -> TextIO:
    """Open a text file that may be compressed; undecodable bytes become replacement characters."""
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding=encoding, errors="replace", newline="")
    return file.open(encoding=encoding, errors="replace", newline="")


def _first_line(file: Path, encoding: str, where: str) -> str:
    try:
        with open_text(file, encoding) as lines:
            return lines.readline().rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise BadInput(f"{where}: {file.name} cannot be read ({error}); check that it is complete") from None


def _read_numbered_rows(
    connection: Connection, dialect: CsvDialect, file: Path, lines: TextIO
) -> Iterator[NumberedRows]:
    records, n_columns = _records(dialect, lines), len(dialect.names)
    while chunk := list(islice(records, CHUNK)):
        malformed = tuple(
            line for line, record in chunk if len(record) != n_columns or NO_TEXT in "".join(record)
        )
        skipped = set(malformed)
        whole = [(line, record) for line, record in chunk if line not in skipped]
        yield NumberedRows(
            f"{file.name}: line", _register_rows(connection, file, n_columns, whole), malformed
        )


def _records(dialect: CsvDialect, lines: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield records with their first line numbers; an unreadable record is empty and ends the file."""
    if dialect.quote:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
    else:
        reader = csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield line, []
            return
        if record and not (dialect.header and line == 1):
            yield line, record


def _register_rows(
    connection: Connection, file: Path, n_columns: int, records: list[tuple[int, list[str]]]
) -> str | None:
    if not records:
        return None
    columns = {"lg_line": np.array([line for line, _ in records], dtype=np.int64)}
    for i in range(n_columns):
        columns[f"c{i}"] = np.array([record[i] for _, record in records], dtype=object)
    columns["filename"] = np.full(len(records), str(file), dtype=object)
    connection.register("chunk", columns)
    return "chunk"
