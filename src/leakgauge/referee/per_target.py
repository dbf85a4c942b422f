"""Trials by target: each target over its own rounds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials


def has_lasting_targets(trials: Trials) -> bool:
    """Whether targets are the same over rounds, so that each of them can be followed."""
    fresh = trials.shared_rounds and bool((trials.targets == trials.targets[0]).all())
    return not fresh and np.unique(trials.targets).size < len(trials)


def split_targets(trials: Trials, metric: str) -> tuple[Trials, npt.NDArray[np.int64], Reals, Reals]:
    """Keep the targets that were in and out; number them from 0 and count their rounds in and out."""
    names, targets = np.unique(trials.targets, return_inverse=True)
    ins = np.bincount(targets, trials.members, names.size)
    outs = np.bincount(targets, ~trials.members, names.size)
    both = (ins > 0) & (outs > 0)
    if not both.any():
        raise BadInput(
            f"{metric} needs a target that is in some rounds and out of others; simulate more releases"
        )
    kept = trials.where(both[targets])
    numbers = (np.cumsum(both) - 1)[targets[both[targets]]].astype(np.int64)
    return kept, numbers, ins[both].astype(np.float64), outs[both].astype(np.float64)


@dataclass(frozen=True, eq=False)
class TargetRounds:
    """Trials of one target in one round: usually one, and many where a round is a split of the people."""

    numbers: npt.NDArray[np.int64]  # by trial: its part
    targets: npt.NDArray[np.int64]  # by part
    rounds: npt.NDArray[np.int64]  # by part


def target_rounds(trials: Trials, targets: npt.NDArray[np.int64]) -> TargetRounds:
    """Number the pairs of a target and a round that occur."""
    rounds = trials.round_numbers
    n_rounds = int(rounds.max()) + 1
    pairs, numbers = np.unique(targets * n_rounds + rounds, return_inverse=True)
    return TargetRounds(numbers.astype(np.int64), pairs // n_rounds, pairs % n_rounds)


def jackknife_target_means(parts: TargetRounds, whole: Reals, without: Reals, lasts: Bits) -> Reals:
    """Mean over targets of a statistic, with each round left out.

    ``whole`` is the statistic by target, ``without`` by part: that of its target without this round. A
    target that would have only one world left (not ``lasts``) drops out of the mean.
    """
    total = whole.sum() + np.bincount(parts.rounds, np.where(lasts, without, 0.0) - whole[parts.targets])
    count = whole.size - np.bincount(parts.rounds, ~lasts)
    return np.where(count > 0, total / np.maximum(count, 1), whole.mean())


def target_rows(trials: Trials) -> Iterator[tuple[int, Trials]]:
    """Yield each target with its trials."""
    order = np.argsort(trials.targets, kind="stable")
    names, starts = np.unique(trials.targets[order], return_index=True)
    for name, rows in zip(names.tolist(), np.split(order, starts[1:])):
        yield name, trials.where(rows)
