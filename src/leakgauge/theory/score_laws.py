"""Laws of the scores that single cells add, on nodes that all kinds of cells share.

A score need not be the privacy loss: an adversary who believes in other rates than the true ones adds up
other scores. Nodes lie densely near zero, where the scores of cells that tell little lie.
"""

from dataclasses import dataclass
from math import asinh, ceil

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

LARGEST = 30.0  # scores beyond it decide for sure
_NEAR, _PART = 0.02, 0.1  # nodes are even up to here, or to this part of the largest score
_GAP = 0.025  # between nodes beyond, as a share of the score


@dataclass(frozen=True, eq=False)
class ScoreLaws:
    """Kinds of cells: a row each, with the probabilities of the nodes for a member and for a non-member.

    The first and the last node are minus and plus infinity: outputs that decide for sure.
    """

    nodes: Reals
    members: Reals
    others: Reals

    @property
    def n_kinds(self) -> int:
        return int(self.members.shape[0])

    def only(self, kinds: npt.NDArray[np.bool_]) -> "ScoreLaws":
        """Some of the kinds."""
        return ScoreLaws(self.nodes, self.members[kinds], self.others[kinds])

    def mixed(self, weights: Reals) -> "ScoreLaws":
        """Kinds drawn from these by chance, and the adversary sees from which: a row of weights each."""
        return ScoreLaws(self.nodes, weights @ self.members, weights @ self.others)

    def replaced(self, chances: Reals) -> "ScoreLaws":
        """The same kinds where a non-member makes room for somebody who moves the cell with this chance.

        Then a non-member's law is (1 - r) others + r members, and with L the loss of an output before, it is
        L - ln(1 + r (e^L - 1)) now.
        """
        r = chances[:, None]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            scores = np.where(
                self.nodes > 0,
                -np.log((1 - r) * np.exp(-self.nodes) + r),
                self.nodes - np.log1p(r * np.expm1(np.minimum(self.nodes, 0.0))),
            )
        scores = np.where(r == 1, 0.0, scores)
        others = (1 - r) * self.others + r * self.members
        kinds = np.repeat(np.arange(self.n_kinds), self.nodes.size)
        return placed(self.nodes, self.n_kinds, kinds, scores.ravel(), self.members.ravel(), others.ravel())


def nodes_to(largest: float) -> Reals:
    """Nodes for finite scores up to ``largest`` on either side."""
    largest = float(np.clip(largest, 1e-9, LARGEST))
    near = min(_NEAR, _PART * largest)
    n = ceil(asinh(largest / near) / _GAP)
    finite = largest * np.sinh(np.linspace(-1, 1, 2 * n + 1) * asinh(largest / near)) / (largest / near)
    return np.concatenate([[-np.inf], finite, [np.inf]])


def placed(
    nodes: Reals,
    n_kinds: int,
    kinds: npt.NDArray[np.int64],
    scores: Reals,
    members: Reals,
    others: Reals,
) -> ScoreLaws:
    """Put outputs, each of a kind, with a score and its probabilities in both worlds, on the nodes.

    A score is shared between its two neighbours so that its mean stays.
    """
    if not kinds.shape == scores.shape == members.shape == others.shape:
        raise BadInput(f"{scores.size} scores, but {kinds.size} kinds and {members.size} probabilities")
    finite = nodes[1:-1]
    slack = 1e-9 * finite[-1]  # of rounding
    inside = (scores >= finite[0] - slack) & (scores <= finite[-1] + slack)
    near = np.clip(np.where(inside, scores, 0.0), finite[0], finite[-1])
    left = np.clip(np.searchsorted(finite, near, side="right") - 1, 0, finite.size - 2)
    share = (near - finite[left]) / (finite[left + 1] - finite[left])
    left = np.where(inside, left + 1, np.where(scores > 0, nodes.size - 1, 0))
    right = np.where(inside, left + 1, left)
    places = np.concatenate([kinds * nodes.size + left, kinds * nodes.size + right])
    members, others = (
        np.bincount(
            places, np.concatenate([masses * (1 - share), masses * share]), minlength=n_kinds * nodes.size
        )
        .astype(np.float64)
        .reshape(n_kinds, nodes.size)
        for masses in (members, others)
    )
    return ScoreLaws(nodes, members, others)
