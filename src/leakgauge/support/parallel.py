"""Work that a run may give to its workers while an attack studies."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
ParallelMap: TypeAlias = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]

_parallel_map: ContextVar[ParallelMap] = ContextVar(
    "_spreader", default=lambda function, items: map(function, items)
)


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to independent pieces of work, in order, by the workers there are.

    Each piece carries its own stream, so the results do not depend on who does it.

    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    return list(_parallel_map.get()(function, list(items)))


@contextmanager
def use_parallel_map(spreader: ParallelMap) -> Iterator[None]:
    """Let ``parallel_map`` use these workers for a while."""
    token = _parallel_map.set(spreader)
    try:
        yield
    finally:
        _parallel_map.reset(token)
