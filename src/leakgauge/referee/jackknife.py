"""Statistics with one round left out, for the jackknife over rounds, or with one split of the people.

A round has a pseudo-value (Tukey 1958): the statistic of all n rounds times n, less that without the round
times n - 1. Pseudo-values of independent rounds are nearly independent, their mean is the statistic, and they
cannot leave a known range, so the bounds on a mean of bounded values apply. Few rounds with many targets tell
little about what a rare bad round does: a variance estimated from rounds that all went well is too small.

Rounds that rest on the same random split of the people are not independent draws of what another split would
have given. Where there are enough splits, the statistic is also computed with each split left out, and
Student's t over splits widens the interval; otherwise the interval holds for these splits only, and says so.
Student's t cannot allow for a kind of split that is rare and was not drawn. ``high_any_split`` does: it is a
bound on a mean of bounded values, with splits in place of rounds, and needs many splits to be low.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Coins, Trials
from leakgauge.referee.bounded_mean import mean_high, mean_low
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import (
    FEWEST_IN_A_REPEAT,
    FEWEST_OF_A_WORLD,
    FEWEST_REPEATS,
    FEWEST_ROUNDS,
    FEWEST_SPLITS,
    jackknife_variance,
    log_odds_interval,
    repeat_interval,
    student_margin,
)


@dataclass(frozen=True, eq=False)
class JackknifeStatistic:
    """A statistic, its value with each round left out, its range, and the number of trials it is based on."""

    value: float
    values: Reals
    n_independent: int  # rounds of the scarcer world
    n_most: int  # trials it could be worth at most: twice those of the scarcer world
    most_lost: float  # by how much the pseudo-value of a round in which all goes wrong is below the value
    most_won: float  # by how much that of a round in which all goes right is above it
    repeats: bool = False  # each round repeats a whole experiment with many trials of both worlds


def jackknife_statistic(
    trials: Trials, value: float, values: Reals, weights: Reals, rates: "Reals | float"
) -> JackknifeStatistic:
    """Add to a statistic its range, and how many trials it is based on.

    ``weights`` says by trial how much the statistic changes between the worst and the best outcome of this
    trial, and ``rates`` how good its outcome is on average, from 0 to 1.
    """
    ins, outs = trials.rounds[trials.members], trials.rounds[~trials.members]
    n_independent = min(np.unique(ins).size, np.unique(outs).size)
    n_most = 2 * min(ins.size, outs.size)
    lost, won = largest_influences(trials, weights, rates)
    return JackknifeStatistic(value, values, n_independent, n_most, lost, won, are_repeats(trials))


def largest_influences(trials: Trials, weights: Reals, rates: "Reals | float") -> tuple[float, float]:
    """How far a pseudo-value can be below and above the statistic, in the round with the largest weight."""
    rounds = trials.round_numbers
    lost, won = np.bincount(rounds, weights * rates), np.bincount(rounds, weights * (1 - rates))
    return float(lost.size * lost.max()), float(won.size * won.max())


def are_repeats(trials: Trials) -> bool:
    """Whether each round is an experiment of its own: membership given, and many trials of both worlds.

    Then the statistic of a round is itself a mean over many trials, and nearly normal over rounds. Flipped
    coins leave few members in a round, or make its trials dependent: there this is not assumed.
    """
    if trials.coins is not Coins.GIVEN or not len(trials):
        return False
    rounds = trials.round_numbers
    ins = np.bincount(rounds, trials.members)
    return bool(min(ins.min(), (np.bincount(rounds) - ins).min()) >= FEWEST_IN_A_REPEAT)


def rate_estimate(
    statistic: Callable[[Trials], JackknifeStatistic],
    trials: Trials,
    confidence: float,
    method: str,
    fewest: int = FEWEST_ROUNDS,
) -> Estimate:
    """Estimate a rate with its interval: over rounds, and over splits of the people where there are enough.

    ``statistic`` may use the rows of trials in their order, but must find out from them what to leave out.
    With less than the ``fewest`` rounds there is no interval.
    """
    over_rounds = _round_estimate(statistic(trials), confidence, f"{method}, jackknife over rounds", fewest)
    return widen_over_splits(over_rounds, trials, lambda rows: statistic(rows).values)


def widen_over_splits(over_rounds: Estimate, trials: Trials, left_out: Callable[[Trials], Reals]) -> Estimate:
    """Widen an interval over rounds by Student's t over splits of the people; with few splits, say so.

    ``left_out`` computes a statistic with each round left out; a whole split is then taken as one round.
    """
    method = f"{over_rounds.method}{split_scope(trials)}"
    low, value, high = over_rounds.low, over_rounds.value, over_rounds.high
    if n_splits(trials) < FEWEST_SPLITS or low is None or value is None or high is None:
        return replace(over_rounds, method=method)
    error, values = 1 - over_rounds.confidence, left_out(splits_as_rounds(trials))
    below, above = log_odds_interval(value, student_margin(values, error))
    high = max(high, above)
    any_split = max(high, _high_any_split(value, values, error / 2))
    return replace(over_rounds, low=min(low, below), high=high, method=method, high_any_split=any_split)


def _high_any_split(value: float, left_out: Reals, error: float) -> float:
    """An upper bound on a rate from its values with each split left out, however splits vary."""
    pseudo = value + (left_out.size - 1) * (left_out.mean() - left_out)
    return min(mean_high(pseudo, 1.0, error), 1.0)


def n_splits(trials: Trials) -> int:
    """How many splits of the people the trials rest on; 1 where nothing is split."""
    return 1 if trials.splits is None else int(np.unique(trials.splits).size)


def split_scope(trials: Trials) -> str:
    """How far an interval takes splits of the people into account, in words to follow those of a method."""
    if trials.splits is None:
        return ""
    n = n_splits(trials)
    if n < FEWEST_SPLITS:
        return f", for {these_splits(n)}"
    return f", widened by Student's t over {n} splits of the people"


def these_splits(n: int) -> str:
    """The splits of the people that something holds for, in words."""
    return f"{'this split' if n == 1 else f'these {n} splits'} of the people"


def splits_as_rounds(trials: Trials) -> Trials:
    """The same trials, all those of one split of the people in one round."""
    assert trials.splits is not None
    return replace(trials, rounds=trials.splits, splits=None)


def _round_estimate(left_out: JackknifeStatistic, confidence: float, method: str, fewest: int) -> Estimate:
    """Turn a statistic with rounds left out into an estimate."""
    if left_out.repeats and FEWEST_REPEATS <= left_out.values.size < FEWEST_ROUNDS:
        low, high = repeat_interval(
            left_out.value,
            jackknife_variance(left_out.values),
            left_out.values.size,
            left_out.n_most,
            1 - confidence,
        )
        method = f"{method}, Student's t over {left_out.values.size} repeats"
        return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)
    if left_out.values.size < fewest or left_out.n_independent < FEWEST_OF_A_WORLD:
        return Estimate(
            value=left_out.value,
            confidence=confidence,
            method=method,
            reason=_too_few(left_out, fewest),
        )
    low, high = pseudo_value_bounds(left_out, (1 - confidence) / 2)
    return Estimate(value=left_out.value, low=low, high=high, confidence=confidence, method=method)


def pseudo_value_bounds(left_out: JackknifeStatistic, error: float) -> tuple[float, float]:
    """Bounds on a rate, each wrong with a chance of ``error``, from its values with each round left out."""
    value, n = left_out.value, left_out.values.size
    pseudo = value + (n - 1) * (left_out.values.mean() - left_out.values)
    low = mean_low(pseudo, value - left_out.most_lost, error)
    high = mean_high(pseudo, value + left_out.most_won, error)
    return min(max(low, 0.0), value), max(min(high, 1.0), value)


def _too_few(left_out: JackknifeStatistic, fewest: int) -> str:
    if left_out.repeats:
        return (
            f"no interval: {left_out.values.size} repeats are too few; at least {FEWEST_REPEATS} are needed"
        )
    of_each = f"{FEWEST_OF_A_WORLD} with a member and {FEWEST_OF_A_WORLD} with a non-member"
    if left_out.values.size < fewest:
        kind = "rounds are" if fewest == FEWEST_ROUNDS else "rounds beside those that choose thresholds are"
        few = f"no interval: {left_out.values.size} {kind} too few"
        return f"{few}; at least {fewest} are needed, among them {of_each}"
    return f"no interval: too many rounds are of one kind; at least {of_each} are needed"


def advantage_estimate(
    statistic: Callable[[Trials], JackknifeStatistic], trials: Trials, confidence: float, method: str
) -> Estimate:
    """Turn a balanced accuracy with rounds left out into an advantage, TPR - FPR: twice it, less one.

    Both rates come from the same rounds, so their difference is taken in each round: their errors are not
    combined as if they were independent. Nothing is clipped or flipped.
    """
    return as_advantage(rate_estimate(statistic, trials, confidence, method))


def as_advantage(accuracy: Estimate) -> Estimate:
    """Write a balanced accuracy as TPR - FPR."""
    ends = (accuracy.low, accuracy.value, accuracy.high, accuracy.high_any_split)
    low, value, high, any_split = (None if rate is None else 2 * rate - 1 for rate in ends)
    return replace(accuracy, value=value, low=low, high=high, high_any_split=any_split)
