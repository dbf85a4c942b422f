"""SQL that makes texts, numbers and times of what stands in a file; null where that cannot be done."""

from dataclasses import dataclass

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.reading.rows import Field, quoted

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0, "d": 86_400.0}
EARLIEST, LATEST = -2_208_988_800, 7_258_118_400  # 1900 and 2200; a time beyond is a mistake

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, *(f"U{name}" for name in _WHOLE), "FLOAT", "DOUBLE", "DECIMAL")
_TEXTS = ("VARCHAR", "ENUM", "UUID", "BLOB")
_WALLS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE")
_INSTANTS = ("TIMESTAMP WITH TIME ZONE",)

NOTHING = "NULL::DOUBLE"
# 1: a number; 2: a date and time with a zone; 3: one without. The second line is there for speed.
_KIND = """CASE WHEN substr(lg_words, 5, 1) NOT IN ('-', '/') THEN 1
    WHEN length(lg_words) = 19 AND substr(lg_words, 17, 1) = ':' THEN 3
    WHEN regexp_matches(substr(lg_words, 12), '[A-Za-z+-]') THEN 2 ELSE 3 END"""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How a column of times is to be understood.

    Numbers count units from ``origin``, or else from 1970 in UTC. The origin, and times without a zone, are
    on the wall clock if ``local``, or else in UTC.
    """

    unit: float = 1.0
    origin: int | None = None
    format: str | None = None
    local: bool = True


def text(field: Field) -> str:
    """SQL for a name; blank is missing, and a number is written without a decimal point if it is whole."""
    if _base(field) in ("FLOAT", "DOUBLE"):
        whole = f"CAST(CAST({field.sql} AS BIGINT) AS VARCHAR)"
        written = f"CASE WHEN {field.sql} = floor({field.sql}) AND abs({field.sql}) < 1e15 THEN {whole} "
        return f"CASE WHEN isfinite({field.sql}) THEN {written} ELSE CAST({field.sql} AS VARCHAR) END END"
    if _base(field) in _NUMBERS:
        return f"CAST({field.sql} AS VARCHAR)"
    return f"nullif(trim(CAST({field.sql} AS VARCHAR)), '')"


def number(field: Field, scale: float = 1.0) -> str:
    """SQL for a number."""
    plain = field.sql if _base(field) == "DOUBLE" else f"try_cast({field.sql} AS DOUBLE)"
    return scaled(plain, scale)


def scaled(sql: str, scale: float) -> str:
    """SQL for a number times a scale; one such as 1e-5 divides, which gives what reading decimals would.

    >>> scaled("x", 1e-5)
    '(x / 100000.0)'
    """
    if scale == 1.0:
        return sql
    inverse = float(round(1 / scale)) if scale < 1 else 0.0
    return f"({sql} / {inverse!r})" if inverse and 1 / inverse == scale else f"({sql} * {scale!r})"


def times(field: Field, timing: Timing, where: str) -> tuple[str, str]:
    """SQL for the instant (seconds since 1970 in UTC) and the time on the wall clock; one of them is null.

    Its columns are those of the relation that ``prepared`` makes.
    """
    base = _base(field)
    if base in _NUMBERS:
        return _counted(number(field), timing)
    if base in _INSTANTS:
        return f"epoch({field.sql})", NOTHING
    if base in _WALLS:
        return _unzoned(f"epoch(CAST({field.sql} AS TIMESTAMP))", timing)
    if base in _TEXTS:
        return _written(timing)
    raise BadInput(
        f"{where}: the column of times holds {field.type}; numbers, texts and timestamps can be read"
    )


def prepared(field: Field, relation: str) -> str:
    """A relation with the text of a time and what kind it is, where times are texts."""
    if _base(field) not in _TEXTS:
        return relation
    words = f"trim(CAST({field.sql} AS VARCHAR))"
    return f"(SELECT *, {_KIND} AS lg_kind FROM (SELECT *, {words} AS lg_words FROM {relation}))"


def good_time(seconds: str) -> str:
    """SQL for whether a time is there and can be meant."""
    return f"coalesce({seconds} BETWEEN {EARLIEST} AND {LATEST}, false)"


def good_point(lat: str, lon: str) -> str:
    """SQL for whether coordinates are there and lie on the earth; not a number fails."""
    return f"coalesce({lat} BETWEEN -90 AND 90 AND {lon} BETWEEN -180 AND 180, false)"


def _written(timing: Timing) -> tuple[str, str]:
    if timing.format is not None:
        parsed = f"epoch(try_strptime(lg_words, {quoted(timing.format)}))"
        return (parsed, NOTHING) if "%z" in timing.format.lower() else _unzoned(parsed, timing)
    kinds = (
        _counted("try_cast(lg_words AS DOUBLE)", timing),
        ("epoch(try_cast(lg_words AS TIMESTAMPTZ))", NOTHING),
        _unzoned("epoch(try_cast(lg_words AS TIMESTAMP))", timing),
    )
    utc, wall = (f"CASE lg_kind WHEN 1 THEN {a} WHEN 2 THEN {b} ELSE {c} END" for a, b, c in zip(*kinds))
    return utc, wall


def _counted(count: str, timing: Timing) -> tuple[str, str]:
    seconds = scaled(count, timing.unit)
    return (seconds, NOTHING) if timing.origin is None else _unzoned(f"({timing.origin} + {seconds})", timing)


def _unzoned(seconds: str, timing: Timing) -> tuple[str, str]:
    return (NOTHING, seconds) if timing.local else (seconds, NOTHING)


def _base(field: Field) -> str:
    return field.type.partition("(")[0].strip()
