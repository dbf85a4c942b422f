"""What clipping and Gaussian noise of an app allow at most, by its own parameters."""

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from scipy.stats import binom

from leakgauge.theory import gdp


@dataclass(frozen=True, kw_only=True)
class NoisyChannel:
    """Gaussian noise that an app adds, and what it clips: every "example", or a whole "update".

    ``multiplier`` is the standard deviation in units of the clipping bound. The noise is added in each of
    ``steps``, of which a row is in ``reads``; where batches are drawn at random, that is a mean. ``sums``
    says whether the update is the sum of all steps with equal weights (SGD without momentum, at one rate).
    """

    name: str
    clipped: Literal["example", "update"]
    multiplier: float
    steps: int = 1
    reads: float = 1.0
    random_reads: bool = False
    sums: bool = True

    def optimum(self, iterations: int = 1) -> float | None:
        """Largest accuracy of an attacker for whom all other rows send nothing; None if it is not known.

        The target fills the bound in each step that reads it. What the server sees is the sum of all steps:
        Phi(reads / (2 multiplier sqrt(steps))). Several iterations add up the squares of their reads. Where
        reads are random, it is averaged over their numbers, which the attacker may even know; those of
        different iterations are independent.
        """
        if not self.sums:
            return None
        scale = 1 / (self.multiplier * sqrt(self.steps))
        if not self.random_reads:
            return self._at_reads(scale * sqrt(iterations) * np.arange(self.steps + 1))
        reads = np.arange(self.steps + 1)
        squares = np.bincount(reads**2, binom.pmf(reads, self.steps, self.reads / self.steps))
        size = iterations * self.steps**2 + 1
        chances = np.fft.irfft(np.fft.rfft(squares, 2 * size) ** iterations, 2 * size)[:size]
        return _averaged(chances, scale * np.sqrt(np.arange(size)))

    def ceiling(self, iterations: int = 1) -> float:
        """Largest accuracy of any attacker, even of one who sees every step: Phi(sqrt(reads) / multiplier).

        One row can turn what it moves from one side of the bound to the other.
        """
        scale = 2 / self.multiplier
        if not self.random_reads:
            return self._at_reads(scale * np.sqrt(iterations * np.arange(self.steps + 1)))
        reads = np.arange(iterations * self.steps + 1)
        chances = binom.pmf(reads, iterations * self.steps, self.reads / self.steps)
        return _averaged(chances, scale * np.sqrt(reads))

    def _at_reads(self, separations: np.ndarray) -> float:
        """The accuracy for the number of reads, which may be a mean, from the separation of each number."""
        accuracies = [gdp.max_accuracy(float(one)) for one in separations]
        return float(np.interp(self.reads, np.arange(self.steps + 1), accuracies))

    def note(self, iterations: int) -> str:
        """Say what the noise allows, in one sentence."""
        ceiling, optimum = self.ceiling(iterations), self.optimum(iterations)
        said = f"{self.name}: noise of {self.multiplier:.3g} clipping bounds"
        if self.clipped == "update":
            return f"{said} on the whole update; no attacker is right more than {ceiling:.1%} of the time"
        said += f" in each of {self.steps} steps, {self.reads:.3g} of which read a given record"
        if optimum is not None:
            said += (
                f"; an attacker who makes all other records send nothing is right at most {optimum:.1%} of "
                "the time"
            )
        return f"{said}; one who sees every step, and anybody else, at most {ceiling:.1%}"


def _averaged(chances: np.ndarray, separations: np.ndarray) -> float:
    """The mean accuracy over separations of two normal distributions, each with its chance."""
    likely = chances > 1e-15
    accuracies = np.array([gdp.max_accuracy(float(one)) for one in separations[likely]])
    return float(chances[likely] @ accuracies / chances[likely].sum())
