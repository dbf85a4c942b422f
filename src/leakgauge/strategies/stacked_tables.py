"""Tables of many rates made at once: strips of alike rates, one below the other."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.columns import Columns
from leakgauge.strategies.laws import Moving, Part
from leakgauge.strategies.rate_groups import bands
from leakgauge.strategies.ratio_tables import Ratios, Table
from leakgauge.strategies.tabulating import Cells, spread_of, tabulate

Ends: TypeAlias = tuple[float, float]

_TAILS = (18.0, 12.0, 8.0, 5.0)  # outputs less likely than e^-18 are left out; or more, to save space
_WIDEST = 2**22  # entries of a table


def strips_of(n_in: int, n_out: int, coins: int, nodes: Reals) -> list[Cells]:
    """Neighbouring rates that share the work, because their counts are alike."""
    edges = np.flatnonzero(np.diff(bands(n_out, nodes, coins))) + 1
    return [Cells(n_in, n_out, coins, rates) for rates in np.split(nodes, edges)]


def stacked_tables(parts: Sequence[Part], strips: list[Cells], most_known: int) -> tuple[Table, ...]:
    """A table for each part of a law, for all outputs that are likely; none where they would be too large."""
    n_rows = sum(cells.rates.size for cells in strips)
    for tail in _TAILS:
        spread = spread_of(parts[0].law, tail)
        ends = [cells.home(spread, tail) for cells in strips]
        if _columns(ends, parts[0].law).n * n_rows <= _WIDEST:
            return tuple(_joined(part.law, strips, _within(ends, part, most_known)) for part in parts)
    return ()


def _within(ends: list[Ends], part: Part, most_known: int) -> list[Ends]:
    """The ends, cut where outputs stand for one place, less the known people.

    A place that is out of reach even then, as the size of the group mostly is, gets a single column.
    """
    if part.only is None:
        return ends
    last = float(part.only)
    lows = [max(low, last - most_known) for low, _ in ends]
    return [
        (min(low, last) if low <= high else last, last) for low, (_, high) in zip(lows, ends, strict=True)
    ]


def _columns(ends: list[Ends], law: Moving) -> Columns:
    return Columns.over(min(low for low, _ in ends), max(high for _, high in ends), law.between)


def _joined(law: Moving, strips: list[Cells], ends: list[Ends]) -> Table:
    """One table of all strips, one below the other; NaN where outputs are unlikely."""
    columns = _columns(ends, law)
    parts = []
    for cells, (low, high) in zip(strips, ends, strict=True):
        first = int((low - columns.first) / columns.step)
        last = min(int(np.ceil((high - columns.first) / columns.step)), columns.n - 1)
        parts.append((first, tabulate(law, cells, columns.part(first, last))))
    present = _stacked([(first, table.present) for first, table in parts], columns.n)
    absent = [(first, table.absent) for first, table in parts if table.absent is not None]
    return Table(columns, present, _stacked(absent, columns.n) if absent else None)


def _stacked(parts: list[tuple[int, Ratios]], n: int) -> Ratios:
    def stack(pieces: list[Reals], width: int) -> Reals:
        blank = [np.full((piece.shape[0], width), np.nan) for piece in pieces]
        for page, (first, _), piece in zip(blank, parts, pieces, strict=True):
            page[:, first : first + piece.shape[1]] = piece
        return np.concatenate(blank)

    rises = max(n - 1, 0) if parts[0][1].rise_in.size else 0
    return Ratios(
        stack([ratios.at for _, ratios in parts], n),
        stack([ratios.rise_in for _, ratios in parts], rises),
        stack([ratios.rise_out for _, ratios in parts], rises),
    )
