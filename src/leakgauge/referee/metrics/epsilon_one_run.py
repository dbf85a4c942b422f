"""Lower confidence bound on epsilon from right guesses (Steinke, Nasr and Jagielski 2023)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Bits, Trials
from leakgauge.referee.assumptions import unfair_coins
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics import epsilon_clopper_pearson
from leakgauge.referee.one_run import (
    FRACTIONS,
    Guesses,
    one_run_lower_bound,
    order_every_trial,
    order_guesses,
)
from leakgauge.referee.one_run_delta import any_count_lower_bound, fixed_count_lower_bound


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Guess on the clearest trials and count the right guesses.

    Thirteen shares of the trials are tried, each at its part of the error (Bonferroni); an attack that fixed
    one share before the rounds spends it all there. Trials may share rounds. Where the coins cannot be taken
    as fair, the held-out Clopper-Pearson bound answers instead, and says so.

    With delta > 0 and independent rounds the thirteen shares are exact numbers of guesses, known before the
    rounds; a share that the attack fixed still ends with a whole group of trials of equal strength, so the
    scores decide on the number of guesses. ``leakgauge.referee.one_run_delta`` has a bound for each.
    """

    fair_coins_only: ClassVar[bool] = True

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if problem := unfair_coins(trials):
            return epsilon_clopper_pearson.fallback_estimate(trials, self.delta, self.confidence, problem)
        fixed, n, shared = trials.reading.fraction, len(trials), trials.shared_rounds
        guesses, sizes = self._guesses(trials, shared)
        if not sizes:
            method = "one-run bound, no score is evidence"
            return Estimate(value=0.0, low=0.0, confidence=self.confidence, method=method)
        right = self._right(guesses, sizes, trials.members)
        bounds = self._bounds(n, sizes, right, shared, fixed is not None)
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
        fixed, n, shared = trials.reading.fraction is not None, len(trials), trials.shared_rounds
        guesses, sizes = self._guesses(trials, shared)
        if not sizes:
            return [0.0 for _ in worlds]
        return [
            max(self._bounds(n, sizes, self._right(guesses, sizes, world), shared, fixed)) for world in worlds
        ]

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n = hits + misses + alarms + silences
        return self._bounds(n, [n], [hits + silences], shared_rounds, fixed=True)[0] if n else 0.0

    def _guesses(self, trials: Trials, shared: bool) -> tuple[Guesses, list[int]]:
        """Order the trials, and say on how many to guess."""
        fixed = trials.reading.fraction
        if self.delta and fixed is None and not shared:
            guesses = order_every_trial(trials)
        else:
            guesses = order_guesses(trials.scores, trials.reading)
        return guesses, guesses.sizes(FRACTIONS if fixed is None else (fixed,), len(trials))

    def _right(self, guesses: Guesses, sizes: list[int], members: Bits) -> list[int]:
        """Count the right guesses among the first ones."""
        right = members[guesses.order[: sizes[-1]]] == guesses.says_member[: sizes[-1]]
        return np.cumsum(np.add.reduceat(right, [0, *sizes[:-1]], dtype=np.int64)).tolist()

    def _bounds(
        self, n_coins: int, sizes: Sequence[int], right: Sequence[int], shared: bool, fixed: bool
    ) -> list[float]:
        alpha = (1 - self.confidence) / len(sizes)
        bound = (
            one_run_lower_bound
            if shared or not self.delta
            else any_count_lower_bound
            if fixed
            else fixed_count_lower_bound
        )
        return [bound(n_coins, size, hits, delta=self.delta, alpha=alpha) for size, hits in zip(sizes, right)]


def _logit(rate: float) -> float | None:
    """Point estimate of epsilon; nothing where every guess was right."""
    if rate in (0, 1):
        return None if rate else 0.0
    return max(0.0, float(np.log(rate / (1 - rate))))
