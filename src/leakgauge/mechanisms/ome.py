"""OME: bits of features are perturbed by their parity, so that most are kept or erased."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.mechanisms._bit_mechanism import BitCalibration, BitLaw, BitMechanism
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_positive, require_whole

ALPHA = 100.0


class OmeVariant(StrEnum):
    """Where the parity of a bit is counted from, and how many bits there are."""

    PAPER = "paper"  # from the start of its feature; 1 + 5 + 4 bits (Nguyen et al. 2023)
    LYU = (
        "lyu"  # from the start of the row; 1 + 5 + 5 bits (Lyu et al. 2020: 6 + 5, the first holds the sign)
    )


@dataclass(frozen=True, kw_only=True)
class Mechanism(BitMechanism):
    """Answer 1 about a 0 with odds of e^(-epsilon / d l) / alpha, about a 1 by parity (Lyu et al. 2020).

    Even bits that are 1 stay so with odds of alpha, odd ones with odds of alpha^-3 (eq. 22 of Nguyen et al.
    2023); d features have l bits each. The nominal epsilon is not met: it is the sum over pairs of bits in
    which the terms of alpha cancel, but the worst row takes absolute values. ``calibrate = "exact"`` takes
    alpha = 1, as ElasticRR does, and solves for the odds at 0.

    >>> round(Mechanism(epsilon=1.0).guarantee.exact_epsilon)
    35342
    """

    epsilon: float
    features: int = 512
    variant: OmeVariant = OmeVariant.PAPER
    bits: tuple[int, int] | None = None  # before and after the point; (5, 4) or (5, 5) by variant
    alpha: float | None = None  # 100
    calibrate: BitCalibration = BitCalibration.NOMINAL
    saturate: bool = False
    relation: Relation = Relation.REPLACE_ONE
    unit: Unit = Unit.RECORD

    def __post_init__(self) -> None:
        require_positive("ome", epsilon=self.epsilon, alpha=self.alpha)
        require_whole("ome", "features", self.features, 1)
        if self.calibrate == BitCalibration.EXACT and self.alpha not in (None, 1):
            raise BadInput(
                f'ome: alpha = {self.alpha} with calibrate = "exact", which takes 1; leave out one'
            )
        self.law  # noqa: B018 (raises an error about wrong bits now)

    @cached_property
    def law(self) -> BitLaw:
        encoding = FixedPoint(*(self.bits or ((5, 4) if self.variant == OmeVariant.PAPER else (5, 5))))
        n_bits = encoding.n_bits
        alternating = self.variant == OmeVariant.LYU and n_bits % 2 == 1
        log_alpha, zero = self._log_odds(self.epsilon / (self.features * n_bits))
        by_parity = np.array([log_alpha, -3 * log_alpha])
        starts = (0, 1) if alternating else (0,)
        from_one = tuple(tuple(by_parity[(start + np.arange(n_bits)) % 2].tolist()) for start in starts)
        return BitLaw(encoding, ((zero,) * n_bits,) * len(starts), from_one)

    def _log_odds(self, each: float) -> tuple[float, float]:
        """The log odds of alpha, and of answering 1 about a 0, where each bit gets ``each`` of epsilon.

        With alpha = 1 a bit's exact epsilon is ln((1 + e^x) / 2), where e^-x are the odds at 0.
        """
        if self.calibrate == BitCalibration.EXACT:
            return 0.0, -float(each + np.log1p(-np.expm1(-each)))
        log_alpha = float(np.log(self.alpha or ALPHA))
        return log_alpha, -(log_alpha + each)
