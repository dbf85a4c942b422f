"""One run at a time in a folder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakgauge.core.errors import BadInput

NAME = "lock"
_TRIES = 5  # somebody may be looking at the status for an instant


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the system lets go of it when the process ends, however it ends."""
    try:
        file = (folder / NAME).open("ab")
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
                        f"another run is writing to {folder}; wait for it to end, or choose another --out"
                    ) from None
                time.sleep(0.05)
        if not os.fstat(file.fileno()).st_nlink:  # whoever held it has removed the folder
            raise BadInput(f"another run in {folder} ended just now and left nothing; start again")
        yield


def is_locked(folder: Path) -> bool:
    """Whether a run is writing to the folder now."""
    try:
        with (folder / NAME).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
