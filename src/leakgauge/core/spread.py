"""Work that a run may give to its workers while an attack studies."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Spreader: TypeAlias = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]

_spreader: ContextVar[Spreader] = ContextVar(
    "_spreader", default=lambda function, items: map(function, items)
)


def spread(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to independent pieces of work, in order, by the workers there are.

    Each piece carries its own stream, so the results do not depend on who does it.

    >>> spread(abs, [-1, 2])
    [1, 2]
    """
    return list(_spreader.get()(function, list(items)))


@contextmanager
def spreading(spreader: Spreader) -> Iterator[None]:
    """Let ``spread`` use these workers for a while."""
    token = _spreader.set(spreader)
    try:
        yield
    finally:
        _spreader.reset(token)
