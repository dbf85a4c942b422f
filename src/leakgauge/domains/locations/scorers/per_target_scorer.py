"""Scorers that apply a separate rule to the cells of each target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.release import LocationsView
from leakgauge.support.parallel import parallel_map

Known = TypeVar("Known")


class LongStudy:
    """Marks an attack that trains a classifier for each target: it studies one split of the people."""


class CellRule(Protocol):
    """Scores rows of published outputs in some cells minus the known counts."""

    def __call__(self, outputs: Reals, /) -> Reals: ...


@dataclass(frozen=True, eq=False)
class TargetRule:
    """The cells of one target that are read, and the rule that scores them."""

    cells: Ints
    rule: CellRule


@dataclass(frozen=True, eq=False)
class PerTargetScorer:
    """Scores every target by its own cells."""

    target_rules: tuple[TargetRule, ...]

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        return np.column_stack(
            [
                target_rule.rule(view.at(target_rule.cells) - view.known(target_rule.cells))
                for target_rule in self.target_rules
            ]
        )


@dataclass(frozen=True, eq=False)
class TargetTask:
    """One target to study, with its own random stream."""

    target: int
    rng: Generator


@dataclass(frozen=True, eq=False)
class _StudyTask(Generic[Known]):
    """A picklable study of single targets together with the knowledge it needs."""

    study: Callable[[Known, TargetTask], TargetRule]
    knowledge: Known

    def __call__(self, task: TargetTask) -> TargetRule:
        return self.study(self.knowledge, task)


def study_targets(
    study: Callable[[Known, TargetTask], TargetRule],
    knowledge: Known,
    n_targets: int,
    rng: Generator,
    *,
    long: bool,
) -> PerTargetScorer:
    """Study each target separately; with ``long``, in parallel workers."""
    tasks = [TargetTask(target, own) for target, own in enumerate(rng.spawn(n_targets))]
    work = _StudyTask(study, knowledge)
    return PerTargetScorer(tuple(parallel_map(work, tasks) if long else map(work, tasks)))
