"""How strongly a symbol or a number speaks for membership: log ratios of frequencies, kept modest.

A log ratio comes in two strengths. ``bold`` is the smoothed log ratio, shrunk by its own variance: right on
average, so that several may be added. ``cautious`` is the log odds that are exceeded with 90 % confidence
(Clopper and Pearson 1934): what a rare symbol says by accident never comes first.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.cells import Symbols

Codes = npt.NDArray[np.intp]

_FEWEST = 5  # a symbol seen less often says nothing
_DOUBT = 0.1


@dataclass(frozen=True, eq=False)
class Ratios:
    """The log ratio of each code, in two strengths, and what all of them are worth together."""

    bold: Reals
    cautious: Reals
    worth: float  # expected information per round, in nats, above what accident would give


def weigh(codes: Codes, members: Bits, n_codes: int) -> Ratios:
    """Compare how often each code occurs in the two worlds; code 0 is what is unknown, and says nothing."""
    with_target = np.bincount(codes[members], minlength=n_codes).astype(np.float64)
    without = np.bincount(codes[~members], minlength=n_codes).astype(np.float64)
    seen = with_target + without
    mean = max(1.0, members.size / 2)
    with_target *= mean / max(1, members.sum())
    without *= mean / max(1, (~members).sum())
    silent = seen < _FEWEST
    silent[0] = True
    ratio = np.log((with_target + 1) / (without + 1))
    variance = 1 / (with_target + 1) + 1 / (without + 1)
    bold = np.where(silent, 0.0, ratio * ratio**2 / (ratio**2 + variance))
    more, less = np.maximum(with_target, without), np.minimum(with_target, without)
    rate = betaincinv(np.maximum(more, 1e-9), less + 1, _DOUBT)
    odds = np.maximum(np.log(np.maximum(rate, 1e-300)) - np.log1p(-np.minimum(rate, 1 - 1e-15)), 0.0)
    cautious = np.where(silent, 0.0, np.sign(with_target - without) * odds)
    gain = np.where(silent, 0.0, (with_target - without) * bold).sum()
    return Ratios(bold, cautious, float(gain - 2 * (~silent).sum()) / members.size)


@dataclass(frozen=True, eq=False)
class SymbolCoder:
    """Knows the symbols that occurred often enough; any other is unknown."""

    known: Symbols

    @property
    def n_codes(self) -> int:
        return self.known.size + 1

    def __call__(self, symbols: Symbols) -> Codes:
        if not self.known.size:
            return np.zeros(symbols.size, np.intp)
        place = np.minimum(np.searchsorted(self.known, symbols), self.known.size - 1)
        return np.where(self.known[place] == symbols, place + 1, 0)


def code_symbols(symbols: Symbols) -> SymbolCoder:
    """Learn which symbols there are."""
    values, counts = np.unique(symbols, return_counts=True)
    return SymbolCoder(values[counts >= _FEWEST])


@dataclass(frozen=True, eq=False)
class NumberCoder:
    """Knows single numbers that occurred often (atoms), and bins of the rest; NaN has a code of its own."""

    atoms: Reals
    edges: Reals

    @property
    def n_codes(self) -> int:
        return self.atoms.size + self.edges.size + 3

    def __call__(self, numbers: Reals) -> Codes:
        codes = np.searchsorted(self.edges, numbers, side="right") + 2
        codes[np.isnan(numbers)] = 1
        if self.atoms.size:
            place = np.minimum(np.searchsorted(self.atoms, numbers), self.atoms.size - 1)
            codes = np.where(self.atoms[place] == numbers, self.edges.size + 3 + place, codes)
        return codes


def code_numbers(numbers: Reals, n_bins: int) -> NumberCoder:
    """Learn the frequent numbers, and bins that hold about equally many of the others.

    >>> code_numbers(np.array([0.0] * 60 + [1.0, 2.0, 3.0, 4.0] * 10), 2).atoms.tolist()
    [0.0]
    """
    known = np.sort(numbers[~np.isnan(numbers)])
    if not known.size:
        return NumberCoder(np.empty(0), np.empty(0))
    starts = np.flatnonzero(np.append(True, known[1:] != known[:-1]))
    counts = np.diff(np.append(starts, known.size))
    often = counts >= max(_FEWEST, numbers.size / (2 * n_bins))
    rest = known[~np.repeat(often, counts)]
    cuts = (np.arange(1, n_bins) * rest.size) // n_bins
    return NumberCoder(known[starts[often]], np.unique(rest[cuts]) if rest.size else np.empty(0))
