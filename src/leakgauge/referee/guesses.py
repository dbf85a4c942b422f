"""Which trials an adversary would guess on, and what it would say: decided by the scores alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reading, Reals


@dataclass(frozen=True, eq=False)
class Guesses:
    """Trials with evidence, the strongest first.

    Trials of equal strength are guessed on together or not at all, so nothing depends on the order of
    rows: ``ends`` lists how many guesses there are after each group of equals.
    """

    order: npt.NDArray[np.intp]
    says_member: Bits  # aligned with order
    ends: npt.NDArray[np.intp]

    def reaching(self, fractions: tuple[float, ...], n_trials: int) -> npt.NDArray[np.intp]:
        """Return the numbers of guesses that reach the given shares of all trials, where evidence lasts."""
        if not self.ends.size:
            return np.zeros(len(fractions), np.intp)
        wanted = np.minimum(np.ceil(np.asarray(fractions) * n_trials - 1e-9), self.ends[-1])
        return self.ends[np.searchsorted(self.ends, wanted)]

    def sizes(self, fractions: tuple[float, ...], n_trials: int) -> list[int]:
        """Return the distinct numbers of guesses among them."""
        return sorted({int(size) for size in self.reaching(fractions, n_trials) if size})


def order_guesses(scores: Reals, reading: Reading) -> Guesses:
    """Order trials by strength of evidence.

    Signed scores are guessed on by their sign and ordered by their size; zero is no evidence. All others are
    guessed on by rank: the upper half "member", the lower half "not", from the ends towards the middle; equal
    scores share their middle rank, so a constant score is no evidence either.

    >>> order_guesses(np.array([0.5, -2.0, 0.0]), Reading(signed=True)).order.tolist()
    [1, 0]
    """
    evidence = scores if reading.signed else _centred_ranks(scores)
    strength = np.abs(evidence)
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > 0]
    ends = np.append(np.flatnonzero(np.diff(strength[order])) + 1, order.size) if order.size else order
    return Guesses(order, evidence[order] > 0, ends)


def _centred_ranks(scores: Reals) -> Reals:
    """Twice the distance of each middle rank from the middle of all: whole numbers, hence exact ties."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    twice_middle = 2 * last - counts - 1  # first + last position of the group, from 0
    return (twice_middle - (scores.size - 1)).astype(np.float64)[group]
