"""Log-likelihood ratios of features of an output, estimated from labelled shadows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, Symbols

FeatureCodes = npt.NDArray[np.intp]

_FEWEST = 5  # a symbol seen less often says nothing
_DOUBT = 0.1


@dataclass(frozen=True, eq=False)
class FrequencyRatios:
    """The log ratio of each code, in two strengths, and what all of them are worth together."""

    bold: Reals
    cautious: Reals
    worth: float  # expected information per round, in nats, above what accident would give


def estimate_ratios(codes: FeatureCodes, members: Bits, n_codes: int) -> FrequencyRatios:
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
    return FrequencyRatios(bold, cautious, float(gain - 2 * (~silent).sum()) / members.size)


@dataclass(frozen=True, eq=False)
class SymbolCoder:
    """Knows the symbols that occurred often enough; any other is unknown."""

    known: Symbols

    @property
    def n_codes(self) -> int:
        return self.known.size + 1

    def __call__(self, symbols: Symbols) -> FeatureCodes:
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

    def __call__(self, numbers: Reals) -> FeatureCodes:
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


@dataclass(frozen=True, eq=False)
class FeatureReader:
    """Reads marks and measures off a table, each once."""

    table: OutputTable
    _known: dict[Any, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def read(self, feature: Any) -> Any:
        """Return what a mark or a measure says, one entry per round."""
        if feature not in self._known:
            self._known[feature] = feature(self.table)
        return self._known[feature]


@dataclass(frozen=True)
class FeatureSpec:
    """A mark (``bins`` 0), or a measure whose values are sorted into so many bins."""

    feature: Any
    bins: int = 0


@dataclass(frozen=True, eq=False)
class LearnedFeature:
    """A clue after study."""

    feature: Any
    coder: NumberCoder | SymbolCoder
    ratios: FrequencyRatios

    def bold(self, reader: FeatureReader) -> Reals:
        return self.ratios.bold[self.coder(reader.read(self.feature))]

    def cautious(self, reader: FeatureReader) -> Reals:
        return self.ratios.cautious[self.coder(reader.read(self.feature))]


@dataclass(frozen=True, eq=False)
class ShadowSample:
    """Shadows to learn from: their outputs, and in which of them the target was."""

    reader: FeatureReader
    members: Bits
    _learned: dict[FeatureSpec, LearnedFeature] = field(default_factory=dict)

    def learn(self, clue: FeatureSpec) -> LearnedFeature:
        """Study one clue, once."""
        if clue not in self._learned:
            values = self.reader.read(clue.feature)
            coder = code_numbers(values, clue.bins) if clue.bins else code_symbols(values)
            self._learned[clue] = LearnedFeature(
                clue.feature, coder, estimate_ratios(coder(values), self.members, coder.n_codes)
            )
        return self._learned[clue]

    def worth(self, clue: FeatureSpec) -> float:
        """Say how much a clue tells in this sample."""
        return self.learn(clue).ratios.worth
