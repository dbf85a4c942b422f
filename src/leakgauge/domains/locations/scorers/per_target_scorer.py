"""Scorers that look at the cells of one target at a time, with a rule of its own for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.domains.locations.release import LocationsView
from leakgauge.support.parallel import parallel_map

Known = TypeVar("Known")


class CellRule(Protocol):
    """Scores rows of what was published in some cells, less what is known."""

    def __call__(self, outputs: Reals, /) -> Reals: ...


@dataclass(frozen=True, eq=False)
class TargetRule:
    """The cells to look at for one target, and what to make of them."""

    cells: Ints
    rule: CellRule


@dataclass(frozen=True, eq=False)
class PerTargetScorer:
    """Scores every target by its own cells."""

    watches: tuple[TargetRule, ...]

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        return np.column_stack(
            [watch.rule(view.at(watch.cells) - view.known(watch.cells)) for watch in self.watches]
        )


@dataclass(frozen=True, eq=False)
class TargetTask:
    """One target to study, with a stream of its own."""

    target: int
    rng: Generator


@dataclass(frozen=True, eq=False)
class _StudyTask(Generic[Known]):
    """A study of single targets, with all it needs, on its way to the workers."""

    study: Callable[[Known, TargetTask], TargetRule]
    knowledge: Known

    def __call__(self, piece: TargetTask) -> TargetRule:
        return self.study(self.knowledge, piece)


def study_targets(
    study: Callable[[Known, TargetTask], TargetRule],
    knowledge: Known,
    n_targets: int,
    rng: Generator,
    *,
    long: bool,
) -> PerTargetScorer:
    """Study the targets one by one; ``long`` work is given to the workers there are."""
    pieces = [TargetTask(target, own) for target, own in enumerate(rng.spawn(n_targets))]
    work = _StudyTask(study, knowledge)
    return PerTargetScorer(tuple(parallel_map(work, pieces) if long else map(work, pieces)))
