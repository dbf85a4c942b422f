"""Counts of expensive steps, such as trainings and requests, for estimates of what a run costs."""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

Result = TypeVar("Result")

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


_WAITS = Path("/proc/thread-self/schedstat")  # of Linux: nanoseconds on a processor, and waiting for one


_waited_elsewhere = [0.0]  # seconds that processes which work for this one waited for a processor


def work_clock() -> float:
    """Seconds of a clock that stands still while this thread waits for a processor that others use.

    It also stands still while a process that works for this one does (``working_elsewhere``). Waiting for
    anything else, such as a service, counts. Where the system does not say how long threads waited, it is the
    ordinary clock.
    """
    return perf_counter() - _waited(_WAITS) - _waited_elsewhere[0]


def _waited(schedstat: Path) -> float:
    """The seconds that a thread waited for a processor, where the system says so."""
    try:
        return 1e-9 * int(schedstat.read_bytes().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0


@contextmanager
def working_elsewhere(pid: int) -> Iterator[None]:
    """While another process works and this one waits for it: its waits for a processor count as our own.

    Of several threads the one that waited longest counts.
    """
    before, start = _waits_of_threads(pid), perf_counter()
    try:
        yield
    finally:
        waits = [seconds - before.get(name, 0.0) for name, seconds in _waits_of_threads(pid).items()]
        _waited_elsewhere[0] += min(max([0.0, *waits]), perf_counter() - start)


def _waits_of_threads(pid: int) -> dict[str, float]:
    return {task.name: _waited(task / "schedstat") for task in Path(f"/proc/{pid}/task").glob("*")}


_SAMPLED, _LONG = 2, 1.0  # steps; seconds, from which one is enough
_FEW_SHARE, _SOME_SHARE = 100, 10  # of a step that grows, one in so many of its units is enough to time it
_VERY_LONG = 10 * _LONG  # seconds, from which a step that loads no library is carried out once


@dataclass
class WorkSample:
    """Carries out a step of each kind, and puts its result in the place of all others of that kind.

    A short step, or one that loads libraries, is carried out twice.
    """

    skipped_seconds: float = 0.0  # that the others would have taken
    shared: dict[Hashable, Any] = field(default_factory=dict)  # results that a run would keep for others
    loaded: set[str] = field(default_factory=set)  # libraries whose loading was counted
    _done: dict[Hashable, tuple[Any, float, int, Counter[str], bool]] = field(default_factory=dict)

    def take(self, kind: Hashable, do: Callable[[], Any], times: float = 1.0) -> Any:
        """Carry out a step, or return the result of the one before, and add up the time and work it saves.

        The step would take so many ``times`` as long as what is carried out.
        """
        result, seconds, n, work, loaded = self._done.get(
            kind, (None, float("inf"), 0, Counter[str](), False)
        )
        if n >= _SAMPLED or (seconds < float("inf") and seconds > _LONG and not loaded):
            self.skipped_seconds += seconds
            for what, count in work.items():
                count_work(what, count)
            return result
        start, skipped, n_modules = work_clock(), self.skipped_seconds, len(sys.modules)
        with counting_work() as work:
            result = do()
        for what, count in work.items():
            count_work(what, count)
        own = work_clock() - start + self.skipped_seconds - skipped
        self.skipped_seconds += (times - 1) * own
        loaded = len(sys.modules) > n_modules
        self._done[kind] = result, min(seconds, times * own), n + 1, work, loaded
        return result

    def take_part(self, do: Callable[[int], Result], n: int, few: int, some: int) -> Result:
        """Carry out a step for few and for some units, and add the time for all: the line through both.

        What is carried out first may load libraries. The longer steps are, the fewer are some; very long ones
        are carried out once, and take their time in proportion to the units.
        """
        start, skipped, loaded = work_clock(), self.skipped_seconds, len(sys.modules)
        result, few_seconds = self._timed(partial(do, few))
        if few_seconds > _VERY_LONG and len(sys.modules) == loaded:
            self.skipped_seconds += few_seconds * (n / few - 1)
            return result
        result, few_seconds = self._timed(partial(do, few))
        some = min(some, 3 * few) if few_seconds > _LONG else some
        result, some_seconds = self._timed(partial(do, some))
        slope = max(some_seconds - few_seconds, 0.0) / (some - few)
        self.skipped_seconds = skipped + some_seconds + slope * (n - some) - (work_clock() - start)
        return result

    def _timed(self, do: Callable[[], Result]) -> tuple[Result, float]:
        """Carry out a step; how long it takes, with what is skipped in it."""
        start, skipped = work_clock(), self.skipped_seconds
        return do(), work_clock() - start + self.skipped_seconds - skipped


_sample: ContextVar[WorkSample | None] = ContextVar("_sample", default=None)


def counted_work(
    what: str,
    kind: Hashable,
    do: Callable[[], Result],
    part: tuple[float, Callable[[], Result]] | None = None,
) -> Result:
    """Count a step and carry it out; where work is sampled, perhaps another result of its kind.

    A ``part`` of the step is enough for a sample: how many times as long the step takes, and the part.
    """
    count_work(what)
    return sampled_work(kind, do, part)


def sampled_work(
    kind: Hashable, do: Callable[[], Result], part: tuple[float, Callable[[], Result]] | None = None
) -> Result:
    """Carry out a step, or its ``part``; where work is sampled, perhaps return another result of its kind.

    >>> with sampling_work():
    ...     print([sampled_work("split", lambda: number) for number in (1, 2, 3)])
    [1, 2, 2]
    """
    sample = _sample.get()
    if sample is None:
        return do()
    times, sampled = part or (1.0, do)
    return sample.take(kind, sampled, times)


def work_of_size(do: Callable[[int], Result], n: int, least: int) -> Result:
    """Carry out a step for ``n`` units; where work is sampled, only for parts of them, of ``least`` or more.

    >>> with sampling_work():
    ...     print(work_of_size(lambda n: n, 20_000, 100), work_of_size(lambda n: n, 500, 100))
    2000 500
    """
    few, some = max(least, n // _FEW_SHARE), n // _SOME_SHARE
    sample = _sample.get()
    return do(n) if sample is None or some <= 2 * few else sample.take_part(do, n, few, some)


def assume_work(seconds: float, *, loading: tuple[str, float] | None = None) -> bool:
    """Whether a step is to be left out, because work is sampled and the time of the step is known beforehand.

    ``loading`` is a library that the step would load, and the seconds that takes: they count once, unless it
    is loaded already.

    >>> with sampling_work() as sample:
    ...     assume_work(2.0), sample.skipped_seconds
    (True, 2.0)
    >>> assume_work(2.0)
    False
    """
    sample = _sample.get()
    if sample is None:
        return False
    sample.skipped_seconds += seconds
    if loading is not None and loading[0] not in {*sample.loaded, *sys.modules}:
        sample.loaded.add(loading[0])
        sample.skipped_seconds += loading[1]
    return True


def current_sample() -> WorkSample | None:
    """The sample, where results are only samples: these must not be kept for others."""
    return _sample.get()


@contextmanager
def sampling_work(loaded: set[str] | None = None) -> Iterator[WorkSample]:
    """Carry out one step of each kind within the context, for an estimate; what it computes is not used.

    ``loaded`` are the libraries that another sample counted.

    >>> with sampling_work() as sample:
    ...     results = [counted_work(TRAINING, "net", lambda: number) for number in (1, 2, 3)]
    >>> results
    [1, 2, 2]
    """
    sample = WorkSample(loaded=set() if loaded is None else loaded)
    token = _sample.set(sample)
    try:
        yield sample
    finally:
        _sample.reset(token)
