"""BitRand: bits of features are flipped, less significant ones more often."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.mechanisms._bit_mechanism import BitCalibration, BitLaw, BitMechanism
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_positive, require_whole


@dataclass(frozen=True, kw_only=True)
class Mechanism(BitMechanism):
    """Flip bit k of each feature with odds of alpha e^(k epsilon / l), the sign first (Lai et al. 2021).

    ``bits`` are those before and after the point; with the sign they are l. ``alpha`` is the published upper
    bound sqrt((epsilon + d l) / (2 d sum_k e^(2 epsilon k / l))) with d features, unless stated (eq. 23 of
    Nguyen et al. 2023). The nominal epsilon is not met: a row has the sum over all bits of |ln odds|.
    ``calibrate = "exact"`` stays in the family, but with alpha = e^-epsilon', so that no bit is flipped more
    often than not; then the sum is d epsilon' (l + 1) / 2, which is solved for epsilon'.

    >>> round(Mechanism(epsilon=5.0).guarantee.exact_epsilon)
    9239
    """

    epsilon: float
    features: int = 512
    bits: tuple[int, int] = (5, 4)
    alpha: float | None = None
    calibrate: BitCalibration = BitCalibration.NOMINAL
    saturate: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive("bitrand", epsilon=self.epsilon, alpha=self.alpha)
        require_whole("bitrand", "features", self.features, 1)
        if self.calibrate == BitCalibration.EXACT and self.alpha is not None:
            raise BadInput(
                f'bitrand: alpha = {self.alpha} with calibrate = "exact", which solves for it; leave out one'
            )
        self.law  # noqa: B018 (raises an error about wrong bits now)

    @cached_property
    def law(self) -> BitLaw:
        encoding = FixedPoint(*self.bits)
        log_odds = self._log_odds(encoding.n_bits)
        return BitLaw(encoding, (tuple(log_odds.tolist()),), (tuple((-log_odds).tolist()),))

    def _log_odds(self, n_bits: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """Of flipping each bit."""
        part = np.arange(n_bits) / n_bits
        match self.calibrate:
            case BitCalibration.EXACT:
                return (part - 1) * (2 * self.epsilon / (self.features * (n_bits + 1)))
            case BitCalibration.NOMINAL if self.alpha is not None:
                return np.log(self.alpha) + part * self.epsilon
            case BitCalibration.NOMINAL:
                room = np.log(self.epsilon / self.features + n_bits) - np.log(2)
                return (room - scipy.special.logsumexp(2 * self.epsilon * part)) / 2 + part * self.epsilon
