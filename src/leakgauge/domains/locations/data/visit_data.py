"""Loaded visits and friends of the people in them, and how many rows of the files were used or left out."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import NOT_IN_DATA, Traces, people_by_name
from leakgauge.support.required_columns import missing_columns_text
from leakgauge.support.text_encoding import refuse_other_encoding

WHERE = "data.friends"
TARGET, FRIEND = "target", "friend"


@dataclass(frozen=True, eq=False)
class Friends:
    """Pairs of people by their rows in the traces: targets in rising order, and a friend of each."""

    targets: Ints
    friends: Ints

    def of(self, person: int) -> Ints:
        """The friends of a person, without duplicates."""
        first, last = np.searchsorted(self.targets, [person, person + 1])
        return np.unique(self.friends[first:last])


def read_friends(path: Path, traces: Traces) -> Friends:
    """Read a CSV file with the columns ``target`` and ``friend``; both must be people of the data."""
    rows = list(_rows(path))
    if not rows:
        raise BadInput(f"{WHERE}: {path.name} has no rows; each row needs a {TARGET} and a {FRIEND}")
    known = people_by_name(traces)
    for line, *pair in rows:
        for name in pair:
            if name not in known:
                raise BadInput(f"{WHERE}: line {line} of {path.name}: a {TARGET} or {FRIEND} {NOT_IN_DATA}")
        if pair[0] == pair[1]:
            raise BadInput(
                f"{WHERE}: line {line} of {path.name}: a person is their own friend; remove the line"
            )
    targets = np.array([known[target] for _, target, _ in rows], dtype=np.int64)
    friends = np.array([known[friend] for _, _, friend in rows], dtype=np.int64)
    order = np.argsort(targets, kind="stable")
    return Friends(targets[order], friends[order])


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """The pairs of names, each with its line number."""
    refuse_other_encoding(path, WHERE)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            header = [name.strip() for name in next(lines, [])]
            if missing := [name for name in (TARGET, FRIEND) if name not in header]:
                text = missing_columns_text(missing, header, path.name)
                raise BadInput(f"{WHERE}: {text}; name them in the first line")
            columns = [header.index(name) for name in (TARGET, FRIEND)]
            for row in lines:
                if row:
                    target, friend = (row[column].strip() if column < len(row) else "" for column in columns)
                    if not (target and friend):
                        raise BadInput(
                            f"{WHERE}: line {lines.line_num} of {path.name}: a {TARGET} or {FRIEND} is "
                            "missing; fix or remove the line"
                        )
                    yield lines.line_num, target, friend
    except FileNotFoundError:
        raise BadInput(f"{WHERE}: there is no file {path.name!r} in {path.parent}; check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{WHERE}: {path.name} cannot be read ({error}); it must be CSV in UTF-8") from None


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """Numbers of rows: read, kept, and left out by reason. Several kept rows may be one visit of a trace."""

    rows: int
    kept: int
    bad: int = 0
    bad_rows: tuple[str, ...] = ()  # location and wrong part of the first bad rows
    without_point: int = 0  # GeoJSON features without a point; they are not visits
    outside_window: int = 0
    outside_map: int = 0  # in the window, but not in the box or not at one of the top places
    few_visits: int = 0  # of people with fewer visits than the plan wants
    repeated: int = 0  # kept, but of a person and a cell that other rows name too

    @property
    def summary(self) -> str:
        """One line about the rows, without personal data.

        >>> RowCounts(rows=12, kept=9, outside_window=3).summary
        '12 rows read: 9 kept, 3 outside the window'
        """
        parts = {
            "kept": self.kept,
            "outside the window": self.outside_window,
            "outside the map": self.outside_map,
            "of people with fewer than min_visits": self.few_visits,
            "without a point": self.without_point,
            "bad": self.bad,
            "repeated (counted once)": self.repeated,
        }
        counts = ", ".join(f"{n:,} {what}" for what, n in parts.items() if n or what == "kept")
        return f"{self.rows:,} rows read: {counts}"

    @property
    def summary_with_bad_rows(self) -> str:
        """The summary, with the locations of the first bad rows and what is wrong with them.

        >>> RowCounts(rows=3, kept=2, bad=1, bad_rows=("line 4 (time)",)).summary_with_bad_rows
        '3 rows read: 2 kept, 1 bad (first: line 4 (time))'
        """
        return f"{self.summary} (first: {', '.join(self.bad_rows)})" if self.bad_rows else self.summary


@dataclass(frozen=True, eq=False, kw_only=True)
class VisitData:
    """Traces, the counts of the rows they were read from, and a digest that identifies both.

    ``places`` are the names of places, if they have any. ``first`` is the local time at which epoch 0 begins:
    some Monday if folded. A generated city has no date, and begins on a Monday too. ``epoch_seconds`` is the
    length of an epoch. ``release_windows`` are the times of several releases. ``friends`` are the pairs of
    friends, if the plan names a file of them. ``warnings`` say what is odd about the data.
    """

    traces: Traces
    tally: RowCounts
    digest: str
    places: npt.NDArray[np.str_] | None = None
    first: str | None = None
    epoch_seconds: int | None = None
    folded: bool = False
    friends: Friends | None = None
    warnings: tuple[str, ...] = ()
    release_windows: tuple[str, ...] = ()
