"""The positive control of a black box: the same call, with the secret bit in plain sight."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Mechanism
from leakgauge.domains.blackbox.release import MechanismRelease, ReleaseFunction
from leakgauge.mechanisms import laplace
from leakgauge.mechanisms._additive import is_additive

NOISE_SCALES = 20.0  # between the two worlds where noise is made too small to hide anything


@dataclass(frozen=True, eq=False)
class MarkedInput:
    """One of the two inputs, marked with its side: with the target or without."""

    value: Any
    member: bool


@dataclass(frozen=True, eq=False)
class MarkedRelease:
    """Calls a release on a marked input, and adds the mark to its output.

    The mark travels with the input: if the call is given the wrong input, the output has the wrong mark.
    """

    function: ReleaseFunction

    def __call__(self, given: MarkedInput, rng: Generator) -> tuple[Any, bool]:
        return self.function(given.value, rng), given.member


def mark_inputs(pair: tuple[Any, Any]) -> tuple[MarkedInput, MarkedInput]:
    """Mark the input without the target and the one with it."""
    return MarkedInput(pair[0], False), MarkedInput(pair[1], True)


def faint_noise(mechanism: Mechanism, pair: tuple[Any, Any]) -> MechanismRelease:
    """The true values with noise that is far smaller than any difference between the two inputs.

    Attacks that know the noise distribution need one, so it is not left out. Mechanisms that do not add
    noise to each value, such as one that releases the largest of them, release all values here.
    """
    low, high = (np.asarray(values, dtype=np.float64) for values in pair)
    moved = np.abs(high - low)
    scale = float(moved[moved > 0].min()) / NOISE_SCALES
    if is_additive(mechanism):
        return MechanismRelease(mechanism.scaled_to(mechanism.sensitivity, scale))
    return MechanismRelease(laplace.Mechanism(scale=scale))
