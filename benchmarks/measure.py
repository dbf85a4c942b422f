"""Repeat, take CPU time, report the median and the range."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

SMALLEST = "LEAKGAUGE_SMALLEST_BENCHMARKS" in os.environ  # as the tests run them: only whether they still run

Size = TypeVar("Size")


def sized(full: Size, smallest: Size) -> Size:
    """The size of some work, and the one at which a test runs it within seconds."""
    return smallest if SMALLEST else full


@dataclass(frozen=True)
class Timing:
    """CPU (or wall) seconds of several repeats."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    def __str__(self) -> str:
        return f"{self.median:.3g} s ({min(self.seconds):.3g} to {max(self.seconds):.3g})"


def ratio(slow: Timing, fast: Timing) -> str:
    """How many times as long the slow work takes: ratio of the medians, and the range of single repeats."""
    medians = slow.median / fast.median
    least, most = min(slow.seconds) / max(fast.seconds), max(slow.seconds) / min(fast.seconds)
    return f"{_rounded(medians)} x ({_rounded(least)} to {_rounded(most)})"


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def repeat(
    work: Callable[[], object], times: int = 5, clock: Callable[[], float] = time.process_time
) -> Timing:
    """Time a piece of work after one unmeasured call."""
    work()
    seconds = []
    for _ in range(sized(times, 1)):
        start = clock()
        work()
        seconds.append(clock() - start)
    return Timing(tuple(seconds))


def growth(sizes: Sequence[float], timings: Sequence[Timing]) -> float:
    """The slope of log time over log size: 1 where time grows in proportion."""
    seconds = [timing.median for timing in timings]
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
