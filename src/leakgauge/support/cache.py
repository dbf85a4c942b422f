"""Data that are read once, though many audits of a plan ask for them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """The last few things that were made, by what they were made of: the points of a sweep share them."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, Value] = OrderedDict()

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What was made before, or is made now; the one that was not asked for longest goes first."""
        if key not in self._made:
            while len(self._made) >= self._most:  # before the new one takes up memory
                self._made.popitem(last=False)
            self._made[key] = make()
        self._made.move_to_end(key)
        return self._made[key]

    def clear(self) -> None:
        """Forget everything."""
        self._made.clear()


def file_identity(file: Path) -> tuple[str, int, int, int]:
    """What tells a file from another one, and from itself after a change."""
    about = file.stat()
    return str(file.resolve()), about.st_ino, about.st_size, about.st_mtime_ns
