"""CSV in which a spreadsheet finds no formula: how every file of ours is written and read."""

import csv
import io
import re
from collections.abc import Iterable, Iterator

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """Write rows; an apostrophe comes before a text that a spreadsheet would take for a formula.

    >>> csv_lines([("=1+1", "-0.5", -0.5, "'@a", "it's")])
    "'=1+1,-0.5,-0.5,''@a,it's\\n"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_guarded, rows))
    return text.getvalue()


def read_csv_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    """Read rows without these apostrophes.

    >>> list(read_csv_lines(["'=1+1,-0.5,''@a,it's"]))
    [['=1+1', '-0.5', "'@a", "it's"]]
    """
    for row in csv.reader(lines):
        yield [cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell for cell in row]


def _guarded(cells: Iterable[object]) -> list[object]:
    return [
        f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell
        for cell in cells
    ]
