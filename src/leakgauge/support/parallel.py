"""Maps over independent items: on the workers of a run, if there are any, or on threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from os import cpu_count
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
ParallelMap: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

_THREADS = 8  # at most

_parallel_map: ContextVar[ParallelMap | None] = ContextVar("_parallel_map", default=None)


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to independent items on the available workers; return the results in order.

    Each item carries its own random stream, so the results do not depend on the workers.

    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    spread = _parallel_map.get() or map
    return list(spread(function, items if isinstance(items, Sequence) else list(items)))


def map_on_workers_or_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
    """Apply a function to independent items on the workers, if there are any, or else on threads."""
    return (_parallel_map.get() or threaded_map)(function, items)


def threaded_map(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Apply a function to items on the cores of this machine, by threads; yield the results in order.

    The first item is done alone, so that what all items share is computed once. Items that a sequence makes
    when asked for are made one for each thread at a time.

    >>> list(threaded_map(abs, [-1, 2]))
    [1, 2]
    """
    if not items:
        return
    yield function(items[0])
    with ThreadPoolExecutor(min(cpu_count() or 1, _THREADS)) as pool:
        yield from pool.map(lambda place: function(items[place]), range(1, len(items)))


@contextmanager
def use_parallel_map(parallel: ParallelMap) -> Iterator[None]:
    """Let ``parallel_map`` use this map within the context."""
    token = _parallel_map.set(parallel)
    try:
        yield
    finally:
        _parallel_map.reset(token)
