"""News of long work, for whoever watches a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Teller: TypeAlias = Callable[[str], None]

_teller: ContextVar[Teller] = ContextVar("_teller", default=lambda _: None)


def tell(news: str) -> None:
    """Say how far a piece of work has come; nobody need listen."""
    _teller.get()(news)


@contextmanager
def telling(teller: Teller) -> Iterator[None]:
    """Let somebody hear what is told for a while."""
    token = _teller.set(teller)
    try:
        yield
    finally:
        _teller.reset(token)
