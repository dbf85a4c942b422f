"""Call a function in a process of its own whose CPU time and memory are limited.

Where the system has no such limits, as on Windows, the process is ended after as many seconds of real time.
"""

import json
import os
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

from leakgauge.core.errors import BadInput

CPU_SECONDS = 60
MEMORY = 2 * 2**30
_CPU_SIGNAL = 24  # SIGXCPU
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_PROGRAM = (
    "import json, sys; place, *given = json.loads(sys.argv[1]); sys.path[:] = place; "
    "from leakgauge.runner.limited_process import answer_call; answer_call(*given)"
)


class LimitReached(Exception):
    """The call was ended because of a limit; the message says which."""


def call_limited(module: str, function: str, argument: str) -> Any:
    """Return what a function returns for a text, as values of JSON; ``BadInput`` is raised here as well."""
    given = json.dumps([sys.path, module, function, argument, CPU_SECONDS, MEMORY])
    with TemporaryDirectory(prefix="leakgauge-") as folder:  # what the process leaves when it is ended
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "TMPDIR": folder}
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _PROGRAM, given],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=None if find_spec("resource") else CPU_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise LimitReached(f"{CPU_SECONDS} s of time were reached") from None
    memory = f"{MEMORY / 2**30:.3g} GB of memory"
    if done.returncode == -_CPU_SIGNAL:
        raise LimitReached(f"{CPU_SECONDS} s of CPU time were reached")
    if done.returncode < 0:  # libraries that cannot get memory abort
        raise LimitReached(f"it was ended by signal {-done.returncode}, as where {memory} do not suffice")
    if b"MemoryError" in done.stderr:
        raise LimitReached(f"{memory} were reached")
    if done.returncode > 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise BadInput(answer["error"])
    return answer["value"]


def answer_call(module: str, function: str, argument: str, seconds: int, memory: int) -> None:
    """Set the limits, call the function and print its answer: what the new process does."""
    with suppress(ImportError):
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # all that it may write to
    with redirect_stdout(sys.stderr):
        try:
            answer = {"value": vars(import_module(module))[function](argument)}
        except BadInput as error:
            answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer, default=str))
