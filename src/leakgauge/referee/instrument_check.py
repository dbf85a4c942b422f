"""Check of the statistics themselves: false alarms on a null release, and the smallest leak they detect."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import bdtr

from leakgauge.core.game import Bits, Coins, Trials
from leakgauge.referee.intervals import rate_high, rate_low
from leakgauge.referee.metric_evaluation import evaluate
from leakgauge.referee.metric_protocol import EpsilonMetric

DRAWS = 200  # simulated releases
POWER = 0.8  # a leak counts as detectable if it is detected in this share of runs


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
    few, many = -1, n_trials + 1  # wrong guesses that still leave the bound above, and that do not
    while many - few > 1:
        middle = (few + many) // 2
        if bound(*_counts(n_trials, middle)) > above:
            few = middle
        else:
            many = middle
    if few < 0:
        return None
    low, high = 0.0, 60.0
    if not bdtr(few, n_trials, 1 / (1 + np.exp(high))) >= POWER:
        return None
    while high - low > 1e-6:
        middle_epsilon = (low + high) / 2
        if bdtr(few, n_trials, 1 / (1 + np.exp(middle_epsilon))) >= POWER:
            high = middle_epsilon
        else:
            low = middle_epsilon
    return high


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
