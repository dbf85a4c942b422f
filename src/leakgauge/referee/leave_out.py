"""Statistics with one round left out, for the jackknife over rounds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals, Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_ROUNDS, jackknife_variance, rate_interval


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A statistic, and its value with each round (or group of rounds) left out."""

    value: float
    values: Reals
    n_rounds: int
    n_if_perfect: float  # independent trials behind it: rounds of the scarcer world


def round_numbers(trials: Trials) -> npt.NDArray[np.int64]:
    """Number the rounds that occur from 0."""
    return np.unique(trials.rounds, return_inverse=True)[1].astype(np.int64)


def world_rounds(trials: Trials) -> int:
    """Count the rounds with a member, or with a non-member, whichever are fewer."""
    return min(np.unique(trials.rounds[trials.members]).size, np.unique(trials.rounds[~trials.members]).size)


def deal(rounds: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """Deal rounds into groups to be left out in turn, where a statistic is too rough to leave out one round.

    Quantiles need groups of at least the root of the number of rounds (Shao and Wu 1989); 10 to 50 groups.
    """
    n_groups = int(np.clip(np.sqrt(rounds.max() + 1), 10, 50))
    return rounds % n_groups, n_groups


def rate_estimate(left_out: LeftOut, confidence: float, method: str) -> Estimate:
    """Turn a statistic with rounds left out into an estimate."""
    if left_out.n_rounds < FEWEST_ROUNDS:
        return Estimate(
            value=left_out.value,
            confidence=confidence,
            method=method,
            reason=f"{left_out.n_rounds} rounds; an interval needs {FEWEST_ROUNDS}",
        )
    variance = jackknife_variance(left_out.values)
    low, high = rate_interval(
        left_out.value, variance, left_out.values.size, left_out.n_if_perfect, 1 - confidence
    )
    return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)
