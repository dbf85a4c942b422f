"""Files that are absent or complete, never half written."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput

PARTIAL = ".partial"


def write(path: Path, content: bytes, *, private: bool = False) -> None:
    """Put a file in place in one step, and onto the disk before that; ``private``: for its owner alone."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
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
        raise BadInput(
            f"{path}: cannot be written ({error.strerror}); free the space or choose another folder"
        ) from error


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; dates become strings."""
    write(path, (json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n").encode())


def sweep_up(folder: Path) -> None:
    """Remove what writers left that were killed; call it only while holding the folder's lock."""
    for leftover in folder.rglob(f"*{PARTIAL}"):
        leftover.unlink()
