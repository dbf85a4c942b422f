"""Laplace noise on every feature of a row, each clipped."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._output_grid import on_grid
from leakgauge.mechanisms._validation import require_few_clipped, require_positive, require_whole, scale_from
from leakgauge.theory import loss_composition, privacy_loss


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Clip every feature to +-``bound`` and add Laplace noise that hides the whole row (Dwork et al. 2006).

    Another row may differ by 2 bound in each of its ``features``, so the scale is 2 bound features / epsilon,
    or ``scale`` where it is stated; if both are given, epsilon is no more than a label. The bound is the
    largest number of 1 + 5 + 4 bits unless stated. Outputs lie on a grid of 2^-24 of the scale or finer;
    ``log_law`` is the density before that rounding, value by value.

    >>> Mechanism(epsilon=2.0, features=8, bound=1.0).noise_scale
    8.0
    """

    epsilon: float | None = None
    scale: float | None = None
    features: int = 512
    bound: float = FixedPoint().largest
    saturate: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_whole("feature_laplace", "features", self.features, 1)
        require_positive("feature_laplace", bound=self.bound, scale=self.noise_scale)

    @property
    def sensitivity(self) -> float:
        """The L1 distance of the two rows that are farthest apart."""
        return 2 * self.bound * self.features

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from("feature_laplace", self.epsilon, self.scale, self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the scale supports; the curve is that of rows at opposite bounds in every feature."""
        epsilon = self.sensitivity / self.noise_scale
        return Guarantee(
            epsilon=epsilon,
            relation=self.relation,
            unit=self.unit,
            sensitivity=self.sensitivity,
            nominal_epsilon=self.epsilon,
            exact_epsilon=epsilon,
            curve=loss_composition.best_attack(
                [(privacy_loss.LaplaceCell(epsilon / self.features), self.features)]
            ).high,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if values.shape and values.shape[-1] > self.features:
            raise BadInput(
                f"feature_laplace: rows of {values.shape[-1]} features, but the promise is to rows of "
                f"{self.features}; state features = {values.shape[-1]}"
            )
        noise = rng.laplace(scale=self.noise_scale, size=values.shape)
        return on_grid(self._clipped(values) + noise, self.noise_scale)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each output given its value."""
        away = np.abs(outputs - self._clipped(values))
        return -away / self.noise_scale - np.log(2 * self.noise_scale)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two rows, never below the exact one."""
        return loss_composition.best_attack(
            loss_composition.cells_under_laplace(self._clipped(high) - self._clipped(low), self.noise_scale)
        ).high

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be clipped; refuse more than a few unless told to saturate."""
        share = float(np.mean(self._clipped(values) != values))
        way_out = "scale them, state a larger bound"
        return require_few_clipped("feature_laplace", share, self.bound, way_out, saturate=self.saturate)

    def _clipped(self, values: Reals) -> Reals:
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise BadInput(
                "feature_laplace: features must be finite numbers, got one that is not; "
                "drop or repair such rows"
            )
        return np.clip(values, -self.bound, self.bound)
