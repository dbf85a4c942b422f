"""A small cache, so that the audits of a plan read the same data once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """The most recent values by key, so that the points of a sweep share their data."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, Value] = OrderedDict()

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached value of a key, or make it; the least recently used one is dropped."""
        if key not in self._made:
            while len(self._made) >= self._most:  # before the new one takes up memory
                self._made.popitem(last=False)
            self._made[key] = make()
        self._made.move_to_end(key)
        return self._made[key]

    def clear(self) -> None:
        """Drop all values."""
        self._made.clear()


def file_identity(file: Path) -> tuple[str, int, int, int]:
    """A key that differs between files, and changes when a file changes."""
    about = file.stat()
    return str(file.resolve()), about.st_ino, about.st_size, about.st_mtime_ns
