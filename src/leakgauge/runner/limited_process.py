"""Call a function in a process of its own whose CPU time and memory are limited.

Where the system has no such limits, as on Windows, the process is ended after as many seconds of real time.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leakgauge.core.errors import BadInput

CPU_SECONDS = 60
MEMORY = 2 * 2**30
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[7:]; from leakgauge.runner.limited_process import answer_call; "
    "answer_call(*sys.argv[1:7])"
)


class LimitReached(Exception):
    """The call was ended because of a limit; the message says which."""


def call_limited(module: str, function: str, argument: str) -> Any:
    """Return what a function returns for a text, as values of JSON; ``BadInput`` is raised here as well."""
    try:
        import resource  # noqa: F401
    except ImportError:
        seconds: float | None = CPU_SECONDS
    else:
        seconds = None  # the system ends it
    with TemporaryDirectory(prefix="leakgauge-") as folder:
        limits = (str(CPU_SECONDS), str(MEMORY))
        command = [sys.executable, "-P", "-c", _PROGRAM, module, function, argument, folder, *limits]
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "TMPDIR": folder}
        try:
            done = subprocess.run(
                [*command, *sys.path],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LimitReached(f"{CPU_SECONDS} s of time were reached") from None
        with suppress(FileNotFoundError):
            answer = json.loads((Path(folder) / "answer.json").read_bytes())
            if "error" in answer:
                raise BadInput(answer["error"])
            if "limit" not in answer:
                return answer["value"]
    raise _unanswered(done)


def _unanswered(done: "subprocess.CompletedProcess[bytes]") -> Exception:
    """Why there is no answer: a limit, or a bug."""
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        return LimitReached(f"{CPU_SECONDS} s of CPU time were reached")
    memory = f"{MEMORY / 2**30:.3g} GB of memory"
    if done.returncode == 0 or b"MemoryError" in done.stderr:
        return LimitReached(f"{memory} were reached")
    if done.returncode < 0:  # libraries that cannot get memory abort
        return LimitReached(f"it was ended by signal {-done.returncode}, as where {memory} do not suffice")
    return RuntimeError(done.stderr.decode(errors="replace"))


def answer_call(module: str, function: str, argument: str, folder: str, seconds: str, memory: str) -> None:
    """Set the limits, call the function and write its answer: what the new process does."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))  # all that it may write to
    try:
        answer = {"value": vars(import_module(module))[function](argument)}
    except BadInput as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"limit": "memory"}
    (Path(folder) / "answer.json").write_text(json.dumps(answer, default=str), encoding="utf-8")
