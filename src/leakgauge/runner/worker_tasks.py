"""How a function travels to workers, and how results and errors come back."""

import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.support.progress import listen_to_progress, progress_file_writer
from leakgauge.support.threads import single_threaded

PackedTask: TypeAlias = npt.NDArray[np.uint8]
Task: TypeAlias = Callable[[Any], Any]

_MOST_UNPACKED = 4  # functions a worker keeps unpacked
_unpacked: OrderedDict[str, Task] = OrderedDict()


class WorkerError(Exception):
    """A worker met an error that is not about input; a note holds its traceback."""


@dataclass(frozen=True)
class TaskHeader:
    """What a worker is told about a packed function."""

    digest: str
    path: tuple[str, ...]  # where the process that packed it looks for modules


def pack_task(task: Task) -> tuple[PackedTask, TaskHeader]:
    """Pack a function for the journey: as an array, which engines share rather than copy."""
    import cloudpickle

    packed = cloudpickle.dumps(task)
    path = tuple(str(Path(folder).absolute()) for folder in sys.path)
    return np.frombuffer(packed, np.uint8), TaskHeader(sha256(packed).hexdigest(), path)


def _unpack_task(packed: PackedTask, docket: TaskHeader) -> Task:
    """Return a packed function; a process unpacks it once."""
    import cloudpickle

    if docket.digest not in _unpacked:
        sys.path.extend(folder for folder in docket.path if folder not in sys.path)
        _unpacked[docket.digest] = cloudpickle.loads(packed.data)
        while len(_unpacked) > _MOST_UNPACKED:
            _unpacked.popitem(last=False)
    return _unpacked[docket.digest]


@dataclass(frozen=True)
class TaskFailure:
    """An error on its way home; exceptions themselves do not always travel."""

    message: str
    trace: str | None  # none: bad input, which needs no traceback


def run_task(
    packed: PackedTask, docket: TaskHeader, position: int, item: Any, news: Path | None = None
) -> tuple[int, Any]:
    """Do one piece of work in a worker; its news go into a file, where there is one."""
    try:
        with single_threaded(), listen_to_progress(progress_file_writer(news)) if news else nullcontext():
            return position, _unpack_task(packed, docket)(item)
    except BadInput as error:
        return position, TaskFailure(str(error), None)
    except Exception as error:  # it is raised again at home
        return position, TaskFailure(f"{type(error).__name__}: {error}", traceback.format_exc())


def unwrap_outcome(outcome: tuple[int, Any]) -> tuple[int, Any]:
    """Return what a worker found, or raise what it met."""
    match outcome:
        case _, TaskFailure(message, None):
            raise BadInput(message)
        case _, TaskFailure(message, str(trace)):
            error = WorkerError(message)
            error.add_note(trace)
            raise error
    return outcome
