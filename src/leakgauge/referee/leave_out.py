"""Statistics with one round left out, for the jackknife over rounds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals, Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_OF_A_WORLD, FEWEST_ROUNDS, jackknife_variance, rate_interval


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A statistic, its value with each round left out, and how much is behind it."""

    value: float
    values: Reals
    n_independent: int  # rounds of the scarcer world
    n_most: int  # trials it could be worth at most: twice those of the scarcer world


def round_numbers(trials: Trials) -> npt.NDArray[np.int64]:
    """Number the rounds that occur from 0."""
    return np.unique(trials.rounds, return_inverse=True)[1].astype(np.int64)


def left_out_of(trials: Trials, value: float, values: Reals) -> LeftOut:
    """Add to a statistic how many trials are behind it."""
    ins, outs = trials.rounds[trials.members], trials.rounds[~trials.members]
    return LeftOut(
        value, values, min(np.unique(ins).size, np.unique(outs).size), 2 * min(ins.size, outs.size)
    )


def rate_estimate(left_out: LeftOut, confidence: float, method: str) -> Estimate:
    """Turn a statistic with rounds left out into an estimate."""
    if left_out.values.size < FEWEST_ROUNDS or left_out.n_independent < FEWEST_OF_A_WORLD:
        return Estimate(
            value=left_out.value,
            confidence=confidence,
            method=method,
            reason=f"{left_out.values.size} rounds, {left_out.n_independent} of the scarcer world; "
            f"an interval needs {FEWEST_ROUNDS}, and {FEWEST_OF_A_WORLD} of each",
        )
    low, high = rate_interval(
        left_out.value,
        jackknife_variance(left_out.values),
        left_out.n_independent,
        left_out.n_most,
        1 - confidence,
    )
    return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)
