"""Laplace noise on every clipped feature of a row."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms import laplace
from leakgauge.mechanisms._additive import Norm
from leakgauge.mechanisms._feature_noise import DEFAULT_BOUND, FeatureNoise, row_sensitivity
from leakgauge.mechanisms._validation import require_positive, require_whole, scale_from


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Clip every feature to +-``bound`` and add Laplace noise that hides the whole row (Dwork et al. 2006).

    Another row may differ by 2 bound in each of its ``features``, so the scale is 2 bound features / epsilon,
    or ``scale`` where it is stated; if both are given, epsilon is only nominal. The bound is the largest
    number of 1 + 5 + 4 bits unless stated. Outputs lie on a grid of 2^-24 of the scale or finer; ``log_law``
    is the density before that rounding, value by value.

    >>> Mechanism(epsilon=2.0, features=8, bound=1.0).noise_scale
    8.0
    """

    epsilon: float | None = None
    scale: float | None = None
    features: int = 512
    bound: float = DEFAULT_BOUND
    saturate: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_whole("feature_laplace", "features", self.features, 1)
        require_positive("feature_laplace", bound=self.bound, scale=self.noise_scale)

    @property
    def sensitivity(self) -> float:
        """The L1 distance of the two rows that are farthest apart."""
        return row_sensitivity(Norm.L1, self.features, self.bound)

    @property
    def noise_scale(self) -> float:
        """The scale in use."""
        return scale_from("feature_laplace", self.epsilon, self.scale, self.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the scale; the curve is for rows at opposite bounds in every feature."""
        return self._rows.guarantee

    def sample(self, values: Reals, rng: Generator) -> Reals:
        return self._rows.sample(values, rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density of each output given its value."""
        return self._rows.log_law(outputs, values)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two rows, never below the exact one."""
        return self._rows.curve(low, high)

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be clipped; refuse more than a few unless ``saturate``."""
        return self._rows.require_range(values)

    @property
    def _rows(self) -> FeatureNoise:
        noise = laplace.Mechanism(
            epsilon=self.epsilon,
            scale=self.scale,
            sensitivity=self.sensitivity,
            relation=self.relation,
            unit=self.unit,
        )
        return FeatureNoise(
            noise=noise,
            features=self.features,
            bound=self.bound,
            saturate=self.saturate,
            name="feature_laplace",
        )
