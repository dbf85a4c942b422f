"""Ways to score outputs by what was counted: a study learns each of them and keeps one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.strategies.cells import Symbols
from leakgauge.strategies.clues import Clue, Learned, Reader, Sample
from leakgauge.strategies.evidence import NumberCoder, Ratios, code_numbers, weigh

Score: TypeAlias = Callable[[Reader], Reals]


class Candidate(Protocol):
    """A way to score, before study."""

    def learn(self, sample: Sample) -> Score: ...


def silence(reader: Reader) -> Reals:
    """Say nothing."""
    return np.zeros(len(reader))


@dataclass(frozen=True)
class Lone:
    """What one clue says, cautiously."""

    clue: Clue

    def learn(self, sample: Sample) -> Score:
        return sample.learn(self.clue).cautious


@dataclass(frozen=True)
class Sum:
    """What several clues say together, as if they were independent.

    ``less`` are taken off again: the links of a chain, less its inner joints (a Markov chain's log ratio).
    """

    clues: tuple[Clue, ...]
    less: tuple[Clue, ...] = ()

    def learn(self, sample: Sample) -> Score:
        return Summed(tuple(map(sample.learn, self.clues)), tuple(map(sample.learn, self.less)))


@dataclass(frozen=True, eq=False)
class Summed:
    """A sum of clues after study."""

    clues: tuple[Learned, ...]
    less: tuple[Learned, ...]

    def __call__(self, reader: Reader) -> Reals:
        total = np.zeros(len(reader))
        for clue in self.clues:
            total += clue.bold(reader)
        for clue in self.less:
            total -= clue.bold(reader)
        return total


@dataclass(frozen=True)
class Tied:
    """One log ratio for all places, each number seen from its usual value and turned the way it moves.

    Where the places are alike, this learns from all of them at once.
    """

    places: tuple[int, ...]
    bins: int

    def learn(self, sample: Sample) -> Score:
        numbers = sample.reader.table.numbers[:, self.places]
        centre = np.array([_median(column) for column in numbers.T])
        above = np.nan_to_num(np.sign(numbers - centre))
        rises = above[sample.members].mean(axis=0) >= above[~sample.members].mean(axis=0)
        turn = np.where(rises, 1.0, -1.0)
        enough = max(1, _ENOUGH // len(self.places))
        turned = _turn(numbers[:enough], centre, turn).ravel()
        coder = code_numbers(turned, self.bins)
        members = np.repeat(sample.members[:enough], len(self.places))
        return Turned(self.places, centre, turn, coder, weigh(coder(turned), members, coder.n_codes))


@dataclass(frozen=True, eq=False)
class Turned:
    """The common log ratio of all places, after study."""

    places: tuple[int, ...]
    centre: Reals
    turn: Reals
    coder: NumberCoder
    ratios: Ratios

    def __call__(self, reader: Reader) -> Reals:
        turned = _turn(reader.table.numbers[:, self.places], self.centre, self.turn)
        return self.ratios.bold[self.coder(turned.ravel())].reshape(turned.shape).sum(axis=1)


@dataclass(frozen=True)
class Recalled:
    """Whether this very symbol was seen before, and in which world.

    Symbols too rare to have a log ratio of their own share one with those seen as rarely; each shadow is
    judged by the others (after Good 1953).
    """

    mark: Any

    def learn(self, sample: Sample) -> Score:
        symbols = sample.reader.read(self.mark)
        known, which = np.unique(symbols, return_inverse=True)
        seen_with = np.bincount(which[sample.members], minlength=known.size)
        seen_without = np.bincount(which[~sample.members], minlength=known.size)
        codes = _memory(seen_with[which] - sample.members, seen_without[which] - ~sample.members)
        ratios = weigh(codes, sample.members, _MOST**2)
        return Recognised(self.mark, known, _memory(seen_with, seen_without), ratios)


@dataclass(frozen=True, eq=False)
class Recognised:
    """Symbols that were seen, after study."""

    mark: Any
    known: Symbols
    codes: Symbols
    ratios: Ratios

    def __call__(self, reader: Reader) -> Reals:
        symbols = reader.read(self.mark)
        place = np.minimum(np.searchsorted(self.known, symbols), self.known.size - 1)
        return self.ratios.cautious[np.where(self.known[place] == symbols, self.codes[place], 0)]


_ENOUGH = 500_000  # numbers to learn a common log ratio from
_MOST = 5  # times seen that are told apart, none included


def _memory(seen_with: Any, seen_without: Any) -> Symbols:
    """Make one code of how often a symbol was seen in each world; never seen is 0, and says nothing."""
    return np.minimum(seen_with, _MOST - 1) * _MOST + np.minimum(seen_without, _MOST - 1)


def _turn(numbers: Reals, centre: Reals, turn: Reals) -> Reals:
    return (numbers - centre) * turn


def _median(column: Reals) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if known.size else 0.0
