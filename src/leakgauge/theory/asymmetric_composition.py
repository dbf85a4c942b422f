"""The best possible attack on many cells of any distribution: tight composition without symmetry.

After rounding, clamping or suppression a cell is no longer a shift under symmetric noise: the losses of
members and non-members have different distributions, and some outputs are possible in one world only. As in
``loss_composition``, the distribution of the sum of independent losses is computed twice: on a lattice that
reveals no less, and for an attacker who rounds every loss before adding up. The truth lies between, up to the
rounding error of the Fourier transform (1e-12).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.theory import loss_composition, privacy_loss, tilted_losses, tradeoff
from leakgauge.theory.privacy_loss import whole_and_rest

LARGEST_LOSS = 60.0  # larger ones count as infinite, or as this; they occur at most once in e^60 cells
_SUM_TOLERANCE = 1e-6  # how far from one the probabilities of a world may sum; they are scaled to one
_SLOPES = np.concatenate([side * np.geomspace(1e-2, 1e2, 17) for side in (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class DistributionPair:
    """A cell: the probability of each output for a member, and for a non-member.

    An entry may stand for several outputs whose losses differ: ``low`` and ``high`` are then the smallest and
    the largest loss among them, infinite where nothing is known.

    >>> DistributionPair.of([0.75, 0.25], [0.25, 0.75]).losses.round(4).tolist()
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
    ) -> "DistributionPair":
        """Pair two distributions over the same outputs; without ``low`` and ``high`` each is one output."""
        laws = [np.asarray(law, dtype=np.float64).ravel() for law in (members, others)]
        if laws[0].size != laws[1].size:
            raise BadInput(
                f"a pair needs two distributions over the same outputs, got {laws[0].size} and {laws[1].size}"
            )
        for law in laws:
            if not ((law >= 0).all() and abs(law.sum() - 1) < _SUM_TOLERANCE):
                raise BadInput(f"probabilities must be >= 0 and sum to 1, got a sum of {law.sum()}")
        present, absent = (law / law.sum() for law in laws)
        loss = log_ratios(present, absent)
        least = loss if low is None else np.minimum(np.asarray(low, dtype=np.float64).ravel(), loss)
        most = loss if high is None else np.maximum(np.asarray(high, dtype=np.float64).ravel(), loss)
        seen = (present > 0) | (absent > 0)
        return cls(present[seen], absent[seen], least[seen], most[seen])

    @property
    def losses(self) -> Reals:
        """The loss of each output: ln P(output | member) - ln P(output | non-member)."""
        return log_ratios(self.members, self.others)

    @property
    def swapped(self) -> "DistributionPair":
        """The same cell with the worlds exchanged."""
        return DistributionPair(self.others, self.members, -self.high, -self.low)


def mixture(pairs: Sequence[DistributionPair], weights: npt.ArrayLike) -> DistributionPair:
    """A cell whose distribution is drawn from several; the attacker sees which one was drawn."""
    shares = np.asarray(weights, dtype=np.float64)
    kept = [(pair, share / shares.sum()) for pair, share in zip(pairs, shares, strict=True) if share > 0]
    return DistributionPair(
        np.concatenate([share * pair.members for pair, share in kept]),
        np.concatenate([share * pair.others for pair, share in kept]),
        np.concatenate([pair.low for pair, _ in kept]),
        np.concatenate([pair.high for pair, _ in kept]),
    )


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """Scores of a cell on a lattice: probabilities in both worlds at ``first`` steps, one more, and so on.

    ``sure_members`` is how often a member is revealed with certainty, ``sure_others`` how often a non-member
    is; with these the probabilities of each world sum to one.
    """

    first: int
    members: Reals
    others: Reals
    sure_members: float
    sure_others: float


def spread_pair(pair: DistributionPair, step: float) -> LatticeLaw:
    """Move every loss to two lattice points and keep the probabilities of both worlds: reveals no less.

    (Blackwell 1953; Doroshenko et al. 2022.) Losses above ``LARGEST_LOSS`` become certain revelations.
    """
    down, _ = whole_and_rest(np.clip(pair.low, -LARGEST_LOSS, LARGEST_LOSS), step)
    below, rest = whole_and_rest(np.clip(pair.high, -LARGEST_LOSS, LARGEST_LOSS), step)
    up = below + (rest > 0)
    bottom, top = step * down, step * up
    endless_up, endless_down = pair.high > LARGEST_LOSS, pair.low < -LARGEST_LOSS
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


def round_pair(pair: DistributionPair, step: float) -> LatticeLaw:
    """Let the attacker round every loss to the nearest lattice point before adding up: reveals no more.

    An output that is possible in one world only remains a certain revelation.
    """
    loss = pair.losses
    sure, never = pair.others == 0, pair.members == 0
    finite = ~(sure | never)
    places = np.round(np.clip(loss[finite], -LARGEST_LOSS, LARGEST_LOSS) / step).astype(np.int64)
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
) -> LatticeLaw:
    seen = (members > 0) | (others > 0)
    places, members, others = places[seen], members[seen], others[seen]
    if not places.size:
        return LatticeLaw(0, np.zeros(1), np.zeros(1), sure_members, sure_others)
    first = int(places.min())
    laws = [np.zeros(int(places.max()) - first + 1) for _ in range(2)]
    for law, masses in zip(laws, (members, others)):
        np.add.at(law, places - first, masses)
    return LatticeLaw(first, laws[0], laws[1], sure_members, sure_others)


def mirrored_law(masses: Reals, step: float) -> LatticeLaw:
    """A cell whose worlds mirror each other; ``masses`` are those of a member, from loss zero up."""
    below = masses[:0:-1] * np.exp(-step * np.arange(masses.size - 1, 0, -1))
    members = np.concatenate([below, masses])
    return LatticeLaw(1 - masses.size, members, members[::-1], 0.0, 0.0)


LawCounts: TypeAlias = Sequence[tuple[LatticeLaw, int]]  # distributions of cells, and how many cells of each


def best_attack(
    cells: Iterable[tuple[DistributionPair | loss_composition.AnyCell, int]],
) -> loss_composition.BestAttack:
    """The best attack on a target who moves these cells: each kind with its number.

    >>> low, high = best_attack([(DistributionPair.of([0.75, 0.25], [0.25, 0.75]), 3)]).accuracy
    >>> round(low, 6), round(high, 6)
    (0.84375, 0.84375)
    """
    groups = []
    for cell, n in cells:
        if not (n >= 0 and n == int(n)):
            raise BadInput(f"the number of cells must be a whole number >= 0, got {n}")
        if n:
            groups.append((cell, int(n)))
    step = _step(groups)
    low, high = _rounded_laws(groups, step), _spread_laws(groups, step)
    return loss_composition.BestAttack(
        tradeoff.inner_two_sided_curve(
            _sum_scores(low, step, tilted=False).coarser(loss_composition.CURVE_CORNERS)
        ),
        tradeoff.outer_two_sided_curve(
            _sum_scores(high, step, tilted=True).coarser(loss_composition.CURVE_CORNERS)
        ),
    )


def _rounded_laws(
    groups: Sequence[tuple[DistributionPair | loss_composition.AnyCell, int]], step: float
) -> LawCounts:
    return [
        (
            round_pair(cell, step)
            if isinstance(cell, DistributionPair)
            else mirrored_law(cell.optimistic_lattice(step), step),
            n,
        )
        for cell, n in groups
    ]


def _spread_laws(
    groups: Sequence[tuple[DistributionPair | loss_composition.AnyCell, int]], step: float
) -> LawCounts:
    return [
        (
            spread_pair(cell, step)
            if isinstance(cell, DistributionPair)
            else mirrored_law(cell.pessimistic_lattice(step), step),
            n,
        )
        for cell, n in groups
    ]


def _step(groups: Sequence[tuple[DistributionPair | loss_composition.AnyCell, int]]) -> float:
    """A step that divides the range of the sum, found on a coarser lattice, into a fixed number of points."""
    largest = 0.0
    for cell, _ in groups:
        sizes = np.abs(cell.losses) if isinstance(cell, DistributionPair) else np.array([cell.largest])
        largest = max(largest, float(np.max(sizes[np.isfinite(sizes)], initial=0.0)))
    coarse = min(max(largest, 1e-3), LARGEST_LOSS) / 256
    low, high = chernoff_window(_rounded_laws(groups, coarse), coarse)
    return (high - low + coarse) / loss_composition.LATTICE_POINTS


def chernoff_window(laws: LawCounts, step: float) -> tuple[float, float]:
    """The interval in which the sum of scores lies in both worlds, except for e^-38 of it (Chernoff 1952)."""
    low, high = 0.0, 0.0
    for world in ("members", "others"):
        least, most = 0.0, 0.0
        exponents: Reals = np.full(_SLOPES.size, privacy_loss.TAIL_EXPONENT)
        for law, n in laws:
            masses: Reals = getattr(law, world)
            seen = np.flatnonzero(masses)
            if seen.size:
                scores: Reals = step * (law.first + seen).astype(np.float64)
                least, most = least + n * float(scores[0]), most + n * float(scores[-1])
                exponents = exponents + n * _log_moments(scores, masses[seen])
        reach = exponents / _SLOPES
        low = min(low, max(least, float(reach[_SLOPES < 0].max())))
        high = max(high, min(most, float(reach[_SLOPES > 0].min())))
    return low, high


def _log_moments(scores: Reals, masses: Reals) -> Reals:
    """Logarithms of the mean of e^(slope score), for all slopes."""
    exponents = np.multiply.outer(_SLOPES, scores) + np.log(masses / masses.sum())
    most = exponents.max(axis=1)
    return np.asarray(most + np.log(np.exp(exponents - most[:, None]).sum(axis=1)))


def _sum_scores(laws: LawCounts, step: float, *, tilted: bool) -> tradeoff.TwoSidedLosses:
    """Add up independent scores in both worlds; ``tilted`` scores are losses: e^loss is the worlds' ratio."""
    low, high = chernoff_window(laws, step)
    first, last = floor(low / step) - 1, ceil(high / step) + 1
    size = scipy.fft.next_fast_len(last - first + 1, real=True)
    members = _power([(law.first, law.members, n) for law, n in laws], size)
    others = _power([(law.first, law.others, n) for law, n in laws], size)
    return tradeoff.TwoSidedLosses(
        _half(np.arange(last, 0, -1), members, others, step, tilted),
        _half(np.arange(first, 0), others, members, step, tilted),
        _at_least_once([(law.sure_members, n) for law, n in laws]),
        _at_least_once([(law.sure_others, n) for law, n in laws]),
    )


def _half(
    places: npt.NDArray[np.int64], near: Reals, far: Reals, step: float, tilted: bool
) -> tradeoff.PositiveLosses:
    losses: Reals = step * np.abs(places).astype(np.float64)
    likely = near[places % near.size]
    unlikely = likely * np.exp(-losses) if tilted else far[places % far.size]
    return tradeoff.PositiveLosses(losses, losses, likely, unlikely)


def _power(laws: Sequence[tuple[int, Reals, int]], size: int) -> Reals:
    transform = np.ones(size // 2 + 1, dtype=complex)
    for first, masses, n in laws:
        circle = np.zeros(size)
        np.add.at(circle, (first + np.arange(masses.size)) % size, masses)
        transform *= tilted_losses.whole_power(scipy.fft.rfft(circle), n)
    return np.maximum(scipy.fft.irfft(transform, size), 0.0)


def _at_least_once(chances: Sequence[tuple[float, int]]) -> float:
    """The chance that an event happens in at least one of the cells."""
    if any(chance >= 1 for chance, _ in chances):
        return 1.0
    return float(-np.expm1(sum(n * np.log1p(-chance) for chance, n in chances)))
