"""Statistics with one round left out, for the jackknife over rounds."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Coins, Reals, Trials
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import (
    FEWEST_IN_A_REPEAT,
    FEWEST_OF_A_WORLD,
    FEWEST_REPEATS,
    FEWEST_ROUNDS,
    jackknife_variance,
    rate_interval,
    repeat_interval,
)


@dataclass(frozen=True, eq=False)
class JackknifeStatistic:
    """A statistic, its value with each round left out, and the number of trials it is based on."""

    value: float
    values: Reals
    n_independent: int  # rounds of the scarcer world
    n_most: int  # trials it could be worth at most: twice those of the scarcer world
    repeats: bool = False  # each round repeats a whole experiment with many trials of both worlds


def round_numbers(trials: Trials) -> npt.NDArray[np.int64]:
    """Number the rounds that occur from 0."""
    return np.unique(trials.rounds, return_inverse=True)[1].astype(np.int64)


def jackknife_statistic(trials: Trials, value: float, values: Reals) -> JackknifeStatistic:
    """Add to a statistic how many trials it is based on."""
    ins, outs = trials.rounds[trials.members], trials.rounds[~trials.members]
    n_independent = min(np.unique(ins).size, np.unique(outs).size)
    return JackknifeStatistic(value, values, n_independent, 2 * min(ins.size, outs.size), are_repeats(trials))


def are_repeats(trials: Trials) -> bool:
    """Whether each round is an experiment of its own: membership given, and many trials of both worlds.

    Then the statistic of a round is itself a mean over many trials, and nearly normal over rounds. Flipped
    coins leave few members in a round, or make its trials dependent: there this is not assumed.
    """
    if trials.coins is not Coins.GIVEN or not len(trials):
        return False
    rounds = round_numbers(trials)
    ins = np.bincount(rounds, trials.members)
    return bool(min(ins.min(), (np.bincount(rounds) - ins).min()) >= FEWEST_IN_A_REPEAT)


def rate_estimate(left_out: JackknifeStatistic, confidence: float, method: str) -> Estimate:
    """Turn a statistic with rounds left out into an estimate."""
    if left_out.repeats and left_out.values.size >= FEWEST_REPEATS:
        low, high = repeat_interval(
            left_out.value,
            jackknife_variance(left_out.values),
            left_out.values.size,
            left_out.n_most,
            1 - confidence,
        )
        method = f"{method}, Student's t over {left_out.values.size} repeats"
        return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)
    if left_out.values.size < FEWEST_ROUNDS or left_out.n_independent < FEWEST_OF_A_WORLD:
        return Estimate(
            value=left_out.value,
            confidence=confidence,
            method=method,
            reason=_too_few(left_out),
        )
    low, high = rate_interval(
        left_out.value,
        jackknife_variance(left_out.values),
        left_out.n_independent,
        left_out.n_most,
        1 - confidence,
    )
    return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)


def _too_few(left_out: JackknifeStatistic) -> str:
    if left_out.repeats:
        return f"no interval: {left_out.values.size} repeats; needs {FEWEST_REPEATS}"
    return (
        f"no interval: {left_out.values.size} rounds, {left_out.n_independent} of the rarer kind (member or "
        f"non-member); needs {FEWEST_ROUNDS}, and {FEWEST_OF_A_WORLD} of each"
    )


def advantage_estimate(left_out: JackknifeStatistic, confidence: float, method: str) -> Estimate:
    """Turn a balanced accuracy with rounds left out into an advantage, TPR - FPR: twice it, less one.

    Both rates come from the same rounds, so their difference is taken in each round: their errors are not
    combined as if they were independent. Nothing is clipped or flipped.
    """
    return as_advantage(rate_estimate(left_out, confidence, method))


def as_advantage(accuracy: Estimate) -> Estimate:
    """Write a balanced accuracy as TPR - FPR."""
    low, value, high = (
        None if rate is None else 2 * rate - 1 for rate in (accuracy.low, accuracy.value, accuracy.high)
    )
    return replace(accuracy, value=value, low=low, high=high)
