"""Outputs that stand for all noisy counts beyond a place: what clamping and suppression leave."""

from dataclasses import dataclass

from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.noise_laws import Noise
from leakgauge.strategies.laws import Whole


@dataclass(frozen=True)
class AtMost:
    """The noisy count is at most a place: it was clamped from below, or suppressed."""

    noise: Noise
    between = Whole()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_most(distances)


@dataclass(frozen=True)
class AtLeast:
    """The noisy count is at least a place: it was clamped from above."""

    noise: Noise
    between = Whole()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_least(distances)
