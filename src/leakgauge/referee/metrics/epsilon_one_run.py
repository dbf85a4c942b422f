"""Lower confidence bound on epsilon from right guesses (Steinke, Nasr and Jagielski 2023)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.arrays import Bits
from leakgauge.core.game import Reading, Trials
from leakgauge.referee import assumptions, one_run
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.metrics import epsilon_clopper_pearson
from leakgauge.referee.one_run_delta import any_count_lower_bound, fixed_count_lower_bound

# Of the error, for each of the shares at delta > 0: where delta matters, as with Gaussian noise, the
# strongest evidence shows most. Larger shares lose a third of theirs, which costs their bounds little.
_PARTS_WITH_DELTA = (0.10, 0.25, 0.15, *(0.05 for _ in one_run.FRACTIONS[3:]))


@dataclass(frozen=True)
class _Event:
    """Guesses that are counted together: the strongest of them, so many or of so much strength."""

    n_guesses: int
    part: float  # of the error
    by_strength: bool = False


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Guess on the clearest trials and count the right guesses.

    Thirteen shares of the trials are tried, each at its part of the error (Bonferroni): equal parts, or with
    delta > 0 and independent rounds half of it on the smallest three. An attack that fixed a share or a
    strength of evidence before the rounds spends all of the error there; with both, half on each.
    Trials may share rounds. Where the coins cannot be taken as fair, the held-out Clopper-Pearson bound
    answers instead, and says so.

    With delta > 0 and independent rounds the thirteen shares are exact numbers of guesses, known before the
    rounds. A strength decides by the scores on how many rounds to guess, and so does a share that the attack
    fixed: it ends with a whole group of trials of equal strength. ``leakgauge.referee.one_run_delta`` has a
    bound for each.
    """

    fair_coins_only: ClassVar[bool] = True

    delta: float = 0.0
    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        if problem := assumptions.unfair_coins(trials):
            return epsilon_clopper_pearson.fallback_estimate(trials, self.delta, self.confidence, problem)
        n, shared = len(trials), trials.shared_rounds
        guesses, events = self._events(trials, shared)
        if not any(event.n_guesses for event in events):
            method = "one-run bound, no score is evidence"
            return Estimate(value=0.0, low=0.0, confidence=self.confidence, method=method)
        right = self._right(guesses, events, trials.members)
        bounds = self._bounds(n, events, right, shared=shared, exact=_tries_shares(trials.reading))
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
        n, shared, exact = len(trials), trials.shared_rounds, _tries_shares(trials.reading)
        guesses, events = self._events(trials, shared)
        if not any(event.n_guesses for event in events):
            return [0.0 for _ in worlds]
        return [
            max(self._bounds(n, events, self._right(guesses, events, world), shared=shared, exact=exact))
            for world in worlds
        ]

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n = hits + misses + alarms + silences
        if not n:
            return 0.0
        return self._bounds(n, [_Event(n, 1.0)], [hits + silences], shared=shared_rounds, exact=False)[0]

    def _events(self, trials: Trials, shared: bool) -> tuple[one_run.Guesses, list[_Event]]:
        """Order the trials; say on how many to guess: as was fixed beforehand, or else on all the shares."""
        reading, n = trials.reading, len(trials)
        if _tries_shares(reading):
            if self.delta and not shared:
                guesses = one_run.order_every_trial(trials)
                return guesses, _events_by_part(guesses.reaching(one_run.FRACTIONS, n).tolist())
            guesses = one_run.order_guesses(trials.scores, reading)
            sizes = guesses.sizes(one_run.FRACTIONS, n)
            return guesses, [_Event(size, 1 / len(sizes)) for size in sizes]
        guesses, events = one_run.order_guesses(trials.scores, reading), []
        part = 1.0 if reading.fraction is None or reading.cut is None else 0.5
        if reading.fraction is not None:
            events.append(_Event(int(guesses.reaching((reading.fraction,), n)[0]), part))
        if reading.cut is not None:
            if self.delta:
                assumptions.need_independent_rounds(
                    trials, "one_run with a strength of evidence and delta > 0"
                )
            events.append(_Event(guesses.at_least(reading.cut), part, by_strength=True))
        return guesses, events

    def _right(self, guesses: one_run.Guesses, events: Sequence[_Event], members: Bits) -> list[int]:
        """Count the right guesses of each event."""
        sizes = sorted({event.n_guesses for event in events if event.n_guesses})
        right = members[guesses.order[: sizes[-1]]] == guesses.says_member[: sizes[-1]]
        counts = np.cumsum(np.add.reduceat(right, [0, *sizes[:-1]], dtype=np.int64)).tolist()
        known = {0: 0, **dict(zip(sizes, counts))}
        return [known[event.n_guesses] for event in events]

    def _bounds(
        self, n_coins: int, events: Sequence[_Event], right: Sequence[int], *, shared: bool, exact: bool
    ) -> list[float]:
        """The bound of each event; ``exact`` numbers of guesses were known before the rounds."""
        bound: Callable[..., float] = one_run.one_run_lower_bound
        if self.delta and not shared:
            bound = fixed_count_lower_bound if exact else any_count_lower_bound
        return [
            bound(n_coins, event.n_guesses, hits, delta=self.delta, alpha=event.part * (1 - self.confidence))
            for event, hits in zip(events, right)
        ]


def _events_by_part(sizes: Sequence[int]) -> list[_Event]:
    """The events of all shares; of few rounds several shares are the same guesses, and their parts add up."""
    parts: dict[int, float] = {}
    for size, part in zip(sizes, _PARTS_WITH_DELTA, strict=True):
        parts[size] = parts.get(size, 0.0) + part
    return [_Event(size, part) for size, part in sorted(parts.items()) if size]


def _tries_shares(reading: Reading) -> bool:
    """Whether the attack fixed nothing beforehand, so that all the shares are tried."""
    return reading.fraction is None and reading.cut is None


def _selection(events: Sequence[_Event], best: int, reading: Reading) -> str:
    """How the guesses were selected, in words."""
    if _tries_shares(reading):
        return f"best of {len(events)} shares, corrected"
    kind = "a strength of evidence" if events[best].by_strength else "a share"
    several = ", better of two events, corrected" if len(events) > 1 else ""
    return f"{kind} fixed before the rounds{several}"


def _logit(rate: float) -> float | None:
    """Point estimate of epsilon; nothing where every guess was right."""
    if rate in (0, 1):
        return None if rate else 0.0
    return max(0.0, float(np.log(rate / (1 - rate))))
