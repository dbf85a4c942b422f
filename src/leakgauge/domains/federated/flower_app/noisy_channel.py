"""What clipping and Gaussian noise of an app allow at most, by its own parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import scipy

from leakgauge.theory import gdp


@dataclass(frozen=True, kw_only=True)
class NoisyChannel:
    """Gaussian noise that an app adds, and what it clips: every "example", or a whole "update".

    ``multiplier`` is the standard deviation in units of the clipping bound. The noise is added in each of
    ``steps``, in which a row is read ``reads`` times in all. Reads in one step add up, those in different
    steps are orthogonal at most: ``reads_norm`` is the root of the sum over steps of the squared reads in
    that step; without it, no step reads a row twice. Both are "fixed"; or "binomial" with this mean, where
    each step draws every row independently, once; or "unknown", and then they are limits of their means, as
    ``reads_square`` and ``norm_square`` are of the means of their squares; or "hidden", and then no limit is
    stated. ``sums`` says whether the update is the sum of all steps with equal weights (SGD without momentum,
    at one rate).
    """

    name: str
    clipped: Literal["example", "update"]
    multiplier: float
    steps: int = 1
    reads: float = 1.0
    reads_are: Literal["fixed", "binomial", "unknown", "hidden"] = "fixed"
    reads_norm: float | None = None
    reads_square: float = 1.0
    norm_square: float = 1.0
    sums: bool = True

    def optimum(self, iterations: int = 1) -> float | None:
        """Largest accuracy of an attacker for whom all other rows send nothing; None if it is not known.

        The target fills the bound each time it is read. What the server sees is the sum of all steps:
        Phi(reads / (2 multiplier sqrt(steps))). Several iterations add up the squares of their reads. Where
        reads are random, it is averaged over their numbers, which the attacker may even know; those of
        different iterations are independent. Where only means are known, it is the accuracy at the mean,
        which no average exceeds: it is concave in the reads, and in the sum of their squares (Jensen 1906).
        """
        if not self.sums or self.reads_are == "hidden":
            return None
        scale = 1 / (self.multiplier * sqrt(self.steps))
        if self.reads_are == "fixed":
            return gdp.max_accuracy(scale * sqrt(iterations) * self.reads)
        if self.reads_are == "unknown":
            root = self.reads if iterations == 1 else sqrt(iterations * self.reads_square)
            return gdp.max_accuracy(scale * root)
        reads = np.arange(self.steps + 1)
        squares = np.bincount(reads**2, scipy.stats.binom.pmf(reads, self.steps, self.reads / self.steps))
        size = iterations * self.steps**2 + 1
        chances = np.fft.irfft(np.fft.rfft(squares, 2 * size) ** iterations, 2 * size)[:size]
        return _averaged(chances, scale * np.sqrt(np.arange(size)))

    def ceiling(self, iterations: int = 1) -> float | None:
        """Largest accuracy of any attacker, even of one who sees every step: Phi(reads_norm / multiplier).

        One row can turn what it moves from one side of the bound to the other. Several iterations add up the
        squares of their norms; where only means are known, it is the accuracy at the mean (see ``optimum``).
        """
        if self.reads_are == "hidden":
            return None
        scale = 2 / self.multiplier
        if self.reads_are == "unknown" and iterations > 1:
            return gdp.max_accuracy(scale * sqrt(iterations * self.norm_square))
        if self.reads_are != "binomial":
            norm = sqrt(self.reads) if self.reads_norm is None else self.reads_norm
            return gdp.max_accuracy(scale * sqrt(iterations) * norm)
        reads = np.arange(iterations * self.steps + 1)
        chances = scipy.stats.binom.pmf(reads, iterations * self.steps, self.reads / self.steps)
        return _averaged(chances, scale * np.sqrt(reads))

    def note(self, iterations: int, beside: Sequence[str] = ()) -> str:
        """Say what the noise allows, in one sentence; what is ``beside`` it tells more."""
        ceiling, optimum = self.ceiling(iterations), self.optimum(iterations)
        said = f"{self.name}: noise of {self.multiplier:.3g} clipping bounds"
        if beside:
            return (
                f"{said} on the weights; the most that any attacker reaches is not known, because of: "
                f"{'; '.join(beside)}"
            )
        if self.clipped == "update":
            return f"{said} on the whole update; no attacker is right more than {ceiling:.1%} of the time"
        if ceiling is None:
            return (
                f"{said} in each of {self.steps} steps; how often a step reads a given record is not known, "
                "and so neither is the most that this noise allows: the app mixes records with one another, "
                "or trains on them where the audit does not see it"
            )
        often = {"fixed": "", "binomial": " on average", "unknown": " at most on average"}[self.reads_are]
        said += f" in each of {self.steps} steps, which read a given record {self.reads:.3g} times{often}"
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
