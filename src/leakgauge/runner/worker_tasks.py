"""Send a function to workers as bytes, run it there, and bring back results and errors."""

import os
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.support.progress import listen_to_progress, progress_file_writer
from leakgauge.support.threads import single_threaded

PackedTask: TypeAlias = npt.NDArray[np.uint8]
Task: TypeAlias = Callable[[Any], Any]
Results: TypeAlias = Iterator[tuple[int, Any]]  # with the positions of their items
TaskMap: TypeAlias = Callable[[Sequence[Any]], Results]

_MOST_UNPACKED = 4  # functions a worker keeps unpacked
_LOOK_AT_PARENT = 1.0  # seconds between two looks whether the process that started a worker is still there
_unpacked: OrderedDict[str, Task] = OrderedDict()


class WorkerError(Exception):
    """An error in a worker that is not about input; a note holds its traceback."""


@dataclass(frozen=True)
class TaskHeader:
    """What a worker needs to know about a packed function."""

    digest: str
    path: tuple[str, ...]  # where the process that packed it looks for modules


def pack_task(task: Task) -> tuple[PackedTask, TaskHeader]:
    """Pack a function as an array, which engines share instead of copying it."""
    import cloudpickle

    packed = cloudpickle.dumps(task)
    path = tuple(str(Path(folder).absolute()) for folder in sys.path)
    return np.frombuffer(packed, np.uint8), TaskHeader(sha256(packed).hexdigest(), path)


def _unpack_task(packed: PackedTask, header: TaskHeader) -> Task:
    """Return a packed function; each process unpacks it once."""
    import cloudpickle

    if header.digest not in _unpacked:
        sys.path.extend(folder for folder in header.path if folder not in sys.path)
        _unpacked[header.digest] = cloudpickle.loads(packed.data)
        while len(_unpacked) > _MOST_UNPACKED:
            _unpacked.popitem(last=False)
    return _unpacked[header.digest]


@dataclass(frozen=True)
class TaskFailure:
    """An error of a worker as text, because not every exception can be pickled."""

    message: str
    trace: str | None  # none: bad input, which needs no traceback


def run_task(
    packed: PackedTask, header: TaskHeader, position: int, item: Any, progress_file: Path | None = None
) -> tuple[int, Any]:
    """Apply a packed function to one item, in a worker; its progress messages go into a file, if given."""
    try:
        with (
            single_threaded(),
            listen_to_progress(progress_file_writer(progress_file)) if progress_file else nullcontext(),
        ):
            return position, _unpack_task(packed, header)(item)
    except BadInput as error:
        return position, TaskFailure(str(error), None)
    except Exception as error:  # raised again by unwrap_outcome
        return position, TaskFailure(f"{type(error).__name__}: {error}", traceback.format_exc())


def pack_item(item: Any) -> bytes:
    """Pack an item as bytes, which go to one worker and are then gone: arrays would stay in shared memory."""
    import cloudpickle

    return bytes(cloudpickle.dumps(item))


def run_packed_item(
    packed: PackedTask, header: TaskHeader, position: int, item: bytes, progress_file: Path
) -> tuple[int, Any]:
    """Apply a packed function to a packed item, in a worker."""
    import cloudpickle

    _end_with_parent()
    return run_task(packed, header, position, cloudpickle.loads(item), progress_file)


@cache
def _end_with_parent() -> None:
    """End this worker soon after the process that started it, however that ended; once in a process."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_AT_PARENT)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def unwrap_outcome(outcome: tuple[int, Any]) -> tuple[int, Any]:
    """Return the result of a worker, or raise its error."""
    match outcome:
        case _, TaskFailure(message, None):
            raise BadInput(message)
        case _, TaskFailure(message, str(trace)):
            error = WorkerError(message)
            error.add_note(trace)
            raise error
    return outcome
