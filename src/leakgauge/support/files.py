"""Atomic file writes, and a lock that lets one process write to a folder."""

import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from leakgauge.core.errors import ANOTHER_OUT, BadInput, IncompleteRun

_PARTIAL_SUFFIX = ".partial"
_PARTIAL_NAME = re.compile(r".+\.\d+\.partial")  # with the number of the process, unlike files of others
LOCK_NAME = "lock"
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_TRIES = 5  # reading the status locks the folder for an instant


def write_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file atomically and flush it to disk; ``private``: readable by its owner alone.

    On a full disk it raises ``IncompleteRun``: what was asked for is right, and can be continued later.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}{_PARTIAL_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        mode = stat.S_IRUSR | stat.S_IWUSR if private else 0o666
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        problem = f"{path}: cannot be written ({error.strerror})"
        if error.errno in _DISK_FULL:
            raise IncompleteRun(f"{problem}; free some space") from None
        raise BadInput(f"{problem}; check the path and its permissions") from error


def write_json(path: Path, value: Any, *, private: bool = False) -> None:
    """Write a value as JSON; dates become strings."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
    write_file(path, text.encode(), private=private)


def is_private(path: Path) -> bool:
    """Whether a file exists that only its owner can read."""
    return path.exists() and not stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)


def path_argument(value: object, where: str) -> Path:
    """Check an argument of a public function that names a file or a folder.

    >>> path_argument("runs/may", "out").name
    'may'
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        shown = repr(value) if text == "" else type(value).__name__
        raise BadInput(f"{where}: must be the path of a file or folder, as a string or a Path, got {shown}")
    return Path(text)


def json_digest(value: Any) -> str:
    """A digest of a value that JSON can hold; the order of keys does not matter."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def remove_partial_files(folder: Path) -> None:
    """Remove the partial files of killed processes; call it only while the folder is locked."""
    for path in list(folder.rglob(f"*{_PARTIAL_SUFFIX}")):
        if is_partial_file(path.name):
            path.unlink()


def is_partial_file(name: str) -> bool:
    """Whether a file is one that ``write_file`` had not finished.

    >>> is_partial_file("manifest.json.17.partial"), is_partial_file("film.partial")
    (True, False)
    """
    return _PARTIAL_NAME.fullmatch(name) is not None


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder; the operating system releases the lock when the process ends, however it ends."""
    try:
        file = (folder / LOCK_NAME).open("ab")
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to ({error.strerror}); choose another folder") from None
    with file:
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise BadInput(
                        f"another run is writing to {folder}; wait for it to end, or {ANOTHER_OUT}"
                    ) from None
                time.sleep(0.05)
        if not os.fstat(file.fileno()).st_nlink:  # the process that held the lock has removed the folder
            raise BadInput(f"another run in {folder} ended just now and removed the folder; start again")
        yield


def is_locked(folder: Path) -> bool:
    """Whether a run is writing to the folder now."""
    try:
        with (folder / LOCK_NAME).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
