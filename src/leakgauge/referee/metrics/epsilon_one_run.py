"""Lower confidence bound on epsilon from right guesses (Steinke, Nasr and Jagielski 2023)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Bits, Reading, Trials
from leakgauge.referee.assumptions import need_independent_rounds, unfair_coins
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics import epsilon_clopper_pearson
from leakgauge.referee.one_run import FRACTIONS, Guesses, one_run_lower_bound, order_guesses
from leakgauge.referee.strength_cut import strength_cut_lower_bound


@dataclass(frozen=True)
class _Event:
    """Guesses that are counted together: the strongest of them, so many or of so much strength."""

    n_guesses: int
    by_strength: bool = False


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Guess on the clearest trials and count the right guesses.

    Thirteen shares of the trials are tried, each at its part of the error (Bonferroni). An attack that fixed
    a share or a strength of evidence before the rounds spends all of the error there; with both, half on
    each. Trials may share rounds. Where the coins cannot be taken as fair, the held-out Clopper-Pearson bound
    answers instead, and says so.
    """

    fair_coins_only: ClassVar[bool] = True

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if problem := unfair_coins(trials):
            return epsilon_clopper_pearson.fallback_estimate(trials, self.delta, self.confidence, problem)
        n = len(trials)
        guesses = order_guesses(trials.scores, trials.reading)
        events = self._events(guesses, trials)
        if not any(event.n_guesses for event in events):
            method = "one-run bound, no score is evidence"
            return Estimate(value=0.0, low=0.0, confidence=self.confidence, method=method)
        right = self._right(guesses, events, trials.members)
        bounds = self._bounds(n, events, right)
        best = int(np.argmax(bounds))
        return Estimate(
            value=_logit(right[best] / events[best].n_guesses) if events[best].n_guesses else 0.0,
            low=bounds[best],
            confidence=self.confidence,
            method=f"one-run bound, guesses on {events[best].n_guesses / n:.3g} of the trials "
            f"({_selection(events, best, trials.reading)})",
        )

    def lows(self, trials: Trials, worlds: Iterable[Bits]) -> list[float]:
        """Bounds of the same scores had membership been otherwise; the scores are ordered once."""
        guesses = order_guesses(trials.scores, trials.reading)
        events = self._events(guesses, trials)
        if not any(event.n_guesses for event in events):
            return [0.0 for _ in worlds]
        return [
            max(self._bounds(len(trials), events, self._right(guesses, events, world))) for world in worlds
        ]

    def from_counts(self, hits: int, misses: int, alarms: int, silences: int) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n = hits + misses + alarms + silences
        return self._bounds(n, [_Event(n)], [hits + silences])[0]

    def _events(self, guesses: Guesses, trials: Trials) -> list[_Event]:
        """The numbers of guesses that count: those fixed beforehand, or else of all the shares."""
        reading, n = trials.reading, len(trials)
        if reading.fraction is None and reading.cut is None:
            return list(map(_Event, guesses.sizes(FRACTIONS, n)))
        events = []
        if reading.fraction is not None:
            events.append(_Event(int(guesses.reaching((reading.fraction,), n)[0])))
        if reading.cut is not None:
            if self.delta:
                need_independent_rounds(trials, "one_run with a strength of evidence and delta > 0")
            events.append(_Event(guesses.at_least(reading.cut), by_strength=True))
        return events

    def _right(self, guesses: Guesses, events: list[_Event], members: Bits) -> list[int]:
        """Count the right guesses of each event."""
        sizes = sorted({event.n_guesses for event in events if event.n_guesses})
        right = members[guesses.order[: sizes[-1]]] == guesses.says_member[: sizes[-1]]
        counts = np.cumsum(np.add.reduceat(right, [0, *sizes[:-1]], dtype=np.int64)).tolist()
        known = {0: 0, **dict(zip(sizes, counts))}
        return [known[event.n_guesses] for event in events]

    def _bounds(self, n_coins: int, events: list[_Event], right: list[int]) -> list[float]:
        alpha = (1 - self.confidence) / len(events)
        return [
            (strength_cut_lower_bound if event.by_strength else one_run_lower_bound)(
                n_coins, event.n_guesses, hits, delta=self.delta, alpha=alpha
            )
            for event, hits in zip(events, right)
        ]


def _selection(events: list[_Event], best: int, reading: Reading) -> str:
    """How the guesses were selected, in words."""
    if reading.fraction is None and reading.cut is None:
        return f"best of {len(events)} shares, corrected"
    kind = "a strength of evidence" if events[best].by_strength else "a share"
    several = ", better of two events, corrected" if len(events) > 1 else ""
    return f"{kind} fixed before the rounds{several}"


def _logit(rate: float) -> float | None:
    """Point estimate of epsilon; nothing where every guess was right."""
    if rate in (0, 1):
        return None if rate else 0.0
    return max(0.0, float(np.log(rate / (1 - rate))))
