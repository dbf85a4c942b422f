"""The law of a sum of Laplace variables together with the sum of their squares.

A t statistic depends on these two numbers alone, so their law says how often a t-test rejects under Laplace
noise, whatever the shift: moved by s, the sum is A + m s and the sum of squares Q + 2 s A + m s^2.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, rfft2

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

FEWEST, MOST = 4, 100  # variables: outside, the lattice is too coarse
_CUT = 11.0  # scales: single variables further out, 2e-5 of all, are left out
_SUMS, _SQUARES = 1024, 4096  # points of the lattice
_FEW = 8  # variables up to which squares are told apart twice as finely


@dataclass(frozen=True, eq=False)
class SquareSums:
    """Probabilities of (A, Q) for m Laplace variables of scale one, on a lattice."""

    m: int
    sums: Reals  # A of each row
    below: Reals  # rows x points: probability of the row with Q below the upper end of each bin
    step: float  # of Q; bins are centred at its multiples
    spread: float  # standard deviation of one variable on the lattice, over that of a Laplace variable

    @classmethod
    def of(cls, m: int) -> "SquareSums":
        """Convolve the law of (x, x^2) with itself m times, by Fourier transform.

        x is shared between two neighbours on the lattice so that its mean stays; then x^2 is. The first adds
        a little variance, which ``spread`` makes up for: the t statistic knows no scale. What follows is
        right to 4e-4 for 4 variables and to 2e-4 for 10 and more.
        """
        if not (FEWEST <= m <= MOST and m == int(m)):
            raise BadInput(
                f"the number of Laplace variables must be a whole number in [{FEWEST}, {MOST}], got {m}"
            )
        n_squares = 2 * _SQUARES if m <= _FEW else _SQUARES
        reach = 12 + 6 * np.sqrt(2 * m)
        step = 2 * reach / _SUMS
        square_step = (_CUT**2 + 2 * m + 8 * np.sqrt(20 * m)) / n_squares
        places, masses = _one(step)
        squares = (places * step) ** 2 / square_step
        lower = np.floor(squares).astype(np.int64)
        law = np.zeros((_SUMS, n_squares))
        np.add.at(law, (places % _SUMS, lower % n_squares), masses * (1 - squares + lower))
        np.add.at(law, (places % _SUMS, (lower + 1) % n_squares), masses * (squares - lower))
        total = np.maximum(irfft2(rfft2(law) ** m, law.shape), 0.0)
        sums = step * np.fft.fftfreq(_SUMS, 1 / _SUMS)
        return cls(m, sums, np.cumsum(total, axis=1), square_step, float(np.sqrt(1 + step**2 / 12)))

    def rejected(self, shift: float, critical: float, *, both_sides: bool) -> float:
        """Chance that the textbook t of the variables moved by ``shift`` lies above ``critical`` > 0.

        t > c if the sum is positive and its square over the sum of squares above m c^2 / (m - 1 + c^2); with
        both sides, if |t| > c.
        """
        shift = shift * self.spread
        moved = self.sums + self.m * shift
        least = self.m * critical**2 / (self.m - 1 + critical**2)
        limits = moved**2 / least - 2 * shift * self.sums - self.m * shift**2
        chances = self._below(limits)
        return float(chances.sum() if both_sides else chances[moved > 0].sum())

    def _below(self, limits: Reals) -> Reals:
        """The chance of each row with Q below its limit; a bin's probability is spread evenly."""
        n = self.below.shape[1]
        places = np.clip(limits / self.step + 0.5, 0.0, n)
        bins = np.minimum(places.astype(np.int64), n - 1)
        rows = np.arange(len(limits))
        upper = self.below[rows, bins]
        lower = np.where(bins > 0, self.below[rows, bins - 1], 0.0)
        return lower + (places - bins) * (upper - lower)


def _one(step: float) -> tuple[npt.NDArray[np.int64], Reals]:
    """A Laplace variable of scale one on a lattice: places and probabilities, each place with its share.

    The share of a place is the mean of a hat over it: the second difference of an integral of the law.
    """
    n = int(_CUT / step)
    places = np.arange(-n, n + 1, dtype=np.int64)
    edges = step * np.arange(-n - 1, n + 2)
    twice = np.exp(-np.abs(edges)) / 2 + np.maximum(edges, 0.0)
    masses = np.diff(twice, 2) / step
    return places, masses / masses.sum()
