"""The privacy loss of one value moved under any symmetric noise, tabulated from its distribution."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, log
from typing import Protocol

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.theory.privacy_loss import gather_on_lattice, spread_bins_on_lattice, with_zero_loss

_BINS = 2**13  # on either side of the moved value
_FALLING = 1e-9  # by how much losses may fall through rounding
_MERGED = 8192  # groups of bins whose losses are put on a lattice, about
_LARGEST_EXPONENT = 600.0  # larger losses overflow when they are exponentiated
_WHOLE = 1e-7  # by how much a multiple may differ from a whole number


class SymmetricNoise(Protocol):
    """The part of a noise distribution that is used here."""

    @property
    def lattice(self) -> bool: ...

    @property
    def reach(self) -> float: ...

    def log_density(self, distances: Reals, /) -> Reals: ...

    def log_sf(self, distances: Reals, /) -> Reals: ...

    def largest_loss(self, shift: float, /) -> float: ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class LossBins:
    """Outputs that are evidence for membership, in bins: the ends of their losses, and log probabilities."""

    low: Reals
    high: Reals
    log_members: Reals
    log_others: Reals


@dataclass(frozen=True)
class NoiseCell:
    """One value moved by ``shift`` under noise that is symmetric about zero and log-concave.

    Then the loss ln P(output | member) - ln P(output | not) rises with the output, so that the losses in a
    bin lie between those at its ends. At most 1e-17 of all outputs lie beyond the last bin.
    """

    noise: SymmetricNoise
    shift: float

    @property
    def continuous(self) -> bool:
        """Whether there is more than atoms at multiples of the smallest loss."""
        return _atom_unit(self.noise, self.shift) is None

    @property
    def monotone(self) -> bool:
        """Whether losses rise with the output; otherwise the bins give no bound."""
        ends = np.stack([self._bins.low, self._bins.high], axis=1).ravel()
        return bool((np.diff(ends) >= -_FALLING * max(1.0, float(ends[-1]))).all())

    @property
    def largest(self) -> float:
        return float(self._bins.high.max())

    @property
    def beyond(self) -> float:
        if np.isfinite(self.noise.largest_loss(self.shift)):
            return 0.0
        return float(np.exp(self.noise.log_sf(np.array([self.noise.reach]))[0]))

    @property
    def unit(self) -> float:
        return _atom_unit(self.noise, self.shift) or self.largest

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the variance or an upper bound of it."""
        masses, losses = np.exp(self._bins.log_members), self._bins.high
        mean = float(self._mean_losses @ (masses * -np.expm1(-self._mean_losses)))
        return mean, float(losses**2 @ (masses * (1 + np.exp(-losses))))

    def pessimistic_lattice(self, step: float) -> Reals:
        bins = self._bins
        return spread_bins_on_lattice(
            bins.low, bins.high, np.exp(bins.log_members), np.exp(bins.log_others), step
        )

    def optimistic_lattice(self, step: float) -> Reals:
        """An attacker who sees only the bin of an output, or several bins together, knows less."""
        bins = self._bins
        if self.noise.lattice or self.largest > _LARGEST_EXPONENT:
            return gather_on_lattice(self._mean_losses, np.exp(bins.log_members), step)
        width = max(step, self.largest / _MERGED)
        return _merge_on_lattice(np.exp(bins.log_members), np.exp(bins.log_others), step, width)

    @property
    def _bins(self) -> LossBins:
        return _loss_bins(self.noise, self.shift)

    @property
    def _mean_losses(self) -> Reals:
        bins = self._bins
        return np.clip(bins.log_members - bins.log_others, bins.low, bins.high)


@lru_cache(maxsize=256)
def _loss_bins(noise: SymmetricNoise, shift: float) -> LossBins:
    return _lattice_bins(noise, round(shift)) if noise.lattice else _continuous_bins(noise, shift)


@lru_cache(maxsize=256)
def _atom_unit(noise: SymmetricNoise, shift: float) -> float | None:
    """The loss of which all losses are multiples, if they are atoms that have one."""
    bins = _loss_bins(noise, shift)
    if not (noise.lattice and (bins.low == bins.high).all()):
        return None
    multiples = bins.low / bins.low[0]
    return float(bins.low[0]) if (np.abs(multiples - np.round(multiples)) < _WHOLE).all() else None


def _continuous_bins(noise: SymmetricNoise, shift: float) -> LossBins:
    """Bins from the middle of the two values, where the loss is zero, to the reach of the noise beyond."""
    inner = np.linspace(shift / 2, shift, _BINS + 1)
    edges = np.concatenate([inner, shift + np.linspace(0.0, noise.reach, _BINS + 1)[1:]])
    losses = noise.log_density(edges - shift) - noise.log_density(edges)
    losses[0] = 0.0
    largest = noise.largest_loss(shift)
    losses = np.minimum(losses, largest)
    high = np.append(losses[1:], largest if np.isfinite(largest) else losses[-1])
    members, others = (
        np.append(_log_between(noise, ends[:-1], ends[1:]), noise.log_sf(ends[-1:]))
        for ends in (edges - shift, edges)
    )
    return _seen(LossBins(losses, high, members, others))


def _lattice_bins(noise: SymmetricNoise, shift: int) -> LossBins:
    """Single outputs; where there are very many, neighbouring ones are joined."""
    first, last = floor(shift / 2) + 1, shift + ceil(noise.reach)
    if last - first < 2 * _BINS:
        starts = np.arange(first, last + 1, dtype=np.float64)
    else:
        parts = np.linspace(first, shift, _BINS), np.linspace(shift, last, _BINS)
        starts = np.unique(np.floor(np.concatenate(parts)))
    ends = np.append(starts[1:] - 1, last)
    low, high = (noise.log_density(places - shift) - noise.log_density(places) for places in (starts, ends))
    largest = noise.largest_loss(shift)
    members, others = (
        np.append(_log_sums(noise, starts - move, ends - move), noise.log_sf(np.array([last - move * 1.0])))
        for move in (shift, 0)
    )
    low, high = (np.minimum(np.append(losses, high[-1]), largest) for losses in (low, high))
    return _seen(LossBins(low, high, members, others))


def _merge_on_lattice(members: Reals, others: Reals, step: float, width: float) -> Reals:
    """Join neighbouring bins, strongest evidence first, so that each group has a loss on the lattice.

    The bin that would bring a group below its lattice point goes into it with some probability, the same in
    both worlds. What is left near zero is joined with its mirror image.
    """
    law = np.zeros(1)
    group, target = (0.0, 0.0), 0
    for p, q in zip(members[::-1].tolist(), others[::-1].tolist(), strict=True):
        while p > 0:
            if not target:
                target = floor((log(p / q) - width) / step) if p > q > 0 else 0
                if target <= 0:
                    return with_zero_loss(law, step)
                factor = exp(target * step)
                if law.size == 1:
                    law = np.zeros(target + 1)
            if group[0] + p >= factor * (group[1] + q):
                group = group[0] + p, group[1] + q
                break
            share = (group[0] - factor * group[1]) / (factor * q - p)
            law[target] += group[0] + share * p
            p, q, group, target = (1 - share) * p, (1 - share) * q, (0.0, 0.0), 0
    return with_zero_loss(law, step)


def _seen(bins: LossBins) -> LossBins:
    """The bins with a probability above zero."""
    seen = (bins.log_members > -np.inf) & (bins.log_others > -np.inf)
    return LossBins(bins.low[seen], bins.high[seen], bins.log_members[seen], bins.log_others[seen])


def _log_between(noise: SymmetricNoise, low: Reals, high: Reals) -> Reals:
    """Log probability of continuous noise between two ends on one side of zero, from the tail there."""
    near, far = np.where(high <= 0, -high, low), np.where(high <= 0, -low, high)
    tail = noise.log_sf(near)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(tail + np.log(-np.expm1(noise.log_sf(far) - tail)))


def _log_sums(noise: SymmetricNoise, low: Reals, high: Reals) -> Reals:
    """Log probability of whole noise from ``low`` to ``high``, both included, on one side of zero."""
    near, far = np.where(high < 0, -high, low), np.where(high < 0, -low, high)
    tail = noise.log_sf(near - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        together = tail + np.log(-np.expm1(noise.log_sf(far) - tail))
    return np.where(low == high, noise.log_density(low), together)
