"""Atomic file writes, and a lock that lets one process write to a folder."""

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from leakgauge.core.errors import ANOTHER_OUT, BadInput, IncompleteRun

_PARTIAL_SUFFIX = ".partial"
_PARTIAL_NAME = re.compile(r".+\.\d+\.partial")  # with the number of the process, unlike files of others
LOCK_NAME, SOFT_LOCK_NAME = "lock", "lock-here"
LOCK_NAMES = (LOCK_NAME, SOFT_LOCK_NAME)
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_PATIENCE, _PAUSE = 0.25, 0.05  # seconds: reading the status locks the folder for an instant


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
        _flush_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        problem = f"{path}: cannot be written ({error.strerror})"
        if error.errno in _DISK_FULL:
            raise IncompleteRun(f"{problem}; free some space") from None
        raise BadInput(f"{problem}; check the path and its permissions") from error


def _flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, on systems that can open a folder; others do it themselves."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Any, *, private: bool = False) -> None:
    """Write a value as JSON; dates become strings."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
    write_file(path, text.encode(), private=private)


def parse_json(content: str | bytes) -> Any:
    """Parse JSON; a key that is there twice is refused: some readers take the first, others the last.

    >>> parse_json('{"a": 1}')
    {'a': 1}
    """
    return json.loads(content, object_pairs_hook=_table)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key is there twice")
    return table


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


def refuse_special_files(folder: Path) -> None:
    """Refuse a folder with links, pipes or devices in it, which may lead elsewhere or never end."""
    for place, folders, names in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *names)):
            with suppress(FileNotFoundError):  # another process has removed it
                mode = path.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    raise BadInput(f"{path}: a link, or no plain file; a run folder has none: remove it")


def _lock_path(folder: Path) -> Path:
    """The file that is locked.

    Where the system has no locks of files, a file is the lock by being there, and is removed afterwards. It
    has another name then: a file that a run with locks of files has left is not held by anybody.
    """
    has_locks = sys.platform == "win32" or _is_importable("fcntl")
    return folder / (LOCK_NAME if has_locks else SOFT_LOCK_NAME)


def _is_importable(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder; the operating system releases the lock when the process ends, however it ends."""
    from filelock import FileLock, Timeout

    if not folder.is_dir():  # the library would create it
        raise BadInput(f"{folder}: cannot be written to (no such folder); choose another folder")
    refuse_special_files(folder)
    path = _lock_path(folder)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=_PATIENCE, poll_interval=_PAUSE)
    except Timeout:
        raise BadInput(f"another run is writing to {folder}; wait for it to end, or {ANOTHER_OUT}") from None
    except (OSError, NotImplementedError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"{folder}: cannot be written to ({reason}); choose another folder") from None
    try:
        if not path.exists():  # the process that held the lock has removed it
            raise BadInput(f"another run in {folder} ended just now and removed the folder; start again")
        yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Whether a run is writing to the folder now."""
    from filelock import FileLock, Timeout

    path = _lock_path(folder)
    if not path.is_file():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except (OSError, NotImplementedError):
        return False


def require_writable(folder: Path) -> None:
    """Refuse a folder in which no file can be written, before long work; nothing is left behind."""
    created: list[Path] = []
    try:
        created += [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to ({error.strerror}); {ANOTHER_OUT}") from None
    finally:
        for path in created:  # the innermost first
            with suppress(OSError):
                path.rmdir()


def relative_path(path: Path, folder: Path) -> str:
    """The path of a file as one in a folder names it."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive of Windows
        return path.resolve().as_posix()
