"""Counts of expensive steps, such as trainings and requests, for estimates of what a run costs."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
