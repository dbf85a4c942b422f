"""Accountants by the names of their files."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from leakgauge.core.game import Bits
from leakgauge.core.settings import require
from leakgauge.domains.queries import accountants
from leakgauge.domains.queries.asked import Asked
from leakgauge.domains.queries.records import Ints


class Accountant(Protocol):
    """Counts the answers that somebody may have been in, for every world: who of the targets is there.

    All answers of an oracle cost the same, so that whole numbers suffice.
    """

    sound: bool  # whether refusing beyond a number of answers promises anything

    def __init__(self, members: Bits) -> None: ...

    def after(self, asked: Asked) -> Ints:
        """The answers of whoever would have had most, if this were answered too."""
        ...

    def add(self, asked: Asked, answered: Bits) -> None:
        """Take note of an answer, in the worlds where it was given."""
        ...

    @property
    def spent(self) -> Ints:
        """The answers of whoever has had most."""
        ...


def names() -> list[str]:
    """Name the accountants.

    >>> names()
    ['none', 'per_predicate', 'per_row', 'sequential']
    """
    return sorted(module.name for module in iter_modules(accountants.__path__))


def accountant(name: str) -> type[Accountant]:
    """Find an accountant by its name."""
    require(name, names(), "challenger.accountant: none")
    return import_module(f"{accountants.__name__}.{name}").Accountant
