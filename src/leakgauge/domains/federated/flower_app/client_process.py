"""The process that runs a user's Flower app, and the audit's end of the pipe to it."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any
from weakref import finalize

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import (
    AppDescription,
    AppSettings,
    ClientAnswer,
    ClientGame,
    Failure,
    Progress,
)

_PROGRAM = "from leakgauge.domains.federated.flower_app.client_runner import main; main()"
_START_SECONDS = 120.0  # to import Flower and torch on a busy machine, besides the time for a message
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_STOP_SECONDS = 5.0


@lru_cache(maxsize=2)
def client_process(settings: AppSettings) -> "ClientProcess":
    """Return the process for some settings; it is started once in each process of the audit."""
    return ClientProcess(settings)


def require_libraries() -> None:
    """Refuse where Flower or PyTorch is missing."""
    for module in ("flwr", "torch"):
        try:
            installed = find_spec(module) is not None
        except ImportError:
            installed = False
        if not installed:
            raise BadInput(
                f"challenger.app: {module} is not installed; run: pip install 'leakgauge[federated,ml]'"
            )


class ClientProcess:
    """Plays games with the app's client, one after the other, each within the time limit."""

    def __init__(self, settings: AppSettings) -> None:
        require_libraries()
        self._settings = settings
        folder = TemporaryDirectory(prefix="leakgauge-", ignore_cleanup_errors=True)
        self._log = Path(folder.name) / "stderr.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(folder.name),
                start_new_session=True,  # an interrupt reaches only us
            )
        self._answers: SimpleQueue[Any] = SimpleQueue()
        reader = Thread(target=_read, args=(self._process.stdout, self._answers), daemon=True)
        reader.start()
        self._end = finalize(self, _close, self._process, reader, folder)
        self.description: AppDescription = self._ask(settings, _START_SECONDS)

    def play(self, games: Sequence[ClientGame]) -> Iterator[ClientAnswer]:
        """Yield the answer to each game."""
        for game in games:
            yield self._ask(game)

    def _ask(self, request: Any, more_seconds: float = 0.0) -> Any:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):
            pickle.dump(request, stdin)
            stdin.flush()
        try:
            answer = self._answers.get(timeout=self._settings.timeout + more_seconds)
            while isinstance(answer, Progress):
                answer = self._answers.get(timeout=self._settings.timeout)
        except Empty:
            self._stop()
            raise BadInput(
                f"challenger.app: no answer to a message within {self._settings.timeout:g} seconds; the "
                "client hangs or waits for something. If it is only slow, raise challenger.timeout"
            ) from None
        if isinstance(answer, Failure):
            self._stop()
            raise BadInput(f"challenger.app: {answer.text}")
        return answer

    def _stop(self) -> None:
        client_process.cache_clear()
        self._process.kill()
        self._end()


def _read(stdout: IO[bytes], answers: "SimpleQueue[Any]") -> None:
    with stdout, suppress(EOFError, pickle.UnpicklingError, ValueError, OSError):
        while True:
            answers.put(pickle.load(stdout))
    answers.put(Failure("the process that runs the app ended; does the app call exit()?"))


def _environment(folder: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, sys.path))
    places = {"FLWR_HOME": folder, "TMPDIR": folder}
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    return {**os.environ, **_ONE_THREAD, **quiet, **places, "PYTHONPATH": path}


def _close(process: "subprocess.Popen[bytes]", reader: Thread, folder: "TemporaryDirectory[str]") -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    reader.join(_STOP_SECONDS)
    folder.cleanup()
