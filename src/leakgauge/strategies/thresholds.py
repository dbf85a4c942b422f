"""Simple rules for noisy values whose true ones are known in both worlds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


@dataclass(frozen=True, eq=False)
class SumRule:
    """How far the sum lies beyond the middle of the two true sums, on the side of the one with the target."""

    n_values: int
    middle: float
    side: float  # 1 where the target raises the sum, -1 where it lowers it, 0 where it does neither

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "SumRule":
        """Make the rule for true values without and with the target.

        >>> SumRule.between(np.zeros(2), np.ones(2))([[0.5, 1.5]]).tolist()
        [1.0]
        """
        before, after = float(low.sum()), float(high.sum())
        return cls(low.size, (before + after) / 2, float(np.sign(after - before)))

    def __call__(self, outputs: Sequence[Any]) -> Reals:
        return self.side * (_rows(outputs, self.n_values).sum(axis=1) - self.middle)


@dataclass(frozen=True, eq=False)
class VoteRule:
    """How many values lie on the target's side of their own middle, above half of those it moves.

    A value in the very middle votes for neither side; a tied vote scores zero.
    """

    middles: Reals
    sides: Reals  # per value: 1, -1, or 0 where the target does not move it

    @classmethod
    def between(cls, low: Reals, high: Reals) -> "VoteRule":
        """Make the rule for true values without and with the target.

        >>> VoteRule.between(np.zeros(3), np.ones(3))([[0.9, 0.9, -9.0]]).tolist()
        [0.5]
        """
        return cls((low.ravel() + high.ravel()) / 2, np.sign(high - low).ravel())

    def __call__(self, outputs: Sequence[Any]) -> Reals:
        rows = _rows(outputs, self.middles.size)
        return np.asarray((np.sign(rows - self.middles) * self.sides).sum(axis=1) / 2)


def _rows(outputs: Sequence[Any], n_values: int) -> Reals:
    rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)
    if rows.shape[1] != n_values:
        raise BadInput(
            f"a threshold rule needs one output per value, got {rows.shape[1]} for {n_values}; use "
            "the attack likelihood"
        )
    return rows
