"""Check of the instrument: false alarms, the smallest leak it detects, and a leak that it must detect."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Bits
from leakgauge.core.game import NOISE_ERROR, Coins, Trials
from leakgauge.referee.bounded_mean import mean_low
from leakgauge.referee.intervals import FEWEST_ROUNDS, rate_high, rate_low
from leakgauge.referee.jackknife import rate_estimate
from leakgauge.referee.metric_evaluation import evaluate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.sample_split import selection_half
from leakgauge.referee.thresholds import best_thresholds, jackknife_accuracy

DRAWS = 200  # simulated releases
POWER = 0.8  # a leak counts as detectable if it is detected in this share of runs
_FEW = 256  # rounds up to which the fewest that detect a leak are looked for one by one
CONTROL_ERROR = 0.01  # of the lower bound on accuracy that a positive control needs
LEAST_NEEDED, MOST_NEEDED = 0.75, 0.95  # accuracy that it needs


def null_release(trials: Trials, metric: EpsilonMetric, confidence: float, rng: Generator) -> dict[str, Any]:
    """How often a leak is reported where there is none: the audit's own scores, membership drawn again."""
    redraws_coins = metric.fair_coins_only and trials.coins is Coins.FAIR
    worlds = _fresh_worlds(trials, redraws_coins, rng)
    if redraws_coins:
        lows = metric.lows(trials, worlds)
    else:  # bounds from both error rates hold for any number of members: keep it
        lows = [
            evaluate(metric, replace(trials, members=members), confidence).low or 0.0 for members in worlds
        ]
    alarms = sum(low > 0 for low in lows)
    return {
        "draws": DRAWS,
        "rate": alarms / DRAWS,
        "low": float(rate_low(alarms, DRAWS, 0.025)),
        "high": float(rate_high(alarms, DRAWS, 0.025)),
        "p_value": float(scipy.special.bdtrc(alarms - 1, DRAWS, 1 - confidence))
        if alarms
        else 1.0,  # at the tolerated rate
    }


def planted_leak(
    n_trials: int,
    metric: EpsilonMetric | None,
    promised: float | None,
    rng: Generator,
    *,
    shared_rounds: bool = False,
) -> dict[str, Any]:
    """The smallest epsilon of randomized response that is detected, and that is found to break the promise.

    Detected means in 80 % of runs. The result is exact for a one-bit release; ``found`` is the share of 200
    simulated releases at that epsilon in which the metric did detect it. Without a metric nothing is.
    """
    if metric is None:
        return {"epsilon": None, "violating_epsilon": None, "found": None, "draws": DRAWS}

    def bound(hits: int, misses: int, alarms: int, silences: int) -> float:
        return metric.from_counts(hits, misses, alarms, silences, shared_rounds=shared_rounds)

    seen = _smallest(n_trials, bound, 0.0)
    breaks = None if promised is None else _smallest(n_trials, bound, promised)
    return {
        "epsilon": seen,
        "violating_epsilon": breaks,
        "found": None if seen is None else _simulate(n_trials, bound, seen, rng),
        "draws": DRAWS,
    }


def rounds_to_notice(metric: EpsilonMetric, epsilon: float, trials_per_round: float, most: int) -> int | None:
    """About the fewest rounds in which a leak of this epsilon is detected; nothing if in none up to ``most``.

    Detection is not quite monotone in their number, which matters where they are few.
    """

    def notices(n_rounds: int) -> bool:
        n = round(n_rounds * trials_per_round)
        seen = _most_wrong(n, lambda *counts: metric.from_counts(*counts, shared_rounds=trials_per_round > 1))
        return seen >= 0 and bool(scipy.special.bdtr(seen, n, scipy.special.expit(-epsilon)) >= POWER)

    high = 1
    while not notices(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if notices(middle) else (middle, high)
    few = range(int(0.8 * high), high) if high <= _FEW else ()
    return next((n for n in few if notices(n)), high)


def needed_accuracy(limit: float | None = None) -> float:
    """The accuracy that a positive control must exceed: .75, or the owner's limit if larger, at most .95.

    One hundred rounds without an error have a lower bound of .955, so that no limit is out of reach.
    """
    return min(max(LEAST_NEEDED, limit or 0.0), MOST_NEEDED)


def positive_control(trials: Trials, needed: float) -> dict[str, Any]:
    """Whether an attack recognises members where nothing protects them.

    It is passed if the one-sided 99 % lower bound on the share of right decisions exceeds ``needed``. An
    attack without a threshold of its own gets one that was chosen on every second round; the others count.

    Where noise was left, 99 % of honest releases are not called failed: with so few errors that the noise
    explains them, nothing can be told.
    """
    counted, threshold = trials, trials.reading.threshold
    if threshold is None:
        choose = selection_half(trials)
        chosen, counted = trials.where(choose), trials.where(~choose)
        zeros = np.zeros(len(chosen), np.int64)
        threshold = float(best_thresholds(zeros, chosen.scores, chosen.members, 1)[0])
    accuracy, low = _share_of_right_decisions(counted, counted.scores >= threshold)
    rounds = int(np.unique(counted.rounds).size)
    status, reason = "passed", None
    if not low > needed:
        status, reason = "failed", _failure(trials, accuracy, low, needed, rounds)
        if round((1 - accuracy) * len(counted)) <= (most := _errors_by_noise(counted)):
            status, reason = "not possible", _too_noisy(accuracy, needed, rounds, most)
    return {
        "status": status,
        "accuracy": accuracy,
        "low": low,
        "needed": needed,
        "rounds": rounds,
        "reason": reason,
    }


def no_positive_control(reason: str, *, possible: bool = False) -> dict[str, Any]:
    """The entry of a verdict where no positive control was played; ``possible``: none is needed."""
    status = "not needed" if possible else "not possible"
    numbers = dict.fromkeys(("accuracy", "low", "needed", "rounds"))
    return {"status": status, **numbers, "reason": reason}


def all_scores_equal(trials: Trials) -> bool:
    """Whether an attack gave every trial the same score, so that it tells nobody from anybody.

    In fewer than 30 trials that may be chance.
    """
    return len(trials) >= FEWEST_ROUNDS and bool((trials.scores == trials.scores[0]).all())


def _share_of_right_decisions(trials: Trials, says_member: Bits) -> tuple[float, float]:
    """Accuracy and its lower bound; balanced where membership was given and not drawn by coins.

    Exact (Clopper and Pearson 1934) where no two trials share a round, else that of the mean over rounds.
    """
    if trials.coins is Coins.GIVEN:
        balanced = rate_estimate(
            lambda rows: jackknife_accuracy(rows, says_member), trials, 1 - 2 * CONTROL_ERROR, ""
        )
        return balanced.value or 0.0, balanced.low or 0.0
    right = says_member == trials.members
    if not trials.shared_rounds:
        return float(right.mean()), float(rate_low(right.sum(), right.size, CONTROL_ERROR))
    rounds = trials.round_numbers
    hits, sizes = np.bincount(rounds, right), np.bincount(rounds)
    return float((hits / sizes).mean()), max(0.0, mean_low(hits / sizes, 0.0, CONTROL_ERROR))


def _errors_by_noise(trials: Trials) -> int:
    """How many wrong decisions the noise that was left explains: 99 % of honest releases have no more."""
    chance = trials.utility.get(NOISE_ERROR)
    if chance is None:
        return -1
    counts = np.arange(len(trials) + 1)
    return int(np.argmax(scipy.special.bdtr(counts, len(trials), float(chance.max())) >= 1 - CONTROL_ERROR))


def _too_noisy(accuracy: float, needed: float, rounds: int, most: int) -> str:
    return (
        f"too small to tell: the attack is right in {accuracy:.1%} of its decisions in {rounds} rounds. That "
        f"does not show {needed:.0%}, but noise that could not be left out explains up to {most} wrong ones"
    )


def _failure(trials: Trials, accuracy: float, low: float, needed: float, rounds: int) -> str:
    if all_scores_equal(trials):
        return f"the attack gives every trial of {rounds} rounds the same score"
    return (
        f"the attack is right in {accuracy:.1%} of its decisions in {rounds} rounds; the "
        f"lower bound {low:.1%} is not above {needed:.0%}"
    )


def _fresh_worlds(trials: Trials, flipped: bool, rng: Generator) -> Iterator[Bits]:
    """Draw membership again: by fair coins where ``flipped``, else the same bits in another order."""
    for _ in range(DRAWS):
        if flipped:
            packed = rng.integers(0, 256, -(-len(trials) // 8), dtype=np.uint8)
            yield np.unpackbits(packed, count=len(trials)).astype(bool)
        else:
            yield rng.permutation(trials.members)


def _smallest(n_trials: int, bound: Callable[[int, int, int, int], float], above: float) -> float | None:
    """Smallest epsilon of randomized response whose bound exceeds ``above`` with the wanted power."""
    few = _most_wrong(n_trials, bound, above)
    if few < 0:
        return None
    low, high = 0.0, 60.0
    if not scipy.special.bdtr(few, n_trials, 1 / (1 + np.exp(high))) >= POWER:
        return None
    while high - low > 1e-6:
        middle_epsilon = (low + high) / 2
        if scipy.special.bdtr(few, n_trials, 1 / (1 + np.exp(middle_epsilon))) >= POWER:
            high = middle_epsilon
        else:
            low = middle_epsilon
    return high


def _most_wrong(n_trials: int, bound: Callable[[int, int, int, int], float], above: float = 0.0) -> int:
    """How many wrong guesses still leave the bound above; -1 if not even none do."""
    few, many = -1, n_trials + 1
    while many - few > 1:
        middle = (few + many) // 2
        if bound(*_counts(n_trials, middle)) > above:
            few = middle
        else:
            many = middle
    return few


def _simulate(
    n_trials: int, bound: Callable[[int, int, int, int], float], epsilon: float, rng: Generator
) -> float:
    n_in = rng.binomial(n_trials, 0.5, DRAWS)
    lie = 1 / (1 + np.exp(epsilon))
    misses, alarms = rng.binomial(n_in, lie), rng.binomial(n_trials - n_in, lie)
    violations = [
        bound(int(ins - miss), int(miss), int(alarm), int(n_trials - ins - alarm)) > 0
        for ins, miss, alarm in zip(n_in, misses, alarms)
    ]
    return float(np.mean(violations))


def _counts(n_trials: int, n_wrong: int) -> tuple[int, int, int, int]:
    """Hits, misses, alarms and silences with the wrong guesses spread over both worlds."""
    ins = (n_trials + 1) // 2
    misses = min((n_wrong + 1) // 2, ins)
    alarms = n_wrong - misses
    return ins - misses, misses, alarms, n_trials - ins - alarms
