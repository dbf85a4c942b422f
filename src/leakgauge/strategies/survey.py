"""A first look at the outputs: which places hold numbers, which hold few symbols, which tell most."""

from dataclasses import dataclass

import numpy as np

from leakgauge.strategies.cells import Kind
from leakgauge.strategies.clues import Clue, Reader, Sample
from leakgauge.strategies.marks import Exact
from leakgauge.strategies.measures import Coordinate
from leakgauge.strategies.outputs import Table

_FEW = 20  # different values make a place discrete
_LOOK = 2000  # rounds looked at where a look is enough
_NARROW = 32  # places that are all looked at in full


@dataclass(frozen=True, eq=False)
class Survey:
    """Places of a table, the most telling first, and what is usual at them."""

    places: tuple[int, ...]
    numeric: tuple[int, ...]  # those that hold numbers, and more than one
    discrete: tuple[int, ...]  # those that hold few different values, in their own order
    real: frozenset[int]  # those that hold numbers with a fraction
    centre: dict[int, float]  # medians of numeric places
    size: dict[int, float]  # medians of their absolute values
    symbols: tuple[int, ...]  # found at many places, or more often in one world


def survey(sample: Sample) -> Survey:
    """Look at shadows before learning from them."""
    table = sample.reader.table
    worth = _worth(sample)
    places = tuple(sorted(worth, key=lambda place: -worth[place]))
    known = {place: _finite(table, place) for place in places}
    numeric = tuple(
        p for p in places if known[p].size > 0.01 * len(table) and (known[p] != known[p][0]).any()
    )
    few = sorted(p for p in places if np.unique(table.keys[:_LOOK, p]).size <= _FEW)
    return Survey(
        places=places,
        numeric=numeric,
        discrete=tuple(few),
        real=frozenset(p for p in numeric if (known[p] != np.floor(known[p])).any()),
        centre={place: float(np.median(known[place])) for place in numeric},
        size={place: float(np.median(np.abs(known[place]))) for place in numeric},
        symbols=_symbols(sample),
    )


def varying(table: Table) -> list[int]:
    """Return the places where not always the same thing stands."""
    return [
        place
        for place in range(len(table.paths))
        if (table.keys[:, place] != table.keys[0, place]).any()
        or (table.kinds[:, place] != table.kinds[0, place]).any()
    ]


def most_telling(sample: Sample, most: int) -> list[int]:
    """Return the places that tell most, in their own order."""
    worth = _worth(sample)
    return sorted(sorted(worth, key=lambda place: -worth[place])[:most])


def _worth(sample: Sample) -> dict[int, float]:
    """What each place tells by itself; in wide tables a look at some rounds must do."""
    n_places = len(sample.reader.table.paths)
    if n_places > _NARROW:
        sample = Sample(Reader(sample.reader.table.rows(slice(_LOOK))), sample.members[:_LOOK])
    worth = {}
    for place in range(n_places):
        worth[place] = sample.worth(Clue(Exact((place,))))
        if _finite(sample.reader.table, place).size:
            worth[place] = max(worth[place], sample.worth(Clue(Coordinate(place), 16)))
    return worth


def _finite(table: Table, place: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = table.numbers[:, place]
    return numbers[np.isfinite(numbers)]


def _symbols(sample: Sample) -> tuple[int, ...]:
    """Pick symbols worth counting: the most frequent ones, and those that differ most between the worlds."""
    rows = slice(max(1, min(len(sample.members), 400_000 // max(1, len(sample.reader.table.paths)))))
    there = sample.reader.table.kinds[rows] != Kind.MISSING
    keys = sample.reader.table.keys[rows][there]
    members = np.broadcast_to(sample.members[rows, None], there.shape)[there]
    known, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = counts > max(5, 0.001 * keys.size)
    with_target = np.bincount(which[members], minlength=known.size)
    differs = np.where(often, np.abs(2 * with_target - counts) / np.sqrt(counts), 0.0)
    chosen = [*np.argsort(-counts, kind="stable")[:6], *np.argsort(-differs, kind="stable")[:6]]
    return tuple(int(known[place]) for place in dict.fromkeys(map(int, chosen)) if often[place])
