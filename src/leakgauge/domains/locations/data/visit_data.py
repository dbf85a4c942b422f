"""Loaded visits, and how many rows of the files were used or left out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.domains.locations.data.friends import Friends
from leakgauge.domains.locations.data.traces import Traces


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """How many rows there were, and why some were left out; in traces a person visits a cell once."""

    rows: int
    kept: int
    bad: int = 0
    bad_rows: tuple[str, ...] = ()  # where the first are, and what is wrong with them
    pointless: int = 0  # features without a point, which are no visits
    outside_window: int = 0
    outside_map: int = 0  # in the window, but not in the box or not at one of the top places

    @property
    def words(self) -> str:
        """One line about the rows; it holds nothing of anybody.

        >>> RowCounts(rows=12, kept=9, outside_window=3).words
        '12 rows read: 9 kept, 3 outside the window'
        """
        parts = {
            "kept": self.kept,
            "outside the window": self.outside_window,
            "outside the map": self.outside_map,
            "without a point": self.pointless,
            "bad": self.bad,
        }
        told = ", ".join(f"{n:,} {what}" for what, n in parts.items() if n or what == "kept")
        return f"{self.rows:,} rows read: {told}"

    @property
    def told(self) -> str:
        """The same, with where the first bad rows are and what is wrong with them.

        >>> RowCounts(rows=3, kept=2, bad=1, bad_rows=("line 4 (time)",)).told
        '3 rows read: 2 kept, 1 bad (first: line 4 (time))'
        """
        return f"{self.words} (first: {', '.join(self.bad_rows)})" if self.bad_rows else self.words


@dataclass(frozen=True, eq=False, kw_only=True)
class VisitData:
    """Traces, the tally of the rows behind them, and a name for both that is the same in every process.

    ``places`` are the names of places, if they have any. ``first`` is where epoch 0 begins, in local time:
    some Monday if folded. A generated city has no date, and begins on a Monday too. ``friends`` is who is
    whose, if the plan names a file of them.
    """

    traces: Traces
    tally: RowCounts
    digest: str
    places: npt.NDArray[np.str_] | None = None
    first: str | None = None
    friends: Friends | None = None
