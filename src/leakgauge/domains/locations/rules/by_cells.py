"""Scorers that look at the cells of one target at a time, with a rule of its own for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.core.spread import spread
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Seen, Zero
from leakgauge.domains.locations.traces import Ints

Knowledge: TypeAlias = Auxiliary | Past | Zero
Known = TypeVar("Known")


class Rule(Protocol):
    """Scores rows of what was published in some cells, less what is known."""

    def __call__(self, outputs: Reals, /) -> Reals: ...


@dataclass(frozen=True, eq=False)
class Watch:
    """The cells to look at for one target, and what to make of them."""

    cells: Ints
    rule: Rule


@dataclass(frozen=True, eq=False)
class ByCells:
    """Scores every target by its own cells."""

    watches: tuple[Watch, ...]

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        return np.column_stack(
            [watch.rule(seen.at(watch.cells) - seen.known(watch.cells)) for watch in self.watches]
        )


@dataclass(frozen=True, eq=False)
class Piece:
    """One target to study, with a stream of its own."""

    target: int
    rng: Generator


@dataclass(frozen=True, eq=False)
class _Studied(Generic[Known]):
    """A study of single targets, with all it needs, on its way to the workers."""

    study: Callable[[Known, Piece], Watch]
    knowledge: Known

    def __call__(self, piece: Piece) -> Watch:
        return self.study(self.knowledge, piece)


def study_each(
    study: Callable[[Known, Piece], Watch], knowledge: Known, n_targets: int, rng: Generator, *, long: bool
) -> ByCells:
    """Study the targets one by one; ``long`` work is given to the workers there are."""
    pieces = [Piece(target, own) for target, own in enumerate(rng.spawn(n_targets))]
    work = _Studied(study, knowledge)
    return ByCells(tuple(spread(work, pieces) if long else map(work, pieces)))
