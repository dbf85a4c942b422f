"""A map over independent items that uses the workers of a run while an attack studies."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
ParallelMap: TypeAlias = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]

_parallel_map: ContextVar[ParallelMap] = ContextVar(
    "_parallel_map", default=lambda function, items: map(function, items)
)


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to independent items on the available workers; return the results in order.

    Each item carries its own random stream, so the results do not depend on the workers.

    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    return list(_parallel_map.get()(function, list(items)))


@contextmanager
def use_parallel_map(parallel: ParallelMap) -> Iterator[None]:
    """Let ``parallel_map`` use this map within the context."""
    token = _parallel_map.set(parallel)
    try:
        yield
    finally:
        _parallel_map.reset(token)
