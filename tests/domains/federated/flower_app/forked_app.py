"""Load a Flower app in a copy of this process, so that nothing of it stays here."""

import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import AppRows, AppSettings
from leakgauge.domains.federated.flower_app.client_runner import AppRunner, main
from leakgauge.domains.federated.flower_app.path_check import check_path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.clientapp
    import flwr.server
    import flwr.serverapp  # noqa: F401
    import torch._dynamo  # noqa: F401, what a first optimiser imports, once for all copies


class ForkedProcess:
    """The app in this process, with what a client process offers."""

    def __init__(self, settings):
        self._runner = AppRunner(settings)
        self.description = self._runner.describe()

    def play(self, games):
        return map(self._runner.play, games)


def _forget_opacus():
    """In a copy: forget what an earlier test of this process imported; a client's own process has not."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "opacus"]:
        del sys.modules[name]


class ForkedPopen:
    """Serves an audit in a copy of this process, which has loaded Flower and torch already."""

    def __init__(self, _command, *, stderr, env, **_said):
        reads, to_child = os.pipe()
        from_child, writes = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        self.pid = self._pid
        if self._pid == 0:
            for number, source in enumerate((reads, writes, stderr.fileno())):
                os.dup2(source, number)
            os.closerange(3, 256)
            os.environ.update(env)
            _forget_opacus()
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in enumerate("rww"))
            try:
                main()
            finally:
                os._exit(1)
        os.close(reads)
        os.close(writes)
        self.stdin, self.stdout = os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb")

    def wait(self, timeout=None):
        if self._pid:
            os.waitpid(self._pid, 0)
        self._pid = 0

    def kill(self):
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)


def settings(project, **said):
    given = {
        "project": project,
        "data_hook": "task:load_data",
        "inject": None,
        "folder": project.parent,
        "run_config": (),
        "partitions": 4,
        "partition": 0,
        "timeout": 30.0,
    }
    return AppSettings(**given | said)


def forked(function: Callable[[], Any]) -> Any:
    """Call a function in a copy of this process; return its result, or the text of its refusal."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
        child = os.fork()
    if child == 0:
        try:
            _forget_opacus()
            result = function()
        except BadInput as error:
            result = str(error)
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(content)


def describe(project, **said):
    return forked(lambda: ForkedProcess(settings(project, **said)).description)


def checked_path(project, *, stateful=False, **said):
    def check():
        process = ForkedProcess(settings(project, **said))
        rows = process.description.n_rows
        reference = [(partition, row) for partition in (1, 2) for row in range(rows[partition])]
        return check_path(process, AppRows(((0, 5),), tuple(reference), (), rows[0]), stateful=stateful)

    return forked(check)
