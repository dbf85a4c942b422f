"""Candidate scores based on counted frequencies; the search learns all candidates and keeps one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.domains.blackbox.event_search import feature_ratios, numeric_features, output_table

ScoreFunction: TypeAlias = Callable[[feature_ratios.FeatureReader], Reals]

_MAX_NUMBERS = 500_000  # numbers to learn a common log ratio from
_NEIGHBOURS = 32  # different numbers on each side of one, with which its frequency is compared
_N_OTHER_CODES = 3  # of NumberCoder without edges, for what is no outstanding number
_N_COUNTS = 5  # numbers of occurrences that are distinguished, 0 included


class ScoreCandidate(Protocol):
    """A score before it is learned."""

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction: ...


def zero_score(reader: feature_ratios.FeatureReader) -> Reals:
    """Return zero for every round: no evidence."""
    return np.zeros(len(reader))


@dataclass(frozen=True)
class SingleFeature:
    """The cautious log ratio of one feature."""

    spec: feature_ratios.FeatureSpec

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction:
        return sample.learn(self.spec).cautious


@dataclass(frozen=True)
class RatioSum:
    """The sum of the log ratios of several features, as if they were independent.

    The log ratios of ``less`` are subtracted: pairs of neighbours minus the values shared by two pairs
    give the log ratio of a Markov chain.
    """

    specs: tuple[feature_ratios.FeatureSpec, ...]
    less: tuple[feature_ratios.FeatureSpec, ...] = ()

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction:
        return LearnedRatioSum(tuple(map(sample.learn, self.specs)), tuple(map(sample.learn, self.less)))


@dataclass(frozen=True, eq=False)
class LearnedRatioSum:
    """A learned sum of log ratios."""

    features: tuple[feature_ratios.LearnedFeature, ...]
    less: tuple[feature_ratios.LearnedFeature, ...]

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        total = np.zeros(len(reader))
        for feature in self.features:
            total += feature.bold(reader)
        for feature in self.less:
            total -= feature.bold(reader)
        return total


@dataclass(frozen=True)
class SharedRatio:
    """One log ratio for all places, of numbers centred and with the sign in which the target moves them.

    If the places are alike, it is learned from all of them together.
    """

    places: tuple[int, ...]
    bins: int

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction:
        numbers = sample.reader.table.numbers[:, self.places]
        centre = np.array([_median(column) for column in numbers.T])
        above = np.nan_to_num(np.sign(numbers - centre))
        rises = above[sample.members].mean(axis=0) >= above[~sample.members].mean(axis=0)
        signs = np.where(rises, 1.0, -1.0)
        n_rows = max(1, _MAX_NUMBERS // len(self.places))
        oriented = _orient(numbers[:n_rows], centre, signs).ravel()
        coder = feature_ratios.code_numbers(oriented, self.bins)
        members = np.repeat(sample.members[:n_rows], len(self.places))
        return LearnedSharedRatio(
            self.places,
            centre,
            signs,
            coder,
            feature_ratios.estimate_ratios(coder(oriented), members, coder.n_codes),
        )


@dataclass(frozen=True, eq=False)
class LearnedSharedRatio:
    """A learned log ratio that all places share."""

    places: tuple[int, ...]
    centre: Reals
    signs: Reals
    coder: feature_ratios.NumberCoder
    ratios: feature_ratios.FrequencyRatios

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        oriented = _orient(reader.table.numbers[:, self.places], self.centre, self.signs)
        return self.ratios.bold[self.coder(oriented.ravel())].reshape(oriented.shape).sum(axis=1)


@dataclass(frozen=True)
class SymbolMemory:
    """Whether exactly this symbol occurred in the shadows, and in which world.

    Symbols too rare for their own log ratio share one with those that occurred as rarely; each shadow is
    scored by the others (after Good 1953).
    """

    feature: Any

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction:
        symbols = sample.reader.read(self.feature)
        known, which = np.unique(symbols, return_inverse=True)
        seen_with = np.bincount(which[sample.members], minlength=known.size)
        seen_without = np.bincount(which[~sample.members], minlength=known.size)
        codes = _memory_codes(seen_with[which] - sample.members, seen_without[which] - ~sample.members)
        ratios = feature_ratios.estimate_ratios(codes, sample.members, _N_COUNTS**2)
        return LearnedSymbolMemory(self.feature, known, _memory_codes(seen_with, seen_without), ratios)


@dataclass(frozen=True, eq=False)
class LearnedSymbolMemory:
    """A learned memory of symbols."""

    feature: Any
    known: output_table.Symbols
    codes: output_table.Symbols
    ratios: feature_ratios.FrequencyRatios

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        symbols = reader.read(self.feature)
        place = np.minimum(np.searchsorted(self.known, symbols), self.known.size - 1)
        return self.ratios.cautious[np.where(self.known[place] == symbols, self.codes[place], 0)]


@dataclass(frozen=True)
class OutstandingNumbers:
    """Exact numbers that occur far more often than the numbers next to them; all others are no evidence.

    Noise on a fine grid has thousands of values. Some of them occur in one world only by chance, and hide an
    exact answer that slips out now and then.
    """

    place: int
    numbers: tuple[float, ...]

    def learn(self, sample: feature_ratios.ShadowSample) -> ScoreFunction:
        coordinate = numeric_features.Coordinate(self.place)
        values = sample.reader.read(coordinate)
        coder = feature_ratios.NumberCoder(np.array(self.numbers), np.empty(0))
        ratios = feature_ratios.estimate_ratios(coder(values), sample.members, coder.n_codes)
        ratios.cautious[:_N_OTHER_CODES] = 0.0
        return feature_ratios.LearnedFeature(coordinate, coder, ratios).cautious


def find_outstanding(table: output_table.OutputTable, places: Sequence[int]) -> list[OutstandingNumbers]:
    """Return the places that have outstanding numbers, and these.

    How often a number occurs, compared with its neighbours, says which ones they are without a look at the
    worlds, so all shadows may be counted, also those on which candidates are compared.
    """
    found = [(place, outstanding_numbers(table.numbers[:, place])) for place in places]
    return [OutstandingNumbers(place, tuple(numbers.tolist())) for place, numbers in found if numbers.size]


def outstanding_numbers(numbers: Reals, expected: float = 1.0) -> Reals:
    """Return the numbers that occur more often than chance explains, given how often their neighbours do.

    Among numbers of a smooth distribution, so many are ``expected`` to be found.

    >>> outstanding_numbers(np.array([*range(100), *([40.0] * 20)])).tolist()
    [40.0]
    """
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    if values.size < _NEIGHBOURS:
        return values[:0]
    before = np.append(0, np.cumsum(counts))
    place = np.arange(values.size)
    first, last = np.maximum(place - _NEIGHBOURS, 0), np.minimum(place + _NEIGHBOURS + 1, values.size)
    usual = (before[last] - before[first] - counts) / (last - first - 1)
    return values[scipy.special.pdtrc(counts - 1, usual) < expected / values.size]


def _memory_codes(seen_with: Any, seen_without: Any) -> output_table.Symbols:
    """Encode how often a symbol occurred in each world; 0 means never, which is no evidence."""
    return np.minimum(seen_with, _N_COUNTS - 1) * _N_COUNTS + np.minimum(seen_without, _N_COUNTS - 1)


def _orient(numbers: Reals, centre: Reals, signs: Reals) -> Reals:
    return (numbers - centre) * signs


def _median(column: Reals) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if known.size else 0.0
