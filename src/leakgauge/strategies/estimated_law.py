"""The law of a pipeline that nobody wrote down, estimated from shadows: true counts and their outputs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.strategies.symbols import Ints, Symbols
from leakgauge.strategies.tallies import Tail, Tally
from leakgauge.strategies.tally_fits import moving, standing

_LEAST = 100  # pairs
_SHARES = (1.0, 0.5, 0.0)
_ENTRIES = 2**22  # of a table, at most, ...
_FEW, _COUNTS = 50, 500  # ... over so many counts, at least and at most


@dataclass(frozen=True, eq=False)
class EstimatedLaw:
    """P(output | count) as a table; beyond it, a tail that falls evenly with the distance from the count.

    Outputs that are not whole are seen in steps of a power of two, about a sixteenth of their spread; values
    that recur exactly (from a clamp, or suppression) are kept apart. For counts beyond those of the shadows,
    and beyond the 500 least of them, the law of the nearest one is moved.
    """

    symbols: Symbols
    first_count: int
    table: Reals  # logs of probabilities: counts x symbols
    tail: Tail
    log_rest: float  # how much of the tail lies beyond the table

    @classmethod
    def of(cls, counts: npt.ArrayLike, outputs: npt.ArrayLike) -> "EstimatedLaw":
        """Estimate from shadows: rows are releases, columns cells; all cells are taken to have the same law.

        Two ways are tried, learned from every other row and judged by the likelihood of the rows between.
        Either outputs move with the count, but for values that take up what is clamped or suppressed; or each
        count has a law of its own, smoothed by those of its neighbours.
        """
        true, seen = np.asarray(counts, dtype=np.int64), np.asarray(outputs, dtype=np.float64)
        if true.shape != seen.shape or not np.isfinite(seen).all() or seen.size < _LEAST:
            raise BadInput(
                f"the law of a pipeline needs {_LEAST} finite outputs or more, each with its count; "
                f"got {seen.size} for {true.size}"
            )
        true, seen, symbols = _gathered(true, seen)
        ends = int(true.min()), int(true.max())
        halves = [Tally.of(symbols, true[start::2], seen[start::2], ends) for start in (0, 1)]
        whole = Tally(symbols, ends[0], halves[0].times + halves[1].times)
        fits = _fits(whole)
        merits = [halves[1].log_likelihood(fit(halves[0])) for fit in fits]
        law = fits[int(np.argmax(merits))](whole)
        return cls(symbols, ends[0], np.log(law), whole.tail, -np.log(seen.size + 2.0))

    @property
    def whole(self) -> bool:
        return self.symbols.whole

    def coarse(self, outputs: Reals) -> Reals:
        """Outputs that this law tells apart: the lower ends of bins, and values of their own."""
        lower = np.floor(outputs / self.symbols.step) * self.symbols.step
        return np.where(self.symbols.atom(outputs) >= 0, outputs, lower)

    def log_law(self, outputs: npt.ArrayLike, counts: npt.ArrayLike) -> Reals:
        """Log probability of outputs (of values of their own), or log density, given counts."""
        seen, true = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(counts, dtype=np.int64)
        )
        rows = np.clip(true - self.first_count, 0, len(self.table) - 1)
        beyond = true - self.first_count - rows
        atom, bins = self.symbols.atom(seen), self.symbols.bins(seen) - self.symbols.per_count * beyond
        inside = (bins >= 0) & (bins < self.symbols.n_bins)
        found = self.table[rows, np.where(atom >= 0, atom, np.where(inside, bins, 0))]
        distances = self.symbols.bins(seen) + self.symbols.first - self.symbols.per_count * true
        rest = self.log_rest + self.tail.log_at(distances.astype(np.float64))
        law = np.where(inside, found, rest) - np.log(self.symbols.step)
        law = np.where(atom >= 0, found, law)
        return np.where(seen == np.floor(seen), law, -np.inf) if self.whole else law


def _gathered(counts: Ints, outputs: Reals) -> tuple[Ints, Reals, Symbols]:
    """Take the largest counts for smaller ones, outputs moved along, until a table holds all."""
    most = _COUNTS
    while True:
        excess = np.maximum(counts - int(counts.min()) - most + 1, 0)
        true, seen = counts - excess, outputs - np.where(outputs == 0, 0, excess)
        symbols = Symbols.of(seen.ravel(), true.ravel())
        if most <= _FEW or symbols.n * most <= _ENTRIES:
            return true, seen, symbols
        most = max(_FEW, _ENTRIES // symbols.n)


def _fits(tally: Tally) -> list[Callable[[Tally], Reals]]:
    most = np.array([int(tally.times.sum(axis=0).argmax())])
    lumps = [np.empty(0, dtype=np.int64), most]
    return [
        *(partial(_moving, lumps=start) for start in lumps),
        *(partial(_standing, share=s) for s in _SHARES),
    ]


def _moving(tally: Tally, lumps: Ints) -> Reals:
    return tally.safe(moving(tally, lumps), np.full(len(tally.times), tally.times.sum()))


def _standing(tally: Tally, share: float) -> Reals:
    return tally.safe(standing(tally, share), tally.times.sum(axis=1))
