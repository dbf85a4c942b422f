"""Additive noise: what domains need of it, and all that follows from its distribution alone.

A mechanism that adds noise is one file with a class ``Mechanism`` that derives from ``PureNoise`` (a scale,
and an epsilon without delta) or ``ApproximateNoise`` (a standard deviation, and an epsilon at a delta), and
defines ``draw``, ``log_density`` and ``log_cdf``. Everything else has a default here that is computed from
these; a file overrides what it knows in closed form.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import floor, log2
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms import _count_noise as count_noise
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._loss_bins import NoiseCell
from leakgauge.mechanisms._validation import require_positive, require_whole, scale_from
from leakgauge.theory import loss_composition, tradeoff
from leakgauge.theory.privacy_loss import NoisyCell

Shifts: TypeAlias = Sequence[tuple[float, int]]  # distances of moved values, and how many each

_PIECES, _NODES = 4, 6  # of an integral: pieces per scale, and points on each
_HALVINGS = 60
_BITS = 24  # of the noise scale, kept in outputs


class Norm(StrEnum):
    """The norm in which a sensitivity is measured: how far one unit moves the whole vector of values."""

    L1 = "l1"
    L2 = "l2"


class AttackBounds(Protocol):
    """The best possible attack on moved values, from below and from above."""

    @property
    def low(self) -> TradeoffCurve: ...

    @property
    def high(self) -> TradeoffCurve: ...

    @property
    def accuracy(self) -> tuple[float, float]: ...

    @property
    def auc(self) -> tuple[float, float]: ...

    def tpr_at(self, fpr: Any, /) -> tuple[Reals, Reals]: ...


class AdditiveNoise(Mechanism, count_noise.SymmetricNoise, Protocol):
    """Independent noise, symmetric about zero and independent of the values, that is added to every value.

    Under ``lattice`` noise values, noise and outputs are whole numbers, and ``log_density`` is a log
    probability.
    """

    @property
    def lattice(self) -> bool: ...

    @property
    def norm(self) -> Norm: ...

    @property
    def closed_form(self) -> bool:
        """Whether ``best_attack`` is a formula, quick for any number of values."""
        ...

    @property
    def sensitivity(self) -> float: ...

    def partial_moments(self, distances: Reals) -> tuple[Reals, Reals, Reals]:
        """P(X > x), E (X - x)+ and E (X - x)+^2 of the noise X, for each distance x."""
        ...

    def largest_loss(self, shift: float) -> float:
        """The largest log-likelihood ratio of one value moved by ``shift``; infinite where there is none."""
        ...

    def loss_cell(self, shift: float) -> NoisyCell | None:
        """Return the privacy loss of one value moved by ``shift``, or None where it is unknown."""
        ...

    def best_attack(self, shifts: Shifts) -> AttackBounds | None:
        """Return the best attack on someone who moves values by these shifts, or None where it is unknown."""
        ...

    def epsilon_at(self, shifts: Shifts, delta: float) -> float:
        """Return an epsilon that holds at a delta for someone who moves values by these shifts."""
        ...

    def rounded(self) -> count_noise.CountNoise:
        """Return the noise as it is added to counts that are published as whole numbers."""
        ...

    def scaled_to(self, sensitivity: float, scale: float) -> Self:
        """Return the same noise with another scale, for values that one unit moves by ``sensitivity``."""
        ...

    def __hash__(self) -> int: ...


def adds_noise(kind: type) -> bool:
    """Whether a class of mechanisms has all members of ``AdditiveNoise``."""
    return {*dir(kind), *vars(kind).get("__dataclass_fields__", {})} >= _MEMBERS


def is_additive(mechanism: object) -> TypeGuard[AdditiveNoise]:
    """Whether a mechanism is additive noise."""
    return adds_noise(type(mechanism))


def adds_real_noise(kind: type) -> bool:
    """Whether a class of mechanisms adds noise to real numbers."""
    return adds_noise(kind) and not vars_of(kind, "lattice")


def vars_of(kind: type, name: str) -> Any:
    """Return an attribute that a class or one of its bases defines."""
    return next(vars(base)[name] for base in kind.__mro__ if name in vars(base))


_MEMBERS = frozenset(
    name
    for protocol in (Mechanism, count_noise.SymmetricNoise, AdditiveNoise)
    for name in vars(protocol)
    if not name.startswith("_")
)


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism:
    """Fields and defaults of additive noise; see ``AdditiveNoise`` for what the members mean.

    If a scale and an epsilon are given, the scale is used and epsilon is only nominal. Outputs of continuous
    noise are rounded to a grid of 2^-24 of the scale or finer; ``log_law`` is the density before that
    rounding, value by value.
    """

    epsilon: float | None = None
    sensitivity: float = 1.0
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.RECORD

    lattice: ClassVar[bool] = False
    norm: ClassVar[Norm] = Norm.L1
    closed_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.lattice:
            require_positive(name_of(self), sensitivity=self.sensitivity)
        elif self.norm is Norm.L1:
            require_whole(name_of(self), "sensitivity", self.sensitivity, 1)
        elif not _is_root_of_whole(self.sensitivity):
            raise BadInput(
                f"{name_of(self)}: sensitivity must be the length of a vector of whole numbers (the root of "
                f"1, 2, 3, ...), got {self.sensitivity}"
            )
        require_positive(name_of(self), scale=self.noise_scale)

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale in use."""

    @abstractmethod
    def draw(self, shape: tuple[int, ...], rng: Generator) -> Reals:
        """Draw the noise alone."""

    @abstractmethod
    def log_density(self, distances: Reals) -> Reals:
        """Log density of each distance, or log probability on a lattice (of whole distances)."""

    @abstractmethod
    def log_cdf(self, distances: Reals) -> Reals:
        """Log probability of noise of at most each distance."""

    @abstractmethod
    def scaled_to(self, sensitivity: float, scale: float) -> Self:
        """Return the same noise with another scale, for values that one unit moves by ``sensitivity``."""

    def log_sf(self, distances: Reals) -> Reals:
        """Log probability of noise above each distance."""
        return self.log_cdf(-np.floor(distances) - 1 if self.lattice else -distances)

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if not self.lattice:
            return on_grid(values + self.draw(values.shape, rng), self.noise_scale)
        self._require_whole_values(values)
        return values + self.draw(values.shape, rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density, or probability, of each output given its value."""
        if not self.lattice:
            return self.log_density(outputs - values)
        self._require_whole_values(values)
        distances = outputs - values
        return np.where(distances == np.floor(distances), self.log_density(distances), -np.inf)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that follows from the scale, for one value moved by the whole sensitivity.

        In L1 that is the worst case: moving several values one after the other reveals no more than group
        privacy allows (Dong, Roth and Su 2022, theorem 2.14), and under log-concave noise that is the single
        move.
        """
        moved = [(self.sensitivity, 1)]
        epsilon, best = self.epsilon_at(moved, self.stated_delta), self.best_attack(moved)
        return Guarantee(
            epsilon=epsilon,
            delta=self.stated_delta,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=None if best is None else best.high,
        )

    @property
    def stated_delta(self) -> float:
        """The delta of the guarantee."""
        return 0.0

    def largest_loss(self, shift: float) -> float:
        """The largest log-likelihood ratio of one value moved by ``shift``: none is known."""
        return np.inf

    def loss_cell(self, shift: float) -> NoisyCell | None:
        """The privacy loss of one moved value, tabulated where the noise is log-concave."""
        cell = NoiseCell(self, shift)
        return cell if cell.monotone else None

    def best_attack(self, shifts: Shifts) -> AttackBounds | None:
        """The best attack on these moved values, by the privacy loss of each."""
        cells = [(cell, n) for shift, n in shifts if (cell := self.loss_cell(float(shift))) is not None]
        return loss_composition.best_attack(cells) if len(cells) == len(shifts) else None

    def epsilon_at(self, shifts: Shifts, delta: float) -> float:
        """Without delta the sum of the largest losses; otherwise from the best attack, where it is known."""
        pure = float(sum(n * self.largest_loss(shift) for shift, n in shifts))
        if delta > 0 and self.lattice:  # the curve of the best attack is rounded, which may be too little
            cells = [(cell, n) for shift, n in shifts if (cell := self.loss_cell(shift)) is not None]
            if len(cells) == len(shifts):
                return min(loss_composition.epsilon_bounds(cells, delta).high, pure)
        best = self.best_attack(shifts) if delta > 0 else None
        return pure if best is None else min(tradeoff.epsilon_at(best.high, delta), pure)

    def epsilon_between(self, low: Reals, high: Reals) -> float:
        """Return an epsilon that holds between two vectors of values, at the delta of the guarantee."""
        return self.epsilon_at(moved_values(high - low), self.stated_delta)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two vectors of values, never below the exact one."""
        if self.lattice:
            self._require_whole_values(low)
            self._require_whole_values(high)
        best = self.best_attack(moved_values(high - low))
        return None if best is None else best.high

    @property
    def reach(self) -> float:
        """A distance that is exceeded with a probability below 1e-17 on either side, found by halving."""
        low, high = 0.0, self.noise_scale
        while self._exceeded(high):
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._exceeded(middle) else (low, middle)
        return high

    @property
    def density(self) -> count_noise.DensityShape:
        """How the density may be interpolated; determined by trying."""
        return count_noise.density_shape(self)

    def partial_moments(self, distances: Reals) -> tuple[Reals, Reals, Reals]:
        """P(X > x), E (X - x)+ and E (X - x)+^2: integrals over the survival function, above |x|.

        By symmetry E (X - x)+ = E (X + x)+ - x, and E (X - x)+^2 = variance + x^2 - E (X + x)+^2.
        """
        nodes, weights = _half_line(self.reach, self.noise_scale)
        away = np.append(np.abs(distances).ravel(), 0.0)
        excess, square = np.empty((2, away.size))
        for i, x in enumerate(away):
            tail = weights * np.exp(self.log_sf(x + nodes))
            excess[i], square[i] = tail.sum(), 2 * (tail @ nodes)
        variance = 2 * square[-1]
        excess, square = (part[:-1].reshape(distances.shape) for part in (excess, square))
        below = distances < 0
        return (
            np.exp(self.log_sf(distances)),
            np.where(below, excess - distances, excess),
            np.where(below, variance + distances**2 - square, square),
        )

    def rounded(self) -> count_noise.CountNoise:
        """Return the noise as it is added to counts that are published as whole numbers."""
        return count_noise.LatticeNoise(self) if self.lattice else count_noise.RoundedNoise(self)

    def _exceeded(self, distance: float) -> bool:
        return bool(self.log_sf(np.array([distance]))[0] >= np.log(count_noise.NEGLIGIBLE))

    def _require_whole_values(self, values: Reals) -> None:
        if not (whole := values == np.floor(values)).all():
            raise BadInput(
                f"{name_of(self)}: values must be whole numbers, got {values[~whole].flat[0]}; round them, "
                "or use laplace"
            )


@dataclass(frozen=True, kw_only=True)
class PureNoise(AdditiveMechanism):
    """Noise with an epsilon without delta: one value moved by x has a loss of at most x / scale.

    The scale is ``scale``, or else ``sensitivity / epsilon``.
    """

    scale: float | None = None

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from(name_of(self), self.epsilon, self.scale, self.sensitivity)

    def largest_loss(self, shift: float) -> float:
        return shift / self.noise_scale

    def scaled_to(self, sensitivity: float, scale: float) -> Self:
        return replace(self, sensitivity=sensitivity, scale=scale)


@dataclass(frozen=True, kw_only=True)
class ApproximateNoise(AdditiveMechanism):
    """Noise with an epsilon at a ``delta``, scaled to a sensitivity in the L2 norm.

    The standard deviation is ``sigma``, or else follows from epsilon and delta.
    """

    delta: float
    sigma: float | None = None

    norm: ClassVar[Norm] = Norm.L2

    def __post_init__(self) -> None:
        name = name_of(self)
        if not 0 < self.delta < 1:
            raise BadInput(f"{name}: delta must be in (0, 1), got {self.delta}")
        require_positive(name, epsilon=self.epsilon, sigma=self.sigma, sensitivity=self.sensitivity)
        if self.sigma is None and self.epsilon is None:
            raise BadInput(f"{name}: neither epsilon nor sigma is given; add epsilon = ... or sigma = ...")
        require_positive(name, sigma=self.noise_scale)
        super().__post_init__()

    @property
    def noise_scale(self) -> float:
        """The standard deviation in use, or the parameter that plays its role."""
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        return self.sigma_for(self.epsilon)

    @abstractmethod
    def sigma_for(self, epsilon: float) -> float:
        """The standard deviation that an epsilon requires."""

    @property
    def stated_delta(self) -> float:
        return self.delta

    @property
    def rho(self) -> float:
        """The guarantee in zero-concentrated differential privacy (Bun and Steinke 2016)."""
        return (self.sensitivity / self.noise_scale) ** 2 / 2

    def scaled_to(self, sensitivity: float, scale: float) -> Self:
        return replace(self, sensitivity=sensitivity, sigma=scale)


def moved_values(differences: Reals) -> list[tuple[float, int]]:
    """The distances of moved values, and how many each; unmoved values are left out."""
    return loss_composition.distinct_shifts(differences)


def largest_ratio_at_values(mechanism: Mechanism, low: Reals, high: Reals) -> float:
    """Add up the largest log ratio of each value, for noise whose largest ratio is at the two true values."""
    here = mechanism.log_law(low, low) - mechanism.log_law(low, high)
    there = mechanism.log_law(high, high) - mechanism.log_law(high, low)
    return float(np.maximum(here, there).sum())


def _is_root_of_whole(length: float) -> bool:
    square = length**2
    return bool(length > 0 and np.isfinite(square) and abs(square - round(square)) <= 1e-9 * square)


@lru_cache(maxsize=64)
def _half_line(reach: float, scale: float) -> tuple[Reals, Reals]:
    """Places and weights of an integral from 0 to the reach (Gauss and Legendre)."""
    edges = np.linspace(0.0, reach, int(np.ceil(_PIECES * reach / scale)) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    lengths = np.diff(edges)[:, None]
    return (edges[:-1, None] + lengths * (nodes + 1) / 2).ravel(), (lengths * weights / 2).ravel()


def on_grid(outputs: Reals, scale: float) -> Reals:
    """Round to multiples of a power of two, about 2^-24 of the noise scale.

    Which floating-point numbers a sum of value and noise can reach depends on the value (Mironov 2012);
    rounding to a much coarser fixed grid hides this, and is only post-processing of the exact mechanism.
    """
    grid = 2.0 ** (floor(log2(scale)) - _BITS)
    return np.asarray(np.round(outputs / grid) * grid)
