"""Noise added to counts, continuous or rounded down, and the events that clamping and suppression publish."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism, Reals
from leakgauge.mechanisms import mechanism_names, name_of
from leakgauge.mechanisms._additive import adds_noise, is_additive
from leakgauge.mechanisms._count_noise import CountNoise, IntegerOutputs, UnroundedNoise


@dataclass(frozen=True)
class NoNoise:
    """No noise at all."""

    between = IntegerOutputs()
    reach = 0

    def added_to(self, counts: Reals, rng: Generator) -> Reals:
        return np.array(counts, dtype=np.float64)

    def log_at(self, distances: Reals) -> Reals:
        return np.where(distances == 0, 0.0, -np.inf)

    def log_at_most(self, distances: Reals) -> Reals:
        return np.where(distances >= 0, 0.0, -np.inf)

    def log_at_least(self, distances: Reals) -> Reals:
        return np.where(distances <= 0, 0.0, -np.inf)


def count_noise_of(mechanism: Mechanism | None, *, rounded: bool) -> CountNoise:
    """Return the noise of a mechanism on whole counts, rounded down or not; no mechanism, no noise."""
    if mechanism is None:
        return NoNoise()
    if not is_additive(mechanism):
        raise BadInput(
            f"counts per place: {name_of(mechanism)!r} does not add noise to every count; use one of "
            f"{', '.join(mechanism_names(adds_noise))}"
        )
    return mechanism.rounded() if rounded or mechanism.lattice else UnroundedNoise(mechanism)


@dataclass(frozen=True)
class NoiseAtMost:
    """The noisy count is at most a place: it was clamped from below, or suppressed."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_most(distances)


@dataclass(frozen=True)
class NoiseAtLeast:
    """The noisy count is at least a place: it was clamped from above."""

    noise: CountNoise
    between = IntegerOutputs()

    def log_at(self, distances: Reals) -> Reals:
        return self.noise.log_at_least(distances)
