"""The privacy loss of one cell of any law, whether or not its two worlds mirror each other.

After rounding, clamping or suppression a cell is no shift under symmetric noise any more: members and
non-members have losses of different laws, and some outputs are possible in one world only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.theory.lattice import whole_and_rest

MOST = 60.0  # larger losses are taken for infinite, or for this; they occur at most once in e^60 cells
_OFF = 1e-6  # how far from one the probabilities of a world may sum; they are scaled to one


@dataclass(frozen=True, eq=False)
class Pair:
    """A cell: the probability of each output for a member, and for a non-member.

    An output may stand for many whose losses differ: ``low`` and ``high`` are then the least and the largest
    loss among them, infinite where nothing is known.

    >>> Pair.of([0.75, 0.25], [0.25, 0.75]).losses.round(4).tolist()
    [1.0986, -1.0986]
    """

    members: Reals
    others: Reals
    low: Reals
    high: Reals

    @classmethod
    def of(
        cls,
        members: npt.ArrayLike,
        others: npt.ArrayLike,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
    ) -> "Pair":
        """Make a pair of two laws over the same outputs; without ``low`` and ``high`` each is one output."""
        laws = [np.asarray(law, dtype=np.float64).ravel() for law in (members, others)]
        if laws[0].size != laws[1].size:
            raise BadInput(
                f"a pair needs two laws over the same outputs, got {laws[0].size} and {laws[1].size}"
            )
        for law in laws:
            if not ((law >= 0).all() and abs(law.sum() - 1) < _OFF):
                raise BadInput(f"probabilities must be >= 0 and sum to 1, got a sum of {law.sum()}")
        present, absent = (law / law.sum() for law in laws)
        loss = log_ratios(present, absent)
        least = loss if low is None else np.minimum(np.asarray(low, dtype=np.float64).ravel(), loss)
        most = loss if high is None else np.maximum(np.asarray(high, dtype=np.float64).ravel(), loss)
        seen = (present > 0) | (absent > 0)
        return cls(present[seen], absent[seen], least[seen], most[seen])

    @property
    def losses(self) -> Reals:
        """The loss of each output: ln P(output | member) - ln P(output | not)."""
        return log_ratios(self.members, self.others)

    @property
    def swapped(self) -> "Pair":
        """The same cell with the worlds exchanged."""
        return Pair(self.others, self.members, -self.high, -self.low)


def mixture(pairs: Sequence[Pair], weights: npt.ArrayLike) -> Pair:
    """A cell whose law is drawn from several, and the adversary sees from which."""
    shares = np.asarray(weights, dtype=np.float64)
    kept = [(pair, share / shares.sum()) for pair, share in zip(pairs, shares, strict=True) if share > 0]
    return Pair(
        np.concatenate([share * pair.members for pair, share in kept]),
        np.concatenate([share * pair.others for pair, share in kept]),
        np.concatenate([pair.low for pair, _ in kept]),
        np.concatenate([pair.high for pair, _ in kept]),
    )


@dataclass(frozen=True, eq=False)
class Law:
    """Scores of a cell on a lattice: probabilities in both worlds at ``first`` steps, one more, and so on.

    What is revealed for sure comes besides; together they sum to one.
    """

    first: int
    members: Reals
    others: Reals
    sure_members: float
    sure_others: float


def spread(pair: Pair, step: float) -> Law:
    """Push every loss to two lattice points so that both worlds keep their probabilities: reveals no less.

    (Blackwell 1953; Doroshenko et al. 2022.) Losses beyond all bounds become sure revelations.
    """
    down, _ = whole_and_rest(np.clip(pair.low, -MOST, MOST), step)
    below, rest = whole_and_rest(np.clip(pair.high, -MOST, MOST), step)
    up = below + (rest > 0)
    bottom, top = step * down, step * up
    endless_up, endless_down = pair.high > MOST, pair.low < -MOST
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share = np.where(up > down, np.expm1(bottom - pair.losses) / np.expm1(bottom - top), 1.0)
        up_members = np.where(endless_down, pair.members, pair.members * share)
        # Where an end is infinite, the other end takes all that both worlds' probabilities allow.
        down_members = np.where(endless_up, pair.others * np.exp(bottom), pair.members - up_members)
    up_members = np.where(endless_up, 0.0, up_members)
    down_members = np.clip(np.where(endless_down, 0.0, down_members), 0.0, pair.members)
    up_others = np.minimum(up_members * np.exp(-top), pair.others)
    down_others = np.where(endless_down, 0.0, pair.others - up_others)
    return _on_lattice(
        np.concatenate([down, up]),
        np.concatenate([down_members, up_members]),
        np.concatenate([down_others, up_others]),
        float(np.sum((pair.members - down_members - up_members)[endless_up])),
        float(np.sum((pair.others - down_others - up_others)[endless_down])),
    )


def rounded(pair: Pair, step: float) -> Law:
    """Let the adversary round every loss to the nearest lattice point before adding up: reveals no more.

    What is possible in one world only stays a sure revelation.
    """
    loss = pair.losses
    sure, never = pair.others == 0, pair.members == 0
    finite = ~(sure | never)
    places = np.round(np.clip(loss[finite], -MOST, MOST) / step).astype(np.int64)
    return _on_lattice(
        places,
        pair.members[finite],
        pair.others[finite],
        float(pair.members[sure].sum()),
        float(pair.others[never].sum()),
    )


def log_ratios(members: Reals, others: Reals) -> Reals:
    """The losses of outputs with these probabilities; infinite where one of them is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(members) - np.log(others))


def _on_lattice(
    places: npt.NDArray[np.int64], members: Reals, others: Reals, sure_members: float, sure_others: float
) -> Law:
    seen = (members > 0) | (others > 0)
    places, members, others = places[seen], members[seen], others[seen]
    if not places.size:
        return Law(0, np.zeros(1), np.zeros(1), sure_members, sure_others)
    first = int(places.min())
    laws = [np.zeros(int(places.max()) - first + 1) for _ in range(2)]
    for law, masses in zip(laws, (members, others)):
        np.add.at(law, places - first, masses)
    return Law(first, laws[0], laws[1], sure_members, sure_others)


def mirrored(masses: Reals, step: float) -> Law:
    """The law of a cell whose worlds mirror each other, given for a member from loss zero upwards."""
    below = masses[:0:-1] * np.exp(-step * np.arange(masses.size - 1, 0, -1))
    members = np.concatenate([below, masses])
    return Law(1 - masses.size, members, members[::-1], 0.0, 0.0)
