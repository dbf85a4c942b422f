"""The noise of a release chain: drawn fast, and the exact law of its distance from the count.

A law tells the log of the probability (or density) that the noise is a distance, at most it, or at least it.
"""

from typing import Protocol

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism, Reals
from leakgauge.domains.locations.chain.continuous_noise import Gaussian, Laplace
from leakgauge.domains.locations.chain.whole_noise import RoundedGaussian, Silence, TwoSided
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.strategies.laws import Between


class Noise(Protocol):
    """What is added to every count. Distances are outputs minus counts."""

    @property
    def between(self) -> Between:
        """How the law runs between whole distances."""
        ...

    @property
    def reach(self) -> int:
        """A distance that is exceeded with a chance below 1e-17 on either side."""
        ...

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        """Fresh noisy counts; an array of its own."""
        ...

    def log_at(self, distances: Reals) -> Reals:
        """Log probability, or density, of each distance."""
        ...

    def log_at_most(self, distances: Reals) -> Reals: ...

    def log_at_least(self, distances: Reals) -> Reals: ...


def noise_of(mechanism: Mechanism | None, *, rounded: bool) -> Noise:
    """The law of a mechanism's noise on whole counts, rounded down or not; no mechanism, no noise."""
    match mechanism:
        case None:
            return Silence()
        case laplace.Mechanism() if rounded:
            return TwoSided.laplace(mechanism.noise_scale)
        case laplace.Mechanism():
            return Laplace(mechanism, mechanism.noise_scale)
        case geometric.Mechanism():
            return TwoSided.geometric(mechanism.noise_scale)
        case gaussian.Mechanism() if rounded:
            return RoundedGaussian(mechanism.noise_scale)
        case gaussian.Mechanism():
            return Gaussian(mechanism, mechanism.noise_scale)
        case _:
            kind = type(mechanism).__module__.rpartition(".")[2]
            raise BadInput(
                f"counts per place: no noise is called {kind!r}; use laplace, gaussian or geometric"
            )
