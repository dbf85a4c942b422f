"""How often an attacker is right about the target that it identifies best."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee import intervals, jackknife, per_target
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import RateMetric
from leakgauge.referee.thresholds import calibrated_decisions, own_decisions


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """The largest (TPR + TNR) / 2 of any target, with an interval that holds for all targets together.

    Decisions are those of the attack's own threshold; where it has none, each target gets the one that is
    best on other rounds. The rounds of one target are independent, so both of its rates have exact bounds
    (Clopper and Pearson 1934); the error is divided by twice the number of targets. Where rounds take turns
    with splits of the people, Student's t over splits widens them. The value itself is the largest of many,
    which is partly chance: its interval is not.
    """

    worst_of: ClassVar[str] = "accuracy_own"
    title: ClassVar[str] = "Correct identifications, most exposed target"
    meaning: ClassVar[str] = (
        "how often the attacker is right about the target that it identifies best; the interval holds for "
        "all targets together"
    )
    rank: ClassVar[int] = 14
    fits_threshold: ClassVar[bool] = False
    is_share: ClassVar[bool] = True
    chance_level: ClassVar[float] = 0.5

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if not per_target.has_lasting_targets(trials):
            raise BadInput("accuracy_worst follows each target over rounds, but every target is in one round")
        says_member, counted = _decisions(trials)
        right = says_member == trials.members
        kept, targets, ins, outs = per_target.split_targets(
            _marked(trials, right).where(counted), "accuracy_worst"
        )
        hits = np.bincount(targets, kept.members * kept.scores, ins.size)
        silences = np.bincount(targets, ~kept.members * kept.scores, ins.size)
        error = (1 - self.confidence) / 2 / (2 * ins.size)  # one side, two rates of each target
        low = (intervals.rate_low(hits, ins, error) + intervals.rate_low(silences, outs, error)) / 2
        high = (intervals.rate_high(hits, ins, error) + intervals.rate_high(silences, outs, error)) / 2
        accuracy = (hits / ins + silences / outs) / 2
        margins = _split_margins(kept, targets, (1 - self.confidence) / ins.size)
        over_splits = np.array([intervals.log_odds_interval(*each) for each in zip(accuracy, margins)])
        low, high = np.minimum(low, over_splits[:, 0]), np.maximum(high, over_splits[:, 1])
        n_one_sided = np.unique(trials.targets).size - ins.size
        return Estimate(
            value=float(accuracy.max()),
            low=float(low.max()),
            high=1.0 if n_one_sided else float(high.max()),
            confidence=self.confidence,
            method=f"largest of {ins.size} targets, exact intervals that hold together"
            + jackknife.split_scope(trials),
            reason=f"{n_one_sided} targets were never members, or always" if n_one_sided else None,
        )


def _decisions(trials: Trials) -> "tuple[np.ndarray, np.ndarray]":
    """What the attacker says of each trial, and which trials count."""
    if (own := own_decisions(trials)) is not None:
        return own, np.ones(len(trials), bool)
    targets = np.unique(trials.targets, return_inverse=True)[1].astype(np.int64)
    says_member, counted = calibrated_decisions(trials, targets)
    if not counted.any():
        raise BadInput("accuracy_worst needs at least two rounds: one to choose a threshold, one to count")
    return says_member, counted


def _marked(trials: Trials, right: "np.ndarray") -> Trials:
    """The same trials with 1 for a right decision and 0 for a wrong one as their scores."""
    return replace(trials, scores=right.astype(np.float64))


def _split_margins(marked: Trials, targets: "np.ndarray", error: float) -> Reals:
    """Half the width of the interval of each target over splits of the people; 0 where they are too few."""
    n_targets, n_splits = int(targets.max()) + 1, jackknife.n_splits(marked)
    if marked.splits is None or n_splits < intervals.FEWEST_SPLITS:
        return np.zeros(n_targets)
    splits = np.unique(marked.splits, return_inverse=True)[1]
    sides = []
    for world in (marked.members, ~marked.members):
        rights, sizes = (
            np.bincount(targets * n_splits + splits, column, n_targets * n_splits).reshape(n_targets, -1)
            for column in (world * marked.scores, world)
        )
        rest = sizes.sum(axis=1, keepdims=True) - sizes
        sides.append((rights.sum(axis=1, keepdims=True) - rights) / np.maximum(rest, 1))
    return np.array([intervals.student_margin(row, error) for row in (sides[0] + sides[1]) / 2])
