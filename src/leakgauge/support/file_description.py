"""What a file of the user holds, as far as a first plan needs it: columns, and their types and ranges.

A description holds names of columns and ranges of numbers and times. No other value of the file is in it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.support.member_words import REFERENCE_WORDS, is_member
from leakgauge.support.tabular import (
    DELIMITED,
    JSON_LINES,
    MISSING_WORDS,
    VALUE_NOT_NAME,
    Connection,
    TextFormat,
    find_delimiter,
    first_rows,
    open_json_lines,
    open_table_file,
    refuse_title,
)
from leakgauge.support.text_encoding import find_encoding

ColumnKind: TypeAlias = Literal["whole", "real", "text", "time", "clock", "truth", "other"]

ARRAYS = (".npz",)
CODE = (".py",)
MODELS = (".onnx",)
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_KINDS: dict[str, ColumnKind] = {
    **dict.fromkeys((*_WHOLE, *(f"U{name}" for name in _WHOLE)), "whole"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "DATE", "TIMESTAMP_NS", "TIMESTAMP_S"), "time"),
    "TIME": "clock",
    "BOOLEAN": "truth",
}
_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # of times that are written without marks
_YEARS = "BETWEEN 1970 AND 2100"
_MINUTE = "[0-5][0-9]"
_HOUR = "([01]?[0-9]|2[0-3])"
_CLOCK_FORMATS = {
    "%I:%M %p": rf"(0?[1-9]|1[0-2]):{_MINUTE} [AaPp][Mm]",
    "%I:%M:%S %p": rf"(0?[1-9]|1[0-2]):{_MINUTE}:{_MINUTE} [AaPp][Mm]",
    "%H.%M": rf"{_HOUR}[.]{_MINUTE}",
    "%H%M": rf"([01][0-9]|2[0-3]){_MINUTE}",
    "%H": _HOUR,
}
_MIDNIGHT = "{0} = date_trunc('day', {0})"
_PART_WORDS = {
    *("train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout", "hold-out"),
    *("real", "original", "synthetic", "synth", "generated", "fake"),
}
_MOST_MEMBER_WORDS = 12  # different texts of a column that says who was a member
_FEW = 200  # rows on which formats are tried before all rows are
_COMMA = r"[+-]?\d+(,\d+)?"
_POINT = r"[+-]?\d+([.]\d+)?"
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})*"  # 1,234 may be a thousand
_POINT_THOUSANDS = r"[+-]?[1-9]\d{0,2}([.]\d{3})*"


@dataclass(frozen=True, kw_only=True)
class ColumnDescription:
    """One column: how many different values and gaps it has, and the range of its numbers or times."""

    name: str
    kind: ColumnKind
    n_distinct: int
    n_missing: int
    low: float | None = None  # of numbers; of times in seconds since 1970
    high: float | None = None
    middle: float | None = None  # the median of numbers, about
    zoned: bool = False  # a time that states its distance from UTC
    whole_days: bool = False  # times that are all at midnight, or dates
    has_seconds: bool = True  # of times of day in a text file
    clock_format: str | None = None  # of times of day, or of numbers that may be, not written as 14:05
    says_members: bool = False  # every value says that a row was a member or that it was not, and both occur
    says_parts: bool = False  # every value names a part of a split, such as train, or real and synthetic
    time_formats: tuple[str, ...] = ()  # that fit all times, where they are not written as 2024-05-31 10:00

    @property
    def is_number(self) -> bool:
        return self.kind in ("whole", "real")


@dataclass(frozen=True, kw_only=True)
class FileDescription:
    """A file or folder; ``columns`` is empty where it is no table.

    ``delimiter`` and ``text`` are those of a text file.
    """

    path: Path
    n_rows: int = 0
    columns: tuple[ColumnDescription, ...] = ()
    delimiter: str | None = None
    text: TextFormat = field(default_factory=TextFormat)
    shares: tuple[str, ...] = ()  # columns side by side that add up to 1, or to 100, in every row

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower()

    @property
    def is_json(self) -> bool:
        return is_json(self.path)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> ColumnDescription:
        """Return the column of this name."""
        return next(column for column in self.columns if column.name == name)

    def find(
        self, words: Sequence[str], kinds: Sequence[ColumnKind] = (), *, whole_name: bool = False
    ) -> ColumnDescription | None:
        """Return the column that one of the words names, the first word first.

        A word is the whole name of a column, or, unless ``whole_name`` is set, a part of it that ends at a
        bar, a blank or a change of case: "user" finds "user_id", "userId" and "Home User", not "username".
        """
        able = [column for column in self.columns if not kinds or column.kind in kinds]
        parts = {column.name: name_parts(column.name) for column in able}
        for word in words:
            for column in able:
                if "".join(parts[column.name]) == word.replace("_", ""):
                    return column
        if not whole_name:
            for word in words:
                for column in able:
                    if word in parts[column.name]:
                        return column
        return None


def name_parts(name: str) -> list[str]:
    """The words of a column's name, in lower case and without accents.

    >>> name_parts("userId"), name_parts("Home-User 2"), name_parts("LAT"), name_parts("L\u00e4nge")
    (['user', 'id'], ['home', 'user', '2'], ['lat'], ['lange'])
    """
    name = "".join(
        letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter)
    )
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def describe_file(
    path: Path, *, decimal: str | None = None, ask_decimal: Callable[[], str] | None = None
) -> FileDescription:
    """Describe a file or a folder; a table is read whole.

    ``decimal`` is the mark before decimals of a text file. Where it is not given and the file does not tell,
    ``ask_decimal`` does; without it the file is refused.
    """
    if not path.exists():
        raise BadInput(f"{path}: there is no such file; check the path")
    if path.is_dir() or path.name.lower().endswith((*ARRAYS, *CODE, *MODELS)):
        return FileDescription(path=path)
    if path.stat().st_size == 0:
        raise BadInput(f"{path}: is empty; a table has column names and at least one row")
    delimiter, text = None, TextFormat()
    if path.name.lower().endswith(DELIMITED):
        text = TextFormat(encoding=find_encoding(path))
        delimiter = find_delimiter(path, str(path), text.encoding)
        _require_names(path, delimiter, text)
        decimal = decimal or _find_decimal(path, delimiter, text)
        if decimal is None and ask_decimal is not None:
            decimal = ask_decimal()
        if decimal is None:
            raise BadInput(
                f"{path}: commas in numbers such as 1,234 may be before decimals or between thousands; say "
                'it with --decimal "," (decimals) or --decimal "." (such columns are then text; to have '
                "numbers, delete the commas in the file)"
            )
        text = TextFormat(encoding=text.encoding, decimal="," if decimal == "," else ".")
    with _open(path, text) as (connection, types):
        (n_rows,) = connection.execute("SELECT count(*) FROM given").fetchone()
        if not n_rows:
            raise BadInput(f"{path}: has column names and no row; a table has at least one row")
        columns = tuple(_describe_column(connection, name, kind) for name, kind in types.items())
        shares = _shares(connection, columns)
    if delimiter is not None:
        columns = _describe_written_times(path, delimiter, text, columns)
    return FileDescription(
        path=path, n_rows=n_rows, columns=columns, delimiter=delimiter, text=text, shares=shares
    )


@contextmanager
def _open(
    path: Path, text: TextFormat, *, only_text: bool = False
) -> Iterator[tuple[Connection, dict[str, str]]]:
    if is_json(path):
        with open_json_lines(path, str(path)) as opened:
            yield opened
        return
    others = (*ARRAYS, *CODE, *MODELS, *JSON_LINES)
    with open_table_file(path, str(path), others, text, only_text=only_text) as opened:
        yield opened


def _require_names(path: Path, delimiter: str, text: TextFormat) -> None:
    """Refuse a file whose first line does not name the columns: a title, or values."""
    names = next(iter(first_rows(path, delimiter, text.encoding, 1)), [])
    if any(VALUE_NOT_NAME.fullmatch(name.strip()) for name in names):
        raise BadInput(
            f"{path}: the first line holds values, not names of columns; add a line of names above it"
        )
    n_named = sum(bool(name.strip()) for name in names)
    refuse_title(path, str(path), delimiter, text.encoding)
    if 2 * n_named < len(names):
        raise BadInput(
            f"{path}: the first line names {n_named} of {len(names)} columns; delete the lines above the one "
            "with the names"
        )


def _find_decimal(path: Path, delimiter: str, text: TextFormat) -> str | None:
    """The mark before decimals, as the columns of the first rows say; nothing where they do not tell.

    Groups of three digits after a comma may be thousands: other columns tell, or else the user.
    """
    rows = first_rows(path, delimiter, text.encoding, _FEW + 1)[1:]
    decimals = thousands = points = False
    for values in zip(*rows, strict=False):
        given = [value.strip() for value in values if value.strip().lower() not in ("", *MISSING_WORDS)]
        with_comma = [value for value in given if "," in value]
        if all(re.fullmatch(_THOUSANDS, value) for value in with_comma):
            points |= any(value.count(",") > 1 for value in with_comma)  # 1,234,567
            thousands |= bool(with_comma) and all(re.fullmatch(_COMMA, value) for value in given)
        else:
            decimals |= all(re.fullmatch(_COMMA, value) for value in given)
        points |= _has_point_decimals(given)
    if decimals and points:
        return None
    if decimals or points or not thousands or delimiter != ";":
        return "," if decimals else "."
    return None


def _has_point_decimals(values: Sequence[str]) -> bool:
    """Whether numbers have a point before their decimals: not all are thousands or times of day."""
    with_point = [value for value in values if "." in value]
    return (
        bool(with_point)
        and all(re.fullmatch(_POINT, value) for value in values)
        and not all(re.fullmatch(_POINT_THOUSANDS, value) for value in with_point)
        and _clock_format(with_point) is None
    )


def _describe_written_times(
    path: Path, delimiter: str, text: TextFormat, columns: tuple[ColumnDescription, ...]
) -> tuple[ColumnDescription, ...]:
    """Find the formats of columns whose values are dates in another form than 2024-05-31.

    DuckDB reads some of them and chooses between day and month by itself; here both are kept.
    """
    rows = first_rows(path, delimiter, text.encoding, _FEW + 1)[1:]
    able, short, clocks = {}, set(), {}
    for i, column in enumerate(columns):
        few = [row[i].strip() for row in rows if len(row) > i and row[i].strip()]
        if column.kind == "clock" and all(value.count(":") == 1 for value in few):
            short.add(column.name)
        if column.kind in ("text", "time", "whole") and (formats := _fitting_formats(few)):
            able[column.name] = formats
        if column.kind in ("text", "whole", "real"):
            clocks[column.name] = _clock_format(few)
    columns = tuple(
        replace(column, has_seconds=column.name not in short, clock_format=clocks.get(column.name))
        for column in columns
    )
    if not able:
        return columns
    with _open(path, text, only_text=True) as (connection, _):
        return tuple(
            _with_formats(connection, column, able[column.name]) if column.name in able else column
            for column in columns
        )


def _fitting_formats(values: Sequence[str]) -> list[str]:
    """The formats of dates that fit all of a few values."""
    if not values:
        return []
    if all(value.isdigit() for value in values):
        lengths = {len(value) for value in values}
        formats = [_DIGITS[min(lengths)]] if len(lengths) == 1 and min(lengths) in _DIGITS else []
    else:
        formats = [f"{day}{clock}" for day in _DATES for clock in _CLOCKS]
    return [form for form in formats if all(_fits(value, form) for value in values)]


def _clock_format(values: Sequence[str]) -> str | None:
    """The format of times of day that fits all of a few values; hours alone must pass 12."""
    for form, pattern in _CLOCK_FORMATS.items():
        if values and all(re.fullmatch(pattern, value) for value in values):
            return form if form != "%H" or any(int(value) > 12 for value in values) else None
    return None


def _fits(value: str, form: str) -> bool:
    try:
        return 1970 <= datetime.strptime(value, form).replace(tzinfo=UTC).year <= 2100
    except ValueError:
        return False


def _with_formats(
    connection: Connection, column: ColumnDescription, formats: Sequence[str]
) -> ColumnDescription:
    """The column with those formats that fit all its values, and its ends by the first of them."""
    written = f"nullif(trim({_quoted(column.name)}), '')"
    fitting: list[str] = []
    ends: tuple[float | None, float | None] = (None, None)
    whole_days = False
    for form in formats:
        parsed = f"try_strptime({written}, '{form}')"
        good = f"coalesce(year({parsed}) {_YEARS}, false)"
        (n_bad, low, high, at_midnight) = connection.execute(
            f"SELECT count(*) FILTER (WHERE {written} IS NOT NULL AND NOT {good}), "
            f"min({parsed}), max({parsed}), bool_and({_MIDNIGHT.format(parsed)}) FROM given"
        ).fetchone()
        if not n_bad:
            if not fitting:
                ends = (_number(low), _number(high))
                whole_days = bool(at_midnight) and form not in (_DIGITS[12], _DIGITS[14])
            fitting.append(form)
    if not fitting:
        return column
    kind: ColumnKind = column.kind if column.kind == "whole" else "time"
    return replace(
        column,
        kind=kind,
        time_formats=tuple(fitting),
        low=ends[0],
        high=ends[1],
        middle=None,
        whole_days=whole_days,
    )


def is_json(path: Path) -> bool:
    """Whether a file holds a table as JSON lines, by its ending."""
    return path.name.lower().endswith(JSON_LINES)


def _describe_column(connection: Connection, name: str, duckdb_type: str) -> ColumnDescription:
    kind = _KINDS.get(duckdb_type.partition("(")[0], "other")
    quoted = _quoted(name)
    zoned = duckdb_type == "TIMESTAMP WITH TIME ZONE"
    given = f"epoch({quoted})" if zoned else quoted  # Python would need a library for zones to read it
    ends = f"min({given}), max({given})" if kind in ("whole", "real", "time") else "NULL, NULL"
    middle = f"approx_quantile({quoted}, 0.5)" if kind in ("whole", "real") else "NULL"
    counted = "0" if kind == "other" else f"count(DISTINCT {quoted})"
    whole_days = f"bool_and({_MIDNIGHT.format(given)})" if kind == "time" and not zoned else "false"
    (n_distinct, n_given, n_rows, low, high, median, at_midnight) = connection.execute(
        f"SELECT {counted}, count({quoted}), count(*), {ends}, {middle}, {whole_days} FROM given"
    ).fetchone()
    able = kind in ("whole", "real", "text", "truth") and 2 <= n_distinct <= _MOST_MEMBER_WORDS
    return ColumnDescription(
        name=name,
        kind=kind,
        n_distinct=n_distinct,
        says_members=able and _says_members(connection, quoted),
        says_parts=able and _distinct_words(connection, quoted) <= _PART_WORDS,
        n_missing=n_rows - n_given,
        low=_number(low),
        high=_number(high),
        middle=_number(median),
        zoned=zoned,
        whole_days=bool(at_midnight),
    )


def _says_members(connection: Connection, quoted: str) -> bool:
    """Whether a column says who was a member: with both answers, and nothing else but rows of an attacker."""
    words = _distinct_words(connection, quoted)
    return {is_member(word) for word in words if word not in REFERENCE_WORDS} == {True, False}


def _distinct_words(connection: Connection, quoted: str) -> set[str]:
    words = connection.execute(
        f"SELECT DISTINCT lower(trim(CAST({quoted} AS VARCHAR))) FROM given WHERE {quoted} IS NOT NULL"
    ).fetchall()
    return {word for (word,) in words}


def _shares(connection: Connection, columns: Sequence[ColumnDescription]) -> tuple[str, ...]:
    """Columns side by side that add up to 1, or to 100, in every row, as the answers of a model do."""

    def is_share(column: ColumnDescription) -> bool:
        return (
            column.kind == "real" and column.low is not None and 0 <= column.low <= (column.high or 0) <= 100
        )

    found: list[str] = []
    for able, run in groupby(columns, is_share):
        names = [column.name for column in run]
        if able and len(names) > 1:
            total = " + ".join(map(_quoted, names))
            (low, high) = connection.execute(f"SELECT min({total}), max({total}) FROM given").fetchone()
            whole = 1 if low is not None and low < 2 else 100
            if low is not None and 0.99 * whole <= low <= high <= 1.01 * whole:
                found += names
    return tuple(found)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(value: Any) -> float | None:
    """A number, or seconds since 1970 of a time; a time without a zone counts as UTC."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return float(value)
