"""Lower confidence bound on epsilon from right guesses (Steinke, Nasr and Jagielski 2023)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Bits, Trials
from leakgauge.referee.assumptions import unfair_coins
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics import epsilon_clopper_pearson
from leakgauge.referee.one_run import FRACTIONS, Guesses, one_run_lower_bound, order_guesses


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Guess on the clearest trials and count the right guesses.

    Thirteen shares of the trials are tried, each at its part of the error (Bonferroni); an attack that fixed
    one share before the rounds spends it all there. Trials may share rounds. Where the coins cannot be taken
    as fair, the held-out Clopper-Pearson bound answers instead, and says so.
    """

    fair_coins_only: ClassVar[bool] = True

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if problem := unfair_coins(trials):
            return epsilon_clopper_pearson.fallback_estimate(trials, self.delta, self.confidence, problem)
        fixed, n = trials.reading.fraction, len(trials)
        guesses = order_guesses(trials.scores, trials.reading)
        sizes = guesses.sizes(FRACTIONS if fixed is None else (fixed,), n)
        if not sizes:
            method = "one-run bound, no score is evidence"
            return Estimate(value=0.0, low=0.0, confidence=self.confidence, method=method)
        right = self._right(guesses, sizes, trials.members)
        bounds = self._bounds(n, sizes, right)
        best = int(np.argmax(bounds))
        how = (
            "a share fixed before the rounds"
            if fixed is not None
            else f"best of {len(sizes)} shares, corrected"
        )
        return Estimate(
            value=_logit(right[best] / sizes[best]),
            low=bounds[best],
            confidence=self.confidence,
            method=f"one-run bound, guesses on {sizes[best] / n:.3g} of the trials ({how})",
        )

    def lows(self, trials: Trials, worlds: Iterable[Bits]) -> list[float]:
        """Bounds of the same scores had membership been otherwise; the scores are ordered once."""
        fixed = trials.reading.fraction
        guesses = order_guesses(trials.scores, trials.reading)
        sizes = guesses.sizes(FRACTIONS if fixed is None else (fixed,), len(trials))
        if not sizes:
            return [0.0 for _ in worlds]
        return [max(self._bounds(len(trials), sizes, self._right(guesses, sizes, world))) for world in worlds]

    def from_counts(self, hits: int, misses: int, alarms: int, silences: int) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n = hits + misses + alarms + silences
        return self._bounds(n, [n], [hits + silences])[0]

    def _right(self, guesses: Guesses, sizes: list[int], members: Bits) -> list[int]:
        """Count the right guesses among the first ones."""
        right = members[guesses.order[: sizes[-1]]] == guesses.says_member[: sizes[-1]]
        return np.cumsum(np.add.reduceat(right, [0, *sizes[:-1]], dtype=np.int64)).tolist()

    def _bounds(self, n_coins: int, sizes: list[int], right: list[int]) -> list[float]:
        alpha = (1 - self.confidence) / len(sizes)
        return [
            one_run_lower_bound(n_coins, size, hits, delta=self.delta, alpha=alpha)
            for size, hits in zip(sizes, right)
        ]


def _logit(rate: float) -> float | None:
    """Point estimate of epsilon; nothing where every guess was right."""
    if rate in (0, 1):
        return None if rate else 0.0
    return max(0.0, float(np.log(rate / (1 - rate))))
