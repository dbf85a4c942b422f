"""Log-likelihood ratios of features of an output, estimated from labelled shadows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, Symbols

FeatureCodes = npt.NDArray[np.intp]

_MIN_COUNT = 5  # symbols that occur less often are ignored
_ERROR = 0.1  # of the confidence bound behind cautious log ratios


@dataclass(frozen=True, eq=False)
class FrequencyRatios:
    """The log ratio of each code, shrunk (bold) or a confidence bound (cautious), and their information."""

    bold: Reals
    cautious: Reals
    information: float  # expected per round, in nats, minus what chance alone would give


def estimate_ratios(codes: FeatureCodes, members: Bits, n_codes: int) -> FrequencyRatios:
    """Compare how often each code occurs in the two worlds; code 0 means unknown and has log ratio 0."""
    with_target = np.bincount(codes[members], minlength=n_codes).astype(np.float64)
    without = np.bincount(codes[~members], minlength=n_codes).astype(np.float64)
    seen = with_target + without
    mean = max(1.0, members.size / 2)
    with_target *= mean / max(1, members.sum())
    without *= mean / max(1, (~members).sum())
    ignored = seen < _MIN_COUNT
    ignored[0] = True
    ratio = np.log((with_target + 1) / (without + 1))
    variance = 1 / (with_target + 1) + 1 / (without + 1)
    bold = np.where(ignored, 0.0, ratio * ratio**2 / (ratio**2 + variance))
    more, less = np.maximum(with_target, without), np.minimum(with_target, without)
    rate = scipy.special.betaincinv(np.maximum(more, 1e-9), less + 1, _ERROR)
    odds = np.maximum(np.log(np.maximum(rate, 1e-300)) - np.log1p(-np.minimum(rate, 1 - 1e-15)), 0.0)
    cautious = np.where(ignored, 0.0, np.sign(with_target - without) * odds)
    difference = np.where(ignored, 0.0, (with_target - without) * bold).sum()
    return FrequencyRatios(bold, cautious, float(difference - 2 * (~ignored).sum()) / members.size)


@dataclass(frozen=True, eq=False)
class SymbolCoder:
    """Codes for symbols that occurred often enough; 0 for any other."""

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
    """Assign codes to the symbols that occur often enough."""
    values, counts = np.unique(symbols, return_counts=True)
    return SymbolCoder(values[counts >= _MIN_COUNT])


@dataclass(frozen=True, eq=False)
class NumberCoder:
    """Codes for numbers that occurred often (atoms), for bins of the others, and for NaN."""

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
    """Find the frequent numbers, and bins that hold about equally many of the others.

    >>> code_numbers(np.array([0.0] * 60 + [1.0, 2.0, 3.0, 4.0] * 10), 2).atoms.tolist()
    [0.0]
    """
    known = np.sort(numbers[~np.isnan(numbers)])
    if not known.size:
        return NumberCoder(np.empty(0), np.empty(0))
    starts = np.flatnonzero(np.append(True, known[1:] != known[:-1]))
    counts = np.diff(np.append(starts, known.size))
    often = counts >= max(_MIN_COUNT, numbers.size / (2 * n_bins))
    rest = known[~np.repeat(often, counts)]
    cuts = (np.arange(1, n_bins) * rest.size) // n_bins
    return NumberCoder(known[starts[often]], np.unique(rest[cuts]) if rest.size else np.empty(0))


@dataclass(frozen=True, eq=False)
class FeatureReader:
    """Computes features of a table, each of them once."""

    table: OutputTable
    _known: dict[Any, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def read(self, feature: Any) -> Any:
        """Return the values of a feature, one per round."""
        if feature not in self._known:
            self._known[feature] = feature(self.table)
        return self._known[feature]


@dataclass(frozen=True)
class FeatureSpec:
    """A discrete feature (``bins`` = 0), or a numeric feature with the number of its bins."""

    feature: Any
    bins: int = 0


@dataclass(frozen=True, eq=False)
class LearnedFeature:
    """A feature with its learned log ratios."""

    feature: Any
    coder: NumberCoder | SymbolCoder
    ratios: FrequencyRatios

    def bold(self, reader: FeatureReader) -> Reals:
        return self.ratios.bold[self.coder(reader.read(self.feature))]

    def cautious(self, reader: FeatureReader) -> Reals:
        return self.ratios.cautious[self.coder(reader.read(self.feature))]


@dataclass(frozen=True, eq=False)
class ShadowSample:
    """Shadows to learn from: their outputs, and which of them were made with the target."""

    reader: FeatureReader
    members: Bits
    _learned: dict[FeatureSpec, LearnedFeature] = field(default_factory=dict)

    def learn(self, spec: FeatureSpec) -> LearnedFeature:
        """Learn the log ratios of one feature; the result is kept."""
        if spec not in self._learned:
            values = self.reader.read(spec.feature)
            coder = code_numbers(values, spec.bins) if spec.bins else code_symbols(values)
            self._learned[spec] = LearnedFeature(
                spec.feature, coder, estimate_ratios(coder(values), self.members, coder.n_codes)
            )
        return self._learned[spec]

    def information(self, spec: FeatureSpec) -> float:
        """Return the information of a feature in this sample."""
        return self.learn(spec).ratios.information
