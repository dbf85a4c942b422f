"""Rules that compare noisy values with thresholds: one for their sum, or one each and one for the votes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

TO_MEMBER, TO_NEITHER = 1.0, 0.5  # what the vote of a value exactly at its cut counts


@dataclass(frozen=True, eq=False)
class SumRule:
    """How far the weighted sum of values lies beyond a threshold.

    Threshold and evidence are numbers, or one for each row of outputs.
    """

    weights: Reals  # per value: above 0 where the target raises it, below 0 where it lowers it
    threshold: Reals | float
    evidence: Reals | float = 1.0  # what one unit beyond the threshold is worth

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "SumRule":
        """Cut midway between the sums of true values without and with the target, plainly added up.

        >>> SumRule.between(np.zeros(2), np.ones(2))([[0.5, 1.5]]).tolist()
        [1.0]
        """
        before, after = float(low.sum()), float(high.sum())
        side = float(np.sign(after - before))
        return cls(np.full(low.size, side), side * (before + after) / 2)

    def __call__(self, outputs: Sequence[Any] | Reals) -> Reals:
        return np.asarray(self.evidence * (self.sums(outputs) - self.threshold))

    def sums(self, outputs: Sequence[Any] | Reals) -> Reals:
        """The weighted sums, before anything is taken off; the same on any number of threads."""
        return np.asarray((_rows(outputs, self.weights.size) * self.weights).sum(axis=1))

    def cut_at(self, threshold: Reals | float, evidence: Reals | float) -> "SumRule":
        """The same sum against another threshold."""
        return replace(self, threshold=threshold, evidence=evidence)


@dataclass(frozen=True, eq=False)
class VoteRule:
    """How many values lie on the target's side of their own cuts, above the number of votes that is needed.

    A value exactly at its cut counts ``tie``: Liu et al. (2024, equation 10) give it to the target. Cuts
    are the same for all rows of outputs or differ from row to row, as do the votes needed and the evidence.
    """

    cuts: Reals
    weights: Reals  # of each vote, below 0 where the target lowers the value; 0 has no vote
    least: Reals | float
    tie: float
    evidence: Reals | float = 1.0  # what one vote beyond those needed is worth

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "VoteRule":
        """Cut every value midway between its two true ones, and ask for half of the votes.

        A value in the very middle votes for neither side; a tied vote scores zero.

        >>> VoteRule.between(np.zeros(3), np.ones(3))([[0.9, 0.9, -9.0]]).tolist()
        [0.5]
        """
        sides = np.sign(high - low).ravel()
        return cls((low.ravel() + high.ravel()) / 2, sides, float(np.abs(sides).sum() / 2), TO_NEITHER)

    def __call__(self, outputs: Sequence[Any] | Reals) -> Reals:
        return np.asarray(self.evidence * (self.votes(outputs) - self.least))

    def votes(self, outputs: Sequence[Any] | Reals) -> Reals:
        """The weighted number of votes."""
        beyond = np.sign(_rows(outputs, self.weights.size) - self.cuts) * np.sign(self.weights)
        return np.asarray((np.heaviside(beyond, self.tie) * np.abs(self.weights)).sum(axis=1))

    def cut_at(self, least: Reals | float, evidence: Reals | float) -> "VoteRule":
        """The same votes, of which another number is needed."""
        return replace(self, least=least, evidence=evidence)


def cuts_reached_by(fpr: float, values: Reals) -> Reals:
    """Cuts of several values that are reached in at most a share ``fpr`` of the rows, the smallest such.

    The rows are shadows without the target (Liu et al. 2024, algorithm 7). Of values that come in atoms, the
    next larger one that occurs is taken; above all of them, just above.

    >>> cuts_reached_by(0.5, np.array([[0.0], [1.0], [1.0], [2.0]])).tolist()
    [2.0]
    """
    ranked = np.sort(values, axis=0)
    allowed = int(np.floor(fpr * len(ranked) + 1e-9))
    highest = ranked[len(ranked) - allowed - 1]  # one row too many reaches it
    above = np.where(ranked > highest, ranked, np.inf).min(axis=0)
    return np.where(np.isfinite(above), above, np.nextafter(highest, np.inf))


def _rows(outputs: Sequence[Any] | Reals, n_values: int) -> Reals:
    rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)
    if rows.shape[1] != n_values:
        raise BadInput(
            f"a threshold rule needs one output per value, got {rows.shape[1]} for {n_values}; use "
            "the attack likelihood"
        )
    return rows
