"""Ways to score outputs by what was counted: a study learns each of them and keeps one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.blackbox.event_search.feature_ratios import (
    FeatureReader,
    FeatureSpec,
    FrequencyRatios,
    LearnedFeature,
    NumberCoder,
    ShadowSample,
    code_numbers,
    estimate_ratios,
)
from leakgauge.domains.blackbox.event_search.output_table import Symbols

ScoreFunction: TypeAlias = Callable[[FeatureReader], Reals]


class ScoreCandidate(Protocol):
    """A way to score, before study."""

    def learn(self, sample: ShadowSample) -> ScoreFunction: ...


def zero_score(reader: FeatureReader) -> Reals:
    """Say nothing."""
    return np.zeros(len(reader))


@dataclass(frozen=True)
class SingleFeature:
    """What one clue says, cautiously."""

    clue: FeatureSpec

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        return sample.learn(self.clue).cautious


@dataclass(frozen=True)
class RatioSum:
    """What several clues say together, as if they were independent.

    ``less`` are taken off again: the links of a chain, less its inner joints (a Markov chain's log ratio).
    """

    clues: tuple[FeatureSpec, ...]
    less: tuple[FeatureSpec, ...] = ()

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        return LearnedRatioSum(tuple(map(sample.learn, self.clues)), tuple(map(sample.learn, self.less)))


@dataclass(frozen=True, eq=False)
class LearnedRatioSum:
    """A sum of clues after study."""

    clues: tuple[LearnedFeature, ...]
    less: tuple[LearnedFeature, ...]

    def __call__(self, reader: FeatureReader) -> Reals:
        total = np.zeros(len(reader))
        for clue in self.clues:
            total += clue.bold(reader)
        for clue in self.less:
            total -= clue.bold(reader)
        return total


@dataclass(frozen=True)
class SharedRatio:
    """One log ratio for all places, each number seen from its usual value and turned the way it moves.

    Where the places are alike, this learns from all of them at once.
    """

    places: tuple[int, ...]
    bins: int

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        numbers = sample.reader.table.numbers[:, self.places]
        centre = np.array([_median(column) for column in numbers.T])
        above = np.nan_to_num(np.sign(numbers - centre))
        rises = above[sample.members].mean(axis=0) >= above[~sample.members].mean(axis=0)
        turn = np.where(rises, 1.0, -1.0)
        enough = max(1, _ENOUGH // len(self.places))
        turned = _orient(numbers[:enough], centre, turn).ravel()
        coder = code_numbers(turned, self.bins)
        members = np.repeat(sample.members[:enough], len(self.places))
        return LearnedSharedRatio(
            self.places, centre, turn, coder, estimate_ratios(coder(turned), members, coder.n_codes)
        )


@dataclass(frozen=True, eq=False)
class LearnedSharedRatio:
    """The common log ratio of all places, after study."""

    places: tuple[int, ...]
    centre: Reals
    turn: Reals
    coder: NumberCoder
    ratios: FrequencyRatios

    def __call__(self, reader: FeatureReader) -> Reals:
        turned = _orient(reader.table.numbers[:, self.places], self.centre, self.turn)
        return self.ratios.bold[self.coder(turned.ravel())].reshape(turned.shape).sum(axis=1)


@dataclass(frozen=True)
class SymbolMemory:
    """Whether this very symbol was seen before, and in which world.

    Symbols too rare to have a log ratio of their own share one with those seen as rarely; each shadow is
    judged by the others (after Good 1953).
    """

    mark: Any

    def learn(self, sample: ShadowSample) -> ScoreFunction:
        symbols = sample.reader.read(self.mark)
        known, which = np.unique(symbols, return_inverse=True)
        seen_with = np.bincount(which[sample.members], minlength=known.size)
        seen_without = np.bincount(which[~sample.members], minlength=known.size)
        codes = _memory_codes(seen_with[which] - sample.members, seen_without[which] - ~sample.members)
        ratios = estimate_ratios(codes, sample.members, _MOST**2)
        return LearnedSymbolMemory(self.mark, known, _memory_codes(seen_with, seen_without), ratios)


@dataclass(frozen=True, eq=False)
class LearnedSymbolMemory:
    """Symbols that were seen, after study."""

    mark: Any
    known: Symbols
    codes: Symbols
    ratios: FrequencyRatios

    def __call__(self, reader: FeatureReader) -> Reals:
        symbols = reader.read(self.mark)
        place = np.minimum(np.searchsorted(self.known, symbols), self.known.size - 1)
        return self.ratios.cautious[np.where(self.known[place] == symbols, self.codes[place], 0)]


_ENOUGH = 500_000  # numbers to learn a common log ratio from
_MOST = 5  # times seen that are told apart, none included


def _memory_codes(seen_with: Any, seen_without: Any) -> Symbols:
    """Make one code of how often a symbol was seen in each world; never seen is 0, and says nothing."""
    return np.minimum(seen_with, _MOST - 1) * _MOST + np.minimum(seen_without, _MOST - 1)


def _orient(numbers: Reals, centre: Reals, turn: Reals) -> Reals:
    return (numbers - centre) * turn


def _median(column: Reals) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if known.size else 0.0
