"""Additive noise on every clipped feature of a row, from any mechanism for real numbers."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.mechanisms import name_of
from leakgauge.mechanisms._additive import AdditiveNoise, Norm, moved_values
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_few_clipped, require_positive, require_whole

DEFAULT_BOUND = FixedPoint().largest  # of 1 + 5 + 4 bits, as in other noise on rows


def row_sensitivity(norm: Norm, features: int, bound: float) -> float:
    """The distance of the two rows that are farthest apart: 2 bound in every feature."""
    return 2 * bound * (features if norm is Norm.L1 else float(np.sqrt(features)))


@dataclass(frozen=True, kw_only=True)
class FeatureNoise:
    """Clips every feature to +-``bound`` and adds noise whose sensitivity is that of a whole row."""

    noise: AdditiveNoise
    features: int
    bound: float = DEFAULT_BOUND
    saturate: bool = False
    name: str = ""  # in messages; empty: the name of the noise

    def __post_init__(self) -> None:
        require_whole(self._name, "features", self.features, 1)
        require_positive(self._name, bound=self.bound)
        if self.noise.lattice:
            raise BadInput(
                f"{self._name}: adds whole numbers, and features are real numbers, which such noise does not "
                "hide; use noise for real numbers"
            )

    @property
    def epsilon(self) -> float | None:
        """The nominal epsilon."""
        return self.noise.guarantee.nominal_epsilon

    @property
    def sensitivity(self) -> float:
        return self.noise.sensitivity

    @property
    def noise_scale(self) -> float:
        return self.noise.noise_scale

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the scale; the curve is for rows at opposite bounds in every feature."""
        best = self.noise.best_attack([(2 * self.bound, self.features)])
        return replace(self.noise.guarantee, curve=None if best is None else best.high)

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if values.shape and values.shape[-1] > self.features:
            raise BadInput(
                f"{self._name}: rows of {values.shape[-1]} features, but the promise is to rows of "
                f"{self.features}; state features = {values.shape[-1]}"
            )
        return self.noise.sample(self.clipped(values), rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each output given its value."""
        return self.noise.log_law(outputs, self.clipped(values))

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two rows, never below the exact one."""
        best = self.noise.best_attack(moved_values(self.clipped(high) - self.clipped(low)))
        return None if best is None else best.high

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be clipped; refuse more than a few unless ``saturate``."""
        share = float(np.mean(self.clipped(values) != values))
        way_out = "scale them, state a larger bound"
        return require_few_clipped(self._name, share, self.bound, way_out, saturate=self.saturate)

    def clipped(self, values: Reals) -> Reals:
        """Clip every value to the bound."""
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise BadInput(
                f"{self._name}: features must be finite numbers, got one that is not; drop or repair such "
                "rows"
            )
        return np.clip(values, -self.bound, self.bound)

    @property
    def _name(self) -> str:
        return self.name or name_of(self.noise)
