"""Networks with one hidden layer of sigmoid units, and two whose weights are known without learning."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals


@dataclass(frozen=True, eq=False)
class Network:
    """Scores rows by what goes into the last sigmoid: at zero, member and non-member are equally likely."""

    inner: Reals  # inputs x units
    inner_bias: Reals  # units
    outer: Reals  # units
    outer_bias: float

    @property
    def n_inputs(self) -> int:
        return len(self.inner)

    def __call__(self, rows: npt.ArrayLike) -> Reals:
        units = expit(np.asarray(rows, dtype=np.float64) @ self.inner + self.inner_bias)
        return np.asarray(units @ self.outer + self.outer_bias)

    def chance(self, rows: npt.ArrayLike) -> Reals:
        """The last sigmoid: the chance of a member, as the network sees it."""
        return np.asarray(expit(self(rows)))


def sum_network(n_inputs: int, threshold: float, *, a: float, b: float) -> Network:
    """One unit that asks whether the sum reaches a threshold (Liu et al. 2024, theorem 4, corrected).

    The larger ``a``, the sharper the unit; the larger ``b``, the surer the answer. The printed theorem has
    no inner sigmoid, and adds ``a threshold`` where it must be taken away.

    >>> sum_network(2, 1.0, a=50, b=50).chance([[0.6, 0.6], [0.4, 0.4]]).round(3).tolist()
    [1.0, 0.0]
    """
    _require_scales(a, b)
    return Network(np.full((n_inputs, 1), a), np.array([-a * threshold]), np.array([b]), -b / 2)


def vote_network(thresholds: Reals, votes: float, *, a: float, b: float) -> Network:
    """A unit per input that asks whether it reaches its threshold, and a count of those that do (theorem 5).

    ``votes`` are needed for "member". Liu et al. (2024) print an outer bias of ``b n / 2`` with the wrong
    sign; it is ``-b votes``. With a whole number of votes the sigmoids' small errors break a tie: half a vote
    less is the same rule without one.

    >>> network = vote_network(np.full(3, 0.5), 1.5, a=50, b=50)
    >>> network.chance([[1.0, 1.0, -9.0], [9.0, 0.0, 0.0]]).round(3).tolist()
    [1.0, 0.0]
    """
    _require_scales(a, b)
    n = thresholds.size
    return Network(a * np.eye(n), -a * thresholds, np.full(n, b), -b * votes)


def _require_scales(a: float, b: float) -> None:
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise BadInput(f"the scales of a network must be > 0 and finite, got a = {a}, b = {b}")
