"""Threshold rules for noisy values: one threshold for their sum, or one per value and a vote."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

TO_MEMBER, TO_NEITHER = 1.0, 0.5  # weight of the vote of a value exactly at its cut


@dataclass(frozen=True, eq=False)
class SumRule:
    """How far the weighted sum of values lies beyond a threshold.

    ``threshold`` and ``evidence`` are single numbers, or one number per row of outputs.
    """

    weights: Reals  # per value: > 0 if the target raises it, < 0 if the target lowers it
    threshold: Reals | float
    evidence: Reals | float = 1.0  # score per unit beyond the threshold

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "SumRule":
        """Set the threshold midway between the unweighted sums of true values without and with the target.

        >>> SumRule.between(np.zeros(2), np.ones(2))([[0.5, 1.5]]).tolist()
        [1.0]
        """
        before, after = float(low.sum()), float(high.sum())
        side = float(np.sign(after - before))
        return cls(np.full(low.size, side), side * (before + after) / 2)

    def __call__(self, outputs: Sequence[Any] | Reals) -> Reals:
        return np.asarray(self.evidence * (self.sums(outputs) - self.threshold))

    def sums(self, outputs: Sequence[Any] | Reals) -> Reals:
        """Return the weighted sums before the threshold is subtracted; the same on any number of threads."""
        return np.asarray((_rows(outputs, self.weights.size) * self.weights).sum(axis=1))

    def cut_at(self, threshold: Reals | float, evidence: Reals | float) -> "SumRule":
        """Return the same rule with another threshold."""
        return replace(self, threshold=threshold, evidence=evidence)


@dataclass(frozen=True, eq=False)
class VoteRule:
    """How many values lie on the target's side of their own cuts, minus the number of votes needed.

    A value exactly at its cut counts ``tie``: Liu et al. (2024, equation 10) count it for the target. Cuts,
    votes needed and evidence are the same for all rows of outputs, or differ from row to row.
    """

    cuts: Reals
    weights: Reals  # of each vote; < 0 if the target lowers the value, 0 for no vote
    least: Reals | float
    tie: float
    evidence: Reals | float = 1.0  # score per vote beyond those needed

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "VoteRule":
        """Cut every value midway between its two true values, and require half of the votes.

        A value exactly in the middle votes for neither side; a tied vote scores zero.

        >>> VoteRule.between(np.zeros(3), np.ones(3))([[0.9, 0.9, -9.0]]).tolist()
        [0.5]
        """
        sides = np.sign(high - low).ravel()
        return cls((low.ravel() + high.ravel()) / 2, sides, float(np.abs(sides).sum() / 2), TO_NEITHER)

    def __call__(self, outputs: Sequence[Any] | Reals) -> Reals:
        return np.asarray(self.evidence * (self.votes(outputs) - self.least))

    def votes(self, outputs: Sequence[Any] | Reals) -> Reals:
        """Return the weighted number of votes."""
        beyond = np.sign(_rows(outputs, self.weights.size) - self.cuts) * np.sign(self.weights)
        return np.asarray((np.heaviside(beyond, self.tie) * np.abs(self.weights)).sum(axis=1))

    def cut_at(self, least: Reals | float, evidence: Reals | float) -> "VoteRule":
        """Return the same rule with another number of votes needed."""
        return replace(self, least=least, evidence=evidence)


def cuts_reached_by(fpr: float, values: Reals) -> Reals:
    """Return the smallest cuts that at most a share ``fpr`` of the rows reach, one cut per column.

    The rows are shadows without the target (Liu et al. 2024, algorithm 7). A cut is the next larger value
    that occurs in the column, or just above the largest.

    >>> cuts_reached_by(0.5, np.array([[0.0], [1.0], [1.0], [2.0]])).tolist()
    [2.0]
    """
    ranked = np.sort(values, axis=0)
    allowed = int(np.floor(fpr * len(ranked) + 1e-9))
    highest = ranked[len(ranked) - allowed - 1]  # reached by one row too many
    above = np.where(ranked > highest, ranked, np.inf).min(axis=0)
    return np.where(np.isfinite(above), above, np.nextafter(highest, np.inf))


def _rows(outputs: Sequence[Any] | Reals, n_values: int) -> Reals:
    rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)
    if rows.shape[1] != n_values:
        raise BadInput(
            f"a threshold rule needs one output per value, got {rows.shape[1]} outputs for {n_values} "
            "values; use the attack likelihood"
        )
    return rows
