"""CSV and Parquet files of users, read by DuckDB in an in-memory database without network access."""

import csv
import glob
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.support.text_encoding import Encoding, refuse_other_encoding

Connection: TypeAlias = Any  # duckdb.DuckDBPyConnection, which is loaded when it is needed

DELIMITED = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
PARQUET = (".parquet", ".pq")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
DELIMITERS = (",", ";", "\t", "|")
_REASONS = ("Expected", "Invalid", "Error when converting", "Maximum", "Value with", "It was not possible")
_CELL = re.compile(r"""\b(string|value) (?:"(?:[^"]|"(?! to\b))*"|'(?:[^']|'(?! to\b))*'|-?\d\S*)""")
_LONGEST_ERROR = 300  # characters of a message
VALUE_NOT_NAME = re.compile(
    r"[+-]?\d+[.]\d+|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{2,4}.*"
)  # in a first line
_MOST_TITLE_LINES = 20
_COMMA = r"[+-]?\d*,\d+|[+-]?\d+"  # numbers with decimal commas
_LIST = r"[\d, ]+"  # also of codes
_COMMA_THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+"
_FIRST = 100  # rows
_MOST_CODES = 20  # different texts such as 1,2 that may be codes, not numbers


def open_database(**settings: str | int) -> Connection:
    """Open an empty database, with one thread unless told; it may read files until it is closed to them.

    Every database of leakgauge is opened here.
    """
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        **(settings or {"threads": 1}),
    }
    connection = duckdb.connect(":memory:", config=config)
    _turn_progress_bar_off(connection)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _turn_progress_bar_off(connection: Connection) -> None:
    """Turn DuckDB's own progress bar off where it is on.

    In a notebook without ipywidgets it is off, and DuckDB 1.4 and 2.0 refuse every change of the setting,
    also that to off, with an error about the missing package.
    """
    ((is_on,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if is_on:
        connection.execute("SET enable_progress_bar = false")


def duckdb_error_line(error: Exception) -> str:
    """The message of DuckDB about a file in one line: the reason, without the row, which is personal data."""
    first, *rest = str(error).splitlines()
    why = next((f": {line.strip()}" for line in rest if line.startswith(_REASONS)), "")
    return _CELL.sub(r"\1", first.rstrip(" .") + why)[:_LONGEST_ERROR].rstrip(" .")


def lock_database(connection: Connection) -> Connection:
    """Close a database to files, the network and changes of settings, permanently."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How a text file is encoded, and which mark its numbers have before decimals.

    These are keys of every `data` table that reads a table from a file.
    """

    encoding: Encoding = "utf-8"  # of a text file
    decimal: Literal[".", ","] = "."  # the mark before the decimals of numbers in a text file

    @property
    def text_format(self) -> "TextFormat":
        """These two keys alone."""
        return TextFormat(encoding=self.encoding, decimal=self.decimal)


@contextmanager
def open_table_file(
    path: Path,
    where: str = "data.source",
    others: Sequence[str] = (),
    text: TextFormat | None = None,
    *,
    only_text: bool = False,
) -> Iterator[tuple[Connection, dict[str, str]]]:
    """Yield a database with the file as its table ``given``, and the DuckDB types of its columns.

    ``others`` are file endings that the caller reads itself; the message about an unknown ending lists them.
    With ``only_text`` the columns of a text file are read as texts.
    """
    import duckdb

    reader = _reader(path, where, others, text or TextFormat(), only_text=only_text)
    with open_database() as connection:
        try:
            # a prepared path never becomes SQL, but * and ? in it would match files
            connection.execute(f"CREATE TABLE given AS SELECT * FROM {reader}", [glob.escape(str(path))])
        except duckdb.Error as error:
            if "unicode" in str(error).lower() or "not utf-8" in str(error).lower():
                raise _other_encoding(path, where) from None
            problem = _read_error(error, path, text or TextFormat())
            raise BadInput(f"{_file_place(path, where)} cannot be read: {problem}") from None
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE given").fetchall()}
        yield connection, types


def _reader(path: Path, where: str, others: Sequence[str], text: TextFormat, *, only_text: bool) -> str:
    """What follows FROM; in a text file only the types of columns are guessed, from all their values."""
    if path.name.lower().endswith(PARQUET):
        if text != TextFormat():
            raise BadInput(
                f"{where}: encoding and decimal are for text files; leave them out, {path.name} is Parquet"
            )
        return "read_parquet(?)"
    if path.name.lower().endswith(DELIMITED):
        form = "header = true, skip = 0, quote = '\"', escape = '\"', comment = '', sample_size = -1"
        form += f", encoding = '{text.encoding}', decimal_separator = '{text.decimal}'"
        form += ", all_varchar = true" if only_text else ""
        delimiter = find_delimiter(path, where, text.encoding)
        refuse_title(path, where, delimiter, text.encoding)
        return f"read_csv(?, delim = '{delimiter}', {form})"
    known = ", ".join([*others, *DELIMITED, *PARQUET])
    way_out = "; save the sheet as CSV" if path.suffix.lower() in SPREADSHEETS else ""
    raise BadInput(f"{where}: {path.name!r} has an unknown ending; known: {known}{way_out}")


def decimal_comma_way_out(
    connection: Connection, name: str, path: Path, missing: Sequence[str] = (), share: float = 1.0
) -> str | None:
    """What to do about a column of texts, where this ``share`` are numbers with decimal commas; else nothing.

    The words of ``missing`` do not count. Groups of three digits after a comma may be thousands: those are no
    decimals unless other values say so. Numbers beside lists such as 1,2,3 are lists, too.
    """
    column = '"' + name.replace('"', '""') + '"'
    texts = f"SELECT trim(CAST({column} AS VARCHAR)) AS it FROM given WHERE {column} IS NOT NULL"
    if missing:
        texts += f" AND trim(CAST({column} AS VARCHAR)) NOT IN ({sql_texts(missing)})"
    first = (f"{texts} LIMIT {_FIRST}",) if share == 1 else ()
    for rows in (*first, texts):  # most columns of texts are known by their first rows
        ((given, numbers, lists, commas, thousands),) = connection.execute(
            f"SELECT count(*), count(*) FILTER (it = '' OR regexp_full_match(it, '{_COMMA}')), "
            f"count(*) FILTER (regexp_full_match(it, '{_LIST}') AND NOT regexp_full_match(it, '{_COMMA}')), "
            f"count(*) FILTER (regexp_full_match(it, '{_COMMA}') AND contains(it, ',')), "
            f"count(*) FILTER (regexp_full_match(it, '{_COMMA_THOUSANDS}')) FROM ({rows})"
        ).fetchall()
        if lists or numbers < share * given:
            return None
    if commas <= thousands:
        return None
    return "store them as numbers" if path.name.lower().endswith(PARQUET) else 'write decimal = ","'


def refuse_decimal_commas(
    connection: Connection,
    types: Mapping[str, str],
    path: Path,
    *,
    missing: Sequence[str] = (),
    share: float = 1.0,
    codes_key: str | None = None,
) -> None:
    """Refuse a table in which many different numbers would be read as texts, because of decimal commas.

    ``missing`` and ``share`` are those of :func:`decimal_comma_way_out`; ``codes_key`` is the key of the plan
    that lists columns of codes.
    """
    for name in (name for name, kind in types.items() if kind == "VARCHAR"):
        if (way_out := decimal_comma_way_out(connection, name, path, missing, share)) is None:
            continue
        column = '"' + name.replace('"', '""') + '"'
        ((n_values,),) = connection.execute(f"SELECT count(DISTINCT {column}) FROM given").fetchall()
        if n_values > _MOST_CODES:
            codes = f'; if they are codes, write {codes_key} = ["{name}"]' if codes_key else ""
            raise BadInput(
                f"data.source: the numbers of column {name!r} are written with decimal commas; "
                f"{way_out}{codes}"
            )


def sql_texts(texts: Sequence[str]) -> str:
    """Texts as literals of SQL, with commas between them.

    >>> sql_texts(["NA", "don't know"])
    "'NA', 'don''t know'"
    """
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def find_delimiter(path: Path, where: str, encoding: Encoding = "utf-8") -> str:
    """The delimiter of the first line, which names the columns."""
    if encoding != "utf-16":
        refuse_other_encoding(path, where)
    try:
        with open_text_file(path, encoding) as file:
            first = file.readline()
    except UnicodeError:
        raise _other_encoding(path, where) from None
    except (OSError, EOFError) as error:
        raise BadInput(f"{_file_place(path, where)} cannot be read: {error}; is the file whole?") from None
    if not first.strip():
        raise BadInput(
            f"{_file_place(path, where)} is empty, or begins with an empty line; name the columns there"
        )
    return max(DELIMITERS, key=first.count)


def first_rows(path: Path, delimiter: str, encoding: Encoding, n_rows: int) -> list[list[str]]:
    """The first rows of a text file; none where it cannot be divided into rows: DuckDB's message follows."""
    with open_text_file(path, encoding) as lines:
        try:
            return [row for row, _ in zip(csv.reader(lines, delimiter=delimiter), range(n_rows))]
        except (csv.Error, UnicodeError):
            return []


def refuse_title(path: Path, where: str, delimiter: str = ",", encoding: Encoding = "utf-8") -> None:
    """Refuse a text file with lines above the one that names the columns."""
    if line := _line_below_title(path, delimiter, encoding):
        raise BadInput(
            f"{_file_place(path, where)}: the first line has fewer values than the rows from line {line} on; "
            f"if it is a title, delete all lines above line {line}, so that the file begins with the names "
            "of its columns"
        )


def _line_below_title(path: Path, delimiter: str, encoding: Encoding) -> int | None:
    """The number of the line that seems to name the columns, where those above it seem to be a title.

    A title begins in the first column. Below names there are numbers or dates: without any, lines with
    another delimiter may be lists in one column, such as Action|Comedy.
    """
    for one in (delimiter, *(other for other in DELIMITERS if other != delimiter)):
        first, *rows = first_rows(path, one, encoding, _MOST_TITLE_LINES) or [[]]
        n_named = sum(bool(value.strip()) for value in first)
        n_columns = next((len(row) for row in reversed(rows) if row), 0)
        if n_columns == len(first) > 1 and (2 * n_named > n_columns or not first[0].strip()):
            return None  # the first line names the columns
        if one != delimiter and not any(_is_value(value.strip()) for row in rows for value in row):
            continue
        for line, (row, below) in enumerate(pairwise(rows), 2):
            names = [value.strip() for value in row if value.strip()]
            if 1 < n_columns == len(names) == len(below) > n_named and not any(map(_is_value, names)):
                return line
    return None


def _is_value(text: str) -> bool:
    """Whether a text is a number or a date, which is no name of a column."""
    return bool(VALUE_NOT_NAME.fullmatch(text) or re.fullmatch(r"[+-]?[\d.,]+", text))


def _other_encoding(path: Path, where: str) -> BadInput:
    return BadInput(
        f'{_file_place(path, where)} is not in UTF-8; write encoding = "latin-1" in the data table of the '
        "plan, or save the file in UTF-8"
    )


def open_text_file(path: Path, encoding: Encoding = "utf-8") -> TextIO:
    """Open a text file that may be compressed and may begin with a mark of its encoding."""
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding=name, newline="")
    return path.open(encoding=name, newline="")


def _file_place(path: Path, where: str) -> str:
    """Where a file is named, and its name, which is said once."""
    return where if where == str(path) else f"{where}: {path.name}"


def _read_error(error: Exception, path: Path, text: TextFormat) -> str:
    if "sniffing" not in str(error):
        return f"{duckdb_error_line(error)}; is the file whole?"
    row = "a row"
    if line := _first_uneven_line(path, text):
        row = f"the row that ends in line {line}"
    return f"{row} has more or fewer values than the first line has names, or a quote is not closed; fix it"


def _first_uneven_line(path: Path, text: TextFormat) -> int | None:
    """The number of the last line of the first row that has more or fewer values than the first row."""
    delimiter = find_delimiter(path, path.name, text.encoding)
    with open_text_file(path, text.encoding) as lines, suppress(csv.Error, UnicodeError):
        rows = csv.reader(lines, delimiter=delimiter)
        n_names = len(next(rows, []))
        for row in rows:
            if row and len(row) != n_names:
                return rows.line_num
    return None
