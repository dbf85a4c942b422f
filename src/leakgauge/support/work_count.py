"""Counts of expensive steps, such as trainings and requests, for estimates of what a run costs."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

Result = TypeVar("Result")

_PART = 50  # one in so many units of a step that grows, and three of them, are timed

TRAINING, REQUEST, SESSION = "training", "request", "session"  # a session is a round opened at a service

_counts: ContextVar[Counter[str] | None] = ContextVar("_counts", default=None)


def count_work(what: str, n: int = 1) -> None:
    """Add to the current counts, if somebody counts."""
    if (counts := _counts.get()) is not None:
        counts[what] += n


@contextmanager
def counting_work() -> Iterator[Counter[str]]:
    """Count the steps that are taken in this process within the context.

    >>> with counting_work() as counts:
    ...     count_work(TRAINING, 3)
    >>> counts
    Counter({'training': 3})
    """
    counts: Counter[str] = Counter()
    token = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(token)


@dataclass
class WorkSample:
    """Carries out a step of each kind, and puts its result in the place of all others of that kind.

    A step that loads libraries is carried out twice.
    """

    skipped_seconds: float = 0.0  # that the others would have taken
    shared: dict[Hashable, Any] = field(default_factory=dict)  # results that a run would keep for others
    _done: dict[Hashable, tuple[Any, float, Counter[str]]] = field(default_factory=dict)

    def take(self, kind: Hashable, do: Callable[[], Any]) -> Any:
        """Carry out a step, or return the result of the one before, and add up the time and work it saves."""
        if kind in self._done:
            result, seconds, work = self._done[kind]
            self.skipped_seconds += seconds
        else:
            start, skipped, n_modules = perf_counter(), self.skipped_seconds, len(sys.modules)
            with counting_work() as work:
                result = do()
            if len(sys.modules) == n_modules:
                seconds = perf_counter() - start + self.skipped_seconds - skipped
                self._done[kind] = result, seconds, work
        for what, count in work.items():
            count_work(what, count)
        return result

    def take_part(self, do: Callable[[int], Result], n: int, few: int) -> Result:
        """Carry out a step for few of its units, and add the time of all: the line through two times.

        What is carried out first may load libraries, and is not on that line.
        """
        do(few)
        low, _ = self._timed(do, few)
        high, result = self._timed(do, 3 * few)
        each = max(high - low, 0.0) / (2 * few)
        once = max(low - few * each, 0.0)
        self.skipped_seconds += (n - 5 * few) * each - 2 * once
        return result

    def _timed(self, do: Callable[[int], Result], n: int) -> tuple[float, Result]:
        """How long a step takes, with what is skipped in it."""
        start, skipped = perf_counter(), self.skipped_seconds
        result = do(n)
        return perf_counter() - start + self.skipped_seconds - skipped, result


_sample: ContextVar[WorkSample | None] = ContextVar("_sample", default=None)


def counted_work(what: str, kind: Hashable, do: Callable[[], Result]) -> Result:
    """Count a step and carry it out; where work is sampled, perhaps another result of its kind."""
    count_work(what)
    return sampled_work(kind, do)


def sampled_work(kind: Hashable, do: Callable[[], Result]) -> Result:
    """Carry out a step; where work is sampled, perhaps return another result of its kind.

    >>> with sampling_work():
    ...     print([sampled_work("split", lambda: number) for number in (1, 2, 3)])
    [1, 1, 1]
    """
    sample = _sample.get()
    return do() if sample is None else sample.take(kind, do)


def work_of_size(do: Callable[[int], Result], n: int, least: int) -> Result:
    """Carry out a step for ``n`` units; where work is sampled, for a part of them: no fewer than ``least``.

    >>> with sampling_work():
    ...     print(work_of_size(lambda n: n, 20_000, 100), work_of_size(lambda n: n, 500, 100))
    1200 500
    """
    sample, few = _sample.get(), max(least, n // _PART)
    return do(n) if sample is None or n <= 5 * few else sample.take_part(do, n, few)


def current_sample() -> WorkSample | None:
    """The sample, where results are only samples: these must not be kept for others."""
    return _sample.get()


@contextmanager
def sampling_work() -> Iterator[WorkSample]:
    """Carry out one step of each kind within the context, for an estimate; what it computes is not used.

    >>> with sampling_work() as sample:
    ...     results = [counted_work(TRAINING, "net", lambda: number) for number in (1, 2, 3)]
    >>> results
    [1, 1, 1]
    """
    sample = WorkSample()
    token = _sample.set(sample)
    try:
        yield sample
    finally:
        _sample.reset(token)
