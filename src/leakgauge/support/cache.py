"""Caches: recent values in memory; texts and arrays that take long to make in the user's cache folder."""

import io
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.support.files import write_file

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


def cached_text(name: str, make: Callable[[], str]) -> str:
    """Return the text of this name from the user's cache folder, or make it and keep it there.

    A text that was damaged is made again. A folder that cannot be read or written costs only time.
    """
    with suppress(UnicodeDecodeError):
        if (found := _read_cached(name)) is not None:
            return found.decode()
    made = make()
    _write_cached(name, made.encode())
    return made


def cached_array(name: str, make: Callable[[], Reals]) -> Reals:
    """Return the array of this name from the user's cache folder, or make it and keep it there.

    The name must identify all that the array depends on. Only its owner can read the file.
    """
    with suppress(ValueError, EOFError):
        if (found := _read_cached(name)) is not None:
            return np.asarray(np.load(io.BytesIO(found), allow_pickle=False))
    made = make()
    content = io.BytesIO()
    np.save(content, made, allow_pickle=False)
    _write_cached(name, content.getvalue())
    return made


def _read_cached(name: str) -> bytes | None:
    """What the cache holds under a name; nothing where it is missing or damaged."""
    try:
        digest, _, content = (_user_cache() / name).read_bytes().partition(b"\n")
    except (OSError, RuntimeError):  # the second: there is no home folder
        return None
    return content if sha256(content).hexdigest().encode() == digest else None


def _write_cached(name: str, content: bytes) -> None:
    with suppress(BadInput, IncompleteRun, RuntimeError):
        write_file(_user_cache() / name, sha256(content).hexdigest().encode() + b"\n" + content, private=True)


def _user_cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(folder) if folder else Path.home() / ".cache") / "leakgauge"
