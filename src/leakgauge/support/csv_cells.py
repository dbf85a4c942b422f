"""CSV in which a spreadsheet finds no formula: how every file of ours is written and read."""

import csv
import re
from collections.abc import Iterable, Iterator

from leakgauge.support.visible_text import visible

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile('[",\r\n]')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Write rows; an apostrophe comes before a text that a spreadsheet would take for a formula.

    Control and bidirectional characters are written as escapes, which stay.

    >>> csv_lines([("=1+1", "-0.5", -0.5, "'@a", "it's")])
    "'=1+1,-0.5,-0.5,''@a,it's\\n"
    """
    return "".join(f"{','.join(map(_cell, row))}\n" for row in rows)


def read_csv_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    """Read rows without these apostrophes.

    >>> list(read_csv_lines(["'=1+1,-0.5,''@a,it's"]))
    [['=1+1', '-0.5', "'@a", "it's"]]
    """
    for row in csv.reader(lines):
        yield [cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell for cell in row]


def _cell(value: object) -> str:
    text = "" if value is None else visible(str(value))
    if isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    if not _QUOTED.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'
