"""Randomized response on every bit of the features, with the same probability for all bits."""

from dataclasses import dataclass
from functools import cached_property

from leakgauge.core.guarantee import Relation, Unit
from leakgauge.mechanisms._bit_mechanism import BitCalibration, BitLaw, BitMechanism
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_positive, require_whole


@dataclass(frozen=True, kw_only=True)
class Mechanism(BitMechanism):
    """Flip every bit of each feature with odds of e^-s (Warner 1965), s being the epsilon of one bit.

    ``bits`` are those before and after the point; there is a sign besides. By default all bits of a row share
    epsilon, which is then exact. With ``calibrate = "nominal"`` every bit gets the whole epsilon; the epsilon
    of a row is then the sum over all its bits.

    >>> Mechanism(epsilon=1.0, features=4, calibrate=BitCalibration.NOMINAL).guarantee.exact_epsilon
    40.0
    """

    epsilon: float
    features: int = 512
    bits: tuple[int, int] = (5, 4)
    calibrate: BitCalibration = BitCalibration.EXACT
    saturate: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive("bit_response", epsilon=self.epsilon)
        require_whole("bit_response", "features", self.features, 1)
        self.law  # noqa: B018 (raises an error about wrong bits now)

    @cached_property
    def law(self) -> BitLaw:
        encoding = FixedPoint(*self.bits)
        n_bits = encoding.n_bits
        solved = self.calibrate == BitCalibration.EXACT
        share = self.epsilon / (self.features * n_bits) if solved else self.epsilon
        return BitLaw(encoding, ((-share,) * n_bits,), ((share,) * n_bits,))
