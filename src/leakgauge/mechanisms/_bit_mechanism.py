"""What all mechanisms that answer bit by bit have in common."""

from enum import StrEnum
from typing import Protocol

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve, Guarantee, Relation, Unit
from leakgauge.mechanisms._bit_curves import between, worst
from leakgauge.mechanisms._bit_law import BitLaw
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._saturation import accepted


class Calibrate(StrEnum):
    """What epsilon is: a label, or the truth about a row."""

    NOMINAL = "nominal"  # put into the published formula
    EXACT = "exact"  # solved for: the exact epsilon of a row is this one


class BitMechanism(Protocol):
    """Rows of features, encoded, answered bit by bit, and read as numbers again.

    ``features`` is how many a row has at most; the promise is to a row. Every row and every feature gets
    fresh noise.
    """

    epsilon: float
    features: int
    calibrate: Calibrate
    saturate: bool
    relation: Relation
    unit: Unit

    @property
    def law(self) -> BitLaw:
        """The law of a row's features."""
        ...

    @property
    def encoding(self) -> FixedPoint:
        """How features become bits."""
        return self.law.encoding

    @property
    def ones_from_zero(self) -> Reals:
        """P(1 | bit is 0): one per bit, or features x bits where features differ."""
        return self.law.ones(self.features, bit=False)

    @property
    def ones_from_one(self) -> Reals:
        """P(1 | bit is 1): one per bit, or features x bits where features differ."""
        return self.law.ones(self.features, bit=True)

    def exact_epsilon(self, *, signed: bool = True) -> float:
        """The epsilon of a row by the law; unless ``signed``, of rows that are known not to be negative."""
        return self.law.epsilon(self.features, signed=signed)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to a row: the label, unless it was solved for; beside it what the law supports."""
        exact, solved = self.exact_epsilon(), self.calibrate == Calibrate.EXACT
        return Guarantee(
            epsilon=exact if solved else self.epsilon,
            relation=self.relation,
            unit=self.unit,
            nominal_epsilon=self.epsilon,
            exact_epsilon=exact,
            curve=worst(self.law, self.features) if solved else None,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if values.shape and values.shape[-1] > self.features:
            raise BadInput(
                f"rows of {values.shape[-1]} features, but the promise is to rows of {self.features}; "
                f"state features = {values.shape[-1]}"
            )
        return self.law.sample(values, rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each output given its value."""
        return self.law.log_law(outputs, values)

    def table(self, feature: int = 0) -> Reals:
        """Log probability of every level of ``encoding``, in columns, given every level, in rows."""
        return self.law.table(feature)

    def curve(self, low: Reals, high: Reals) -> Curve | None:
        """The trade-off between two rows, never below the exact one."""
        return between(self.law, low, high)

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be cut off; refuse more than a few unless told to saturate."""
        name = type(self).__module__.rpartition(".")[2]
        way_out = "scale them, state more bits = [integer, fraction]"
        share = self.encoding.saturated(values)
        return accepted(name, share, self.encoding.largest, way_out, saturate=self.saturate)
