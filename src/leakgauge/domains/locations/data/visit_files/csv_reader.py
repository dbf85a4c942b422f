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
PIECE = 50_000  # lines
NO_TEXT = "\ufffd"  # stands for bytes that are none
MOST_LINES = 1_000_000  # that are searched for bad ones


@dataclass(frozen=True)
class CsvDialect:
    """How lines are divided; columns are called c0, c1, ... in SQL, whatever their names."""

    names: tuple[str, ...]
    delimiter: str
    header: bool = True
    quote: str = '"'
    encoding: str = "utf-8"

    def column(self, name: str, where: str) -> str:
        """What SQL calls a column; refuses one that is missing or there twice."""
        require_known(name, list(self.names), f"{where}: no column")
        if self.names.count(name) > 1:
            raise BadInput(
                f"{where}: {self.names.count(name)} columns are called {name!r}; names must differ"
            )
        return f"c{self.names.index(name)}"

    def relation(self, files: tuple[Path, ...]) -> str:
        """SQL that reads files and sets torn lines aside."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        return (
            f"read_csv({sql_list(glob.escape(str(file)) for file in files)}, auto_detect = false, "
            f"delim = {sql_string(self.delimiter)}, quote = {sql_string(self.quote)}, "
            f"escape = {sql_string(self.quote)}, "
            f"header = {str(self.header).lower()}, columns = {{{columns}}}, "
            f"encoding = {sql_string(self.encoding)}, filename = true, "
            "ignore_errors = true, store_rejects = true, rejects_limit = 0)"
        )

    def pieces(self, files: tuple[Path, ...]) -> Callable[[Connection], Iterator[NumberedRows]]:
        """Read the files again, slowly, with line numbers; no further than about ``MOST_LINES``."""

        def read(connection: Connection) -> Iterator[NumberedRows]:
            left = MOST_LINES
            for file in files:
                with open_text(file, self.encoding) as lines:
                    for piece in _read_numbered_rows(connection, self, file, lines):
                        yield piece
                        left -= PIECE
                        if left <= 0:
                            return

        return read


def detect_dialect(
    files: tuple[Path, ...], wanted: list[str], header: tuple[str, ...] | None, encoding: str, where: str
) -> CsvDialect:
    """Tell by the first line what stands between columns: what yields most of the wanted names.

    ``header`` are the names, if files have no line with them; then it is what yields as many columns.
    """
    first, *others = (_first_line(file, encoding, where) for file in files)
    found = {
        d: tuple(name.strip() for name in next(csv.reader([first], delimiter=d), [])) for d in DELIMITERS
    }
    if header is not None:
        fitting = [d for d in DELIMITERS if len(found[d]) == len(header)]
        if not fitting:
            most = max(len(columns) for columns in found.values())
            raise BadInput(
                f"data.header names {len(header)} columns, but {files[0].name} has {most}; name all"
            )
        return CsvDialect(header, fitting[0], header=False, encoding=encoding)
    delimiter = max(DELIMITERS, key=lambda d: (len(set(wanted) & set(found[d])), len(found[d])))
    for file, line in zip(files[1:], others):
        if line != first:
            twins = f"{files[0].name} and {file.name}"
            raise BadInput(f"{where}: the first lines of {twins} differ; columns must agree")
    return CsvDialect(found[delimiter], delimiter, encoding=encoding)


def count_malformed_lines(connection: Connection) -> int:
    """How many lines could not be divided into columns when the files were last read."""
    (n_lines,) = connection.execute(
        "SELECT count(DISTINCT (file_id, line_byte_position)) FROM reject_errors "
        "WHERE scan_id = (SELECT max(scan_id) FROM reject_scans)"
    ).fetchall()[0]
    return int(n_lines)


def open_text(file: Path, encoding: str) -> TextIO:
    """Open a text file that may be compressed; bytes that are no text become question marks."""
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding=encoding, errors="replace", newline="")
    return file.open(encoding=encoding, errors="replace", newline="")


def _first_line(file: Path, encoding: str, where: str) -> str:
    try:
        with open_text(file, encoding) as lines:
            return lines.readline().rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise BadInput(f"{where}: {file.name} cannot be read ({error}); is it whole?") from None


def _read_numbered_rows(
    connection: Connection, dialect: CsvDialect, file: Path, lines: TextIO
) -> Iterator[NumberedRows]:
    records, n_columns = _records(dialect, lines), len(dialect.names)
    while chunk := list(islice(records, PIECE)):
        torn = tuple(line for line, record in chunk if len(record) != n_columns or NO_TEXT in "".join(record))
        broken = set(torn)
        whole = [(line, record) for line, record in chunk if line not in broken]
        yield NumberedRows(f"{file.name}: line", _register_rows(connection, file, n_columns, whole), torn)


def _records(dialect: CsvDialect, lines: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield records with the lines they begin at; an unreadable one is empty, and the last."""
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
    connection.register("piece", columns)
    return "piece"
