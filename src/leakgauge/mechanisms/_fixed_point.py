"""Features encoded as a few bits, for mechanisms that perturb bit by bit."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput

MOST_BITS = 16

WholeNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as a sign, ``integer`` bits before the point and ``fraction`` bits after it.

    Sign and magnitude, the sign first, the most significant bit first. Magnitudes are rounded to the nearest
    multiple of 2^-fraction, half to even, and larger ones become the largest. Zero has one input, with sign
    0, but two patterns of bits; both are read as 0.

    >>> FixedPoint().encode(np.array([-1.0])).astype(int).tolist()
    [[1, 0, 0, 0, 0, 1, 0, 0, 0, 0]]
    """

    integer: int = 5
    fraction: int = 4

    def __post_init__(self) -> None:
        whole = all(0 <= n < np.inf and n == int(n) for n in (self.integer, self.fraction))
        if not (whole and 1 <= self.integer + self.fraction < MOST_BITS):
            raise BadInput(
                "bits must be two whole numbers >= 0, before and after the point, with a sum from 1 to "
                f"{MOST_BITS - 1}, got [{self.integer}, {self.fraction}]"
            )

    @property
    def n_bits(self) -> int:
        """The number of bits of a number, with its sign."""
        return 1 + self.integer + self.fraction

    @property
    def most(self) -> int:
        """The largest magnitude, in steps of the last bit."""
        return 2 ** (self.integer + self.fraction) - 1

    @property
    def largest(self) -> float:
        """The largest number; beyond it everything is cut off."""
        return float(self.most * 2.0**-self.fraction)

    @property
    def levels(self) -> Reals:
        """All numbers that can be read, in order; the two zeros are one of them."""
        return np.arange(-self.most, self.most + 1, dtype=np.float64) * float(2.0**-self.fraction)

    def places(self, values: npt.ArrayLike) -> WholeNumbers:
        """The position in ``levels`` of each number once encoded."""
        steps = self._steps(values)
        steps += self.most
        np.maximum(steps, 0, out=steps)
        np.minimum(steps, 2 * self.most, out=steps)
        return steps.astype(np.int64)

    def codes(self, values: npt.ArrayLike) -> WholeNumbers:
        """The bits of each number, read as one whole number."""
        return _codes(self).take(self.places(values))

    def values_of(self, codes: WholeNumbers) -> Reals:
        """The numbers with these bits."""
        return _values(self).take(codes)

    def encode(self, values: npt.ArrayLike) -> Bits:
        """The bits of each number, along a new last axis."""
        return (self.codes(values)[..., None] >> np.arange(self.n_bits)[::-1]) & 1 == 1

    def decode(self, bits: npt.ArrayLike) -> Reals:
        """The numbers with the bits along the last axis."""
        given = np.asarray(bits, dtype=np.int64)
        if not given.shape or given.shape[-1] != self.n_bits:
            raise BadInput(f"a number has {self.n_bits} bits, got an array of shape {given.shape}")
        return self.values_of(given @ (1 << np.arange(self.n_bits)[::-1]))

    def saturated(self, values: npt.ArrayLike) -> float:
        """The share of numbers that are too large for the bits."""
        return float(np.mean(np.abs(self._steps(values)) > self.most))

    def _steps(self, values: npt.ArrayLike) -> Reals:
        """Whole steps of the last bit; rounded to the nearest, half to even, on both sides of zero."""
        steps = np.asarray(values, dtype=np.float64) * 2.0**self.fraction
        if not np.isfinite(steps).all():
            raise BadInput("features must be finite numbers, got one that is not; drop or repair such rows")
        return np.asarray(np.rint(steps))


@lru_cache(16)
def _codes(encoding: FixedPoint) -> WholeNumbers:
    """By place."""
    steps = np.arange(-encoding.most, encoding.most + 1)
    codes = np.where(steps < 0, encoding.most + 1 - steps, steps)
    codes.setflags(write=False)
    return codes


@lru_cache(16)
def _values(encoding: FixedPoint) -> Reals:
    """By code; both zeros are +0."""
    steps = np.arange(encoding.most + 1) * 2.0**-encoding.fraction
    values = np.concatenate([steps, 0.0 - steps])
    values.setflags(write=False)
    return values
