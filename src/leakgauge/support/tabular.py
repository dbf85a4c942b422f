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
JSON_LINES = (".jsonl", ".ndjson")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
DELIMITERS = (",", ";", "\t", "|")
_REASONS = ("Expected", "Invalid", "Error when converting", "Maximum", "Value with", "It was not possible")
_CELL = re.compile(r"""\b(string|value) (?:"(?:[^"]|"(?! to\b))*"|'(?:[^']|'(?! to\b))*'|-?\d\S*)""")
_LONGEST_ERROR = 300  # characters of a message
VALUE_NOT_NAME = re.compile(
    r"[+-]?\d+[.]\d+|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{2,4}.*"
)  # in a first line
_MOST_TITLE_LINES = 20
_WHOLE = r"[+-]?\d+([eE][+-]?\d+)?"
_CODE = r"0\d+"  # such as 0012: a number would lose its first zeros
_COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"
_POINT = r"[+-]?(\d*[.]\d+|\d+[.])([eE][+-]?\d+)?"
_LIST = r"[\d, ]+"  # also of codes
_COMMA_THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+"
_POINT_THOUSANDS = r"[+-]?[1-9]\d{0,2}([.]\d{3})+"
_GROUPED = r"[+-]?[1-9]\d{0,2}(([.]\d{3})+,|(,\d{3})+[.]|([ \x{a0}\x{202f}'\x{2019}]\d{3})+[.,])\d+"
_POINT_TIME = r"([01]?\d|2[0-3])[.][0-5]\d|(0?[1-9]|[12]\d|3[01])[.](0?[1-9]|1[0-2])"
MISSING_WORDS = (
    *("na", "n/a", "#n/a", "n.a.", "nan", "null", "\\n", "none", "nil", "missing", "unknown", "-", "--"),
    *("?", ".", "*", "k.a.", "k. a.", "keine angabe", "nd", "s/d", "s.d."),
)  # in lower case
NUMERIC_SHARE = 0.5  # of the texts of a column; from there it was meant to hold numbers
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


@contextmanager
def open_json_lines(path: Path, where: str) -> Iterator[tuple[Connection, dict[str, str]]]:
    """Yield a database with the objects of a file as its table ``given``, and the types of its columns."""
    import duckdb

    with open_database() as connection:
        try:
            connection.execute("CREATE TABLE given AS SELECT * FROM read_json(?)", [glob.escape(str(path))])
        except duckdb.Error as error:
            raise BadInput(
                f"{_file_place(path, where)} cannot be read: {duckdb_error_line(error)}; write one object on "
                "each line"
            ) from None
        yield connection, {name: kind for name, kind, *_ in connection.execute("DESCRIBE given").fetchall()}


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
    if share == 1 and not _count_texts(connection, name, missing, limit=_FIRST).have_decimals(",", share):
        return None  # most columns of texts are known by their first rows
    if not _count_texts(connection, name, missing).have_decimals(",", share):
        return None
    return "store them as numbers" if path.name.lower().endswith(PARQUET) else 'write decimal = ","'


@dataclass(frozen=True, kw_only=True)
class _TextCounts:
    """How many texts of a column are what."""

    given: int
    distinct: int
    empty: int
    missing: int  # words such as NA
    lists: int  # such as 1,2,3
    whole: int  # numbers without a mark
    codes: int  # of them, those such as 0012
    commas: int  # numbers with a decimal comma
    comma_thousands: int  # those such as 1,234
    points: int
    point_thousands: int  # those such as 1.234
    point_times: int  # those such as 14.30 and 31.12, which may be times of day and days
    grouped: int  # numbers with one mark between thousands and another before decimals, such as 1.234,56

    def numbers(self, decimal: str) -> int:
        """How many are numbers with this mark before decimals, or without decimals."""
        return self.whole + (self.commas if decimal == "," else self.points)

    def have_decimals(self, decimal: str, share: float) -> bool:
        """Whether this share are numbers, some of them with this mark before decimals."""
        if self.lists or self.empty + self.numbers(decimal) < share * self.given:
            return False
        if decimal == ",":
            return self.commas > self.comma_thousands
        return self.points > max(self.point_thousands, self.point_times)

    @property
    def are_grouped(self) -> bool:
        """Whether most are numbers, some of them with marks between thousands."""
        numbers = self.whole + self.commas + self.points + self.grouped
        return self.grouped > 0 and self.empty + numbers >= NUMERIC_SHARE * self.given


def _count_texts(
    connection: Connection, name: str, missing: Sequence[str], limit: int | None = None
) -> _TextCounts:
    column = '"' + name.replace('"', '""') + '"'
    texts = f"SELECT trim(CAST({column} AS VARCHAR)) AS it FROM given WHERE {column} IS NOT NULL"
    if missing:
        texts += f" AND trim(CAST({column} AS VARCHAR)) NOT IN ({sql_texts(missing)})"
    texts += "" if limit is None else f" LIMIT {limit}"
    matched = {
        "whole": _WHOLE,
        "codes": _CODE,
        "commas": _COMMA,
        "comma_thousands": _COMMA_THOUSANDS,
        "points": _POINT,
        "point_thousands": _POINT_THOUSANDS,
        "point_times": _POINT_TIME,
        "grouped": _GROUPED,
    }
    counted = {
        "given": "true",
        "empty": "it = ''",
        "missing": f"lower(it) IN ({sql_texts(MISSING_WORDS)})",
        "lists": f"regexp_full_match(it, '{_LIST}') AND NOT regexp_full_match(it, '{_COMMA}|{_WHOLE}')",
        **{what: f"regexp_full_match(it, {sql_texts([pattern])})" for what, pattern in matched.items()},
    }
    said = ", ".join(f"coalesce(sum(n) FILTER ({what}), 0)" for what in counted.values())
    ((distinct, *counts),) = connection.execute(
        f"SELECT count(*), {said} FROM (SELECT it, count(*) AS n FROM ({texts}) GROUP BY it)"
    ).fetchall()
    return _TextCounts(distinct=distinct, **{what: int(n) for what, n in zip(counted, counts, strict=True)})


def refuse_other_decimal_marks(
    connection: Connection,
    types: Mapping[str, str],
    path: Path,
    text: TextFormat | None = None,
    *,
    missing: Sequence[str] = (),
    codes_key: str | None = None,
    ids: Sequence[str | None] = (),
) -> None:
    """Refuse a table in which many different numbers would be read as texts, because of marks in them.

    Half of the texts of such a column are numbers. The words of ``missing`` do not count; ``codes_key`` is
    the key of the plan that lists columns of codes. Columns of ``ids``, which name rows or people, may hold
    anything.
    """
    decimal = "." if text is None else text.decimal
    for name in (name for name, kind in types.items() if kind == "VARCHAR" and name not in ids):
        counts = _count_texts(connection, name, missing)
        if counts.distinct <= _MOST_CODES:
            continue
        if counts.are_grouped:
            problem = "have marks between thousands; delete these marks"
        elif decimal == "." and counts.have_decimals(",", NUMERIC_SHARE):
            is_stored = text is None or path.name.lower().endswith(PARQUET)
            way_out = "store them as numbers" if is_stored else 'write decimal = ","'
            problem = f"are written with decimal commas; {way_out}"
        elif decimal == "," and counts.have_decimals(".", NUMERIC_SHARE):
            problem = (
                'are written with decimal points, and the plan says decimal = ","; leave decimal out, or '
                "write commas here too if other columns have them"
            )
        else:
            continue
        codes = f'; if they are codes, write {codes_key} = ["{name}"]' if codes_key else ""
        raise BadInput(f"data.source: the numbers of column {name!r} {problem}{codes}")


def refuse_numbers_as_texts(
    connection: Connection,
    types: Mapping[str, str],
    path: Path,
    text: TextFormat | None = None,
    way_out: str = "leave the cells of these texts empty",
    *,
    ids: Sequence[str | None] = (),
) -> None:
    """Refuse a table in which many different numbers would be read as texts.

    That is because of marks in them (see :func:`refuse_other_decimal_marks`), or of words beside them.
    Without decimals only words such as NA make a column one of numbers: others may be parts of names, and
    texts such as 0012 are codes. In a file that is no text file whole numbers may be stored as texts, because
    they are codes. Columns of ``ids`` are never refused.
    """
    refuse_other_decimal_marks(connection, types, path, text, ids=ids)
    is_stored = text is None or path.name.lower().endswith(PARQUET)
    decimal = "." if text is None else text.decimal
    for name in (name for name, kind in types.items() if kind == "VARCHAR" and name not in ids):
        counts = _count_texts(connection, name, ())
        numbers, filled = counts.numbers(decimal), counts.given - counts.empty
        if counts.distinct <= _MOST_CODES or numbers < NUMERIC_SHARE * filled:
            continue
        has_decimals = counts.have_decimals(decimal, NUMERIC_SHARE)
        if not has_decimals and (is_stored or counts.codes or filled - numbers != counts.missing):
            continue
        if numbers == filled:
            raise BadInput(
                f"data.source: the numbers of column {name!r} are stored as texts; store them as numbers"
            )
        raise BadInput(
            f"data.source: {name!r} of {path.name} holds numbers in {numbers} rows and other texts in "
            f"{filled - numbers}; {way_out}"
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
