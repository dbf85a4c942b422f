"""The noise of logged answers: any mechanism that adds noise, at the scale of each answer."""

from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import AdditiveNoise, AttackBounds, PureNoise, adds_noise
from leakgauge.theory import gdp
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell, NoisyCell, ResponseCell

DEFAULT_NOISE, DEFAULT_SIGMA_NOISE = "laplace", "gaussian"  # of an answer without a mechanism
_KNOWN_FIELDS = ("epsilon", "scale", "sigma", "delta", "sensitivity")  # that a log can state
_ANY_DELTA = 0.5  # of noise whose scale is given


class LossForm(IntEnum):
    """How the privacy loss of an answer is computed."""

    LAPLACE = 0  # from the shift in scales
    GEOMETRIC = 1  # from the scale and a whole shift
    GAUSSIAN = 2  # squares of shifts in standard deviations add up
    TABULATED = 3  # from a table for each kind of answer


@dataclass(frozen=True)
class NoiseFamily:
    """A mechanism by its name, at any scale.

    Continuous noise of another scale is the same noise in other units, so that only the shift in scales
    matters; noise on whole numbers depends on both.
    """

    name: str

    @property
    def fits(self) -> bool:
        """Whether it is additive noise that a log can state."""
        return _fits(mechanism_class(self.name))

    @cached_property
    def unit(self) -> AdditiveNoise:
        """The noise of scale 1."""
        return self._build(scale=1.0)

    @property
    def by_sigma(self) -> bool:
        """Whether the scale is a standard deviation, which follows from epsilon and delta."""
        return "sigma" in _field_names(self.name)

    @property
    def lattice(self) -> bool:
        """Whether the noise is for whole numbers only."""
        return self.unit.lattice

    @property
    def known(self) -> bool:
        """Whether the best attack is known."""
        return self._best is not None

    @cached_property
    def form(self) -> LossForm:
        """How the privacy loss of an answer is computed."""
        if isinstance(self._best, gdp.GaussianAttack) and self._best.mu == 1 and not self.lattice:
            return LossForm.GAUSSIAN
        match self.unit.loss_cell(1.0) if self.known else None:
            case LaplaceCell(ratio=1.0) if not self.lattice:
                return LossForm.LAPLACE
            case GeometricCell(rate=1.0, shift=1) if self.lattice:
                return LossForm.GEOMETRIC
        return LossForm.TABULATED

    @property
    def linear(self) -> bool:
        """Whether an answer costs the shift in scales, without delta."""
        kind = mechanism_class(self.name)
        inherits = issubclass(kind, PureNoise) and kind.largest_loss is PureNoise.largest_loss
        return self.form in (LossForm.LAPLACE, LossForm.GEOMETRIC) or inherits

    @property
    def bounded(self) -> bool:
        """Whether there is an epsilon without delta."""
        return bool(np.isfinite(self.unit.largest_loss(1.0)))

    @property
    def composed(self) -> bool:
        """Whether epsilon follows from the table of each kind of answer."""
        return not self.linear and self.form is not LossForm.GAUSSIAN

    @property
    def scale_is_ratio(self) -> bool:
        """Whether the scale that an epsilon requires is bound / epsilon."""
        kind = mechanism_class(self.name)
        return issubclass(kind, PureNoise) and kind.noise_scale is PureNoise.noise_scale

    def scale_for(self, epsilon: float, delta: float, bound: float) -> float:
        """Return the scale that an epsilon requires of an answer that a record changes by ``bound``."""
        stated = {"epsilon": epsilon, "sensitivity": bound}
        return float(self._build(**stated, **({"delta": delta} if self.by_sigma else {})).noise_scale)

    def deviation(self, scale: float) -> float:
        """Return the standard deviation of the noise."""
        if not self.lattice:
            return scale * self._unit_deviation
        return float(np.sqrt(2 * self._at(scale).partial_moments(np.zeros(1))[2][0]))

    @cached_property
    def _unit_deviation(self) -> float:
        return float(np.sqrt(2 * self.unit.partial_moments(np.zeros(1))[2][0]))  # by symmetry

    def largest_loss(self, scale: float, shift: float) -> float:
        """Return the largest privacy loss of one answer; infinite where there is none."""
        return float(self._at(scale).largest_loss(shift))

    def cell(self, scale: float, shift: float) -> NoisyCell:
        """Return the privacy loss of one answer, or one that reveals no less where it is unknown."""
        cell = self._at(scale).loss_cell(shift) if self.known else None
        if cell is not None:
            return cell
        largest = self.largest_loss(scale, shift)
        if not np.isfinite(largest):
            raise BadInput(
                f"mechanism {self.name!r}: neither its best attack nor a bound on its privacy loss is known "
                f"for a shift of {shift:g} at scale {scale:g}; leave these answers out"
            )
        return ResponseCell(largest)

    def _at(self, scale: float) -> AdditiveNoise:
        return self.unit if scale == 1 else self.unit.scaled_to(1.0, scale)

    @cached_property
    def _best(self) -> AttackBounds | None:
        """The best attack on an answer that is shifted by one scale."""
        return self.unit.best_attack([(1.0, 1)])

    def _build(self, **parameters: float) -> AdditiveNoise:
        """Build the mechanism; ``scale`` is whichever field it has for it."""
        names = _field_names(self.name)
        if "scale" in parameters and self.by_sigma:
            parameters["sigma"] = parameters.pop("scale")
        if "delta" in names:
            parameters.setdefault("delta", _ANY_DELTA)
        noise: AdditiveNoise = mechanism_class(self.name)(**parameters)
        return noise


def logged_noise_names() -> list[str]:
    """Name the mechanisms that a log may state: all that add noise and need no other parameter."""
    return mechanism_names(_fits)


def _fits(kind: type) -> bool:
    if not adds_noise(kind):
        return False
    needed = {
        field.name for field in _fields(kind) if field.default is MISSING and field.default_factory is MISSING
    }
    return needed <= set(_KNOWN_FIELDS)


def _field_names(name: str) -> frozenset[str]:
    return frozenset(field.name for field in _fields(mechanism_class(name)))


def _fields(kind: Any) -> tuple[Any, ...]:
    return fields(kind)
