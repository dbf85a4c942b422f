"""Loaded visits, and how many rows of the files were used or left out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.domains.locations.data.friends import Friends
from leakgauge.domains.locations.data.traces import Traces


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
            "without a point": self.without_point,
            "bad": self.bad,
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
    some Monday if folded. A generated city has no date, and begins on a Monday too. ``friends`` are the pairs
    of friends, if the plan names a file of them.
    """

    traces: Traces
    tally: RowCounts
    digest: str
    places: npt.NDArray[np.str_] | None = None
    first: str | None = None
    friends: Friends | None = None
