"""Run the clients of a block as Flower clients in a simulation process, with our app or the user's."""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any
from warnings import catch_warnings, simplefilter
from weakref import finalize

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower.client_app import FlowerApp, SimulatedClients
from leakgauge.domains.federated.flower.simulation import CLIENTS_FILE
from leakgauge.domains.federated.neurons.network import PlantedNetwork
from leakgauge.domains.federated.release import ClientGroups
from leakgauge.support.user_code import UserCodeLoader

_PROGRAM = "from leakgauge.domains.federated.flower.simulation import main; main()"
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only, on any system
}
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_BOOTSTRAP = (
    "ray_bootstrap_config.yaml"  # without this file in HOME, Ray asks the network which cloud it runs in
)
_LONGEST_FOLDER = 20  # characters
_STOP_TIMEOUT = 30.0  # seconds, for a simulation to end
_CLIENT_APP_KEY = "challenger.client_app"


@dataclass(frozen=True, eq=False)
class FlowerClients:
    """The clients of a block as Flower apps; one simulation serves all attackers of the block."""

    clients: ClientGroups
    app: FlowerApp | None = None

    @property
    def n_rounds(self) -> int:
        return self.clients.n_rounds

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        return self._simulation.train(networks)

    @cached_property
    def _simulation(self) -> "SimulationProcess":
        return SimulationProcess(SimulatedClients(self.clients, self.app, os.environ.get("HOME")))


class SimulationProcess:
    """A simulation process; it ends with the audit's process, or when this object is no longer referenced."""

    def __init__(self, clients: SimulatedClients) -> None:
        import cloudpickle

        folder = TemporaryDirectory(
            prefix="leakgauge-", dir=_short_temporary_folder(gettempdir()), ignore_cleanup_errors=True
        )
        path = Path(folder.name)
        (path / CLIENTS_FILE).write_bytes(cloudpickle.dumps(clients))
        (path / _BOOTSTRAP).write_text("{}\n", encoding="utf-8")
        self._log = path / "stderr.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(folder.name),
                start_new_session=True,  # an interrupt reaches only us, and we end the simulation in order
            )
        finalize(self, _close, self._process, folder)

    def train(self, networks: Sequence[PlantedNetwork]) -> list[list[Reals]]:
        """Return rounds x targets of averaged gradients."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            pickle.dump(list(networks), stdin)
            stdin.flush()
            answer: Any = pickle.load(stdout)
        except (BrokenPipeError, EOFError):
            answer = self._last_log_line()
        if isinstance(answer, BadInput):
            raise answer
        if isinstance(answer, str):
            raise BadInput(f'challenger.engine = "flower": the simulation stopped ({answer})')
        return answer

    def _last_log_line(self) -> str:
        lines = self._log.read_text("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no message")


def _environment(folder: str) -> dict[str, str]:
    """Return our environment, so that the same modules are found, without the settings of a Ray cluster."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    path = os.pathsep.join(filter(None, sys.path))
    places = dict.fromkeys(("FLWR_HOME", "HOME", "TMPDIR"), folder)
    return {**ours, **_QUIET, **_ONE_THREAD, **places, "PYTHONPATH": path}


def _short_temporary_folder(folder: str) -> str | None:
    """Return a shorter folder if the temporary one is too long for the names of Ray's sockets."""
    return None if len(folder) <= _LONGEST_FOLDER else "/tmp"


def _close(process: "subprocess.Popen[bytes]", folder: "TemporaryDirectory[str]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    folder.cleanup()


@dataclass(frozen=True, eq=False)
class FlowerEngine:
    """Runs clients in Flower's simulation, with the user's app or with ours."""

    app: FlowerApp | None = None
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # source texts of the app

    def start(self, clients: ClientGroups) -> FlowerClients:
        """Return clients for which a simulation starts at the first request."""
        return FlowerClients(clients, self.app)


def read_flower_engine(client_app: str | None, folder: Path) -> FlowerEngine:
    """Check that Flower is installed, and load the app that a plan names."""
    for module in ("flwr", "ray", "torch"):
        if find_spec(module) is None:
            raise BadInput(
                f'challenger.engine = "flower": {module} is not installed; '
                "run: pip install 'leakgauge[federated,ml]'"
            )
    if client_app is None:
        return FlowerEngine(notes=("clients are run by Flower's simulation",))
    loader = UserCodeLoader(folder)
    app = _load_app(loader, client_app)
    return FlowerEngine(
        app=app,
        notes=(f"clients are run by Flower's simulation, with {client_app} as their app",),
        sources=tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items())),
    )


def _load_app(loader: UserCodeLoader, client_app: str) -> FlowerApp:
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # read when Flower is imported
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # Flower's own, while it is imported
        from flwr.clientapp import ClientApp
    app = loader.load(client_app, _CLIENT_APP_KEY)
    if not isinstance(app, ClientApp):
        raise BadInput(
            f"{_CLIENT_APP_KEY}: {client_app} must be a ClientApp of flwr, got {type(app).__name__}"
        )
    _require_portable(app, client_app)
    return app


def _require_portable(app: FlowerApp, client_app: str) -> None:
    import cloudpickle

    try:
        cloudpickle.dumps(app)
    except Exception as error:
        raise BadInput(
            f"{_CLIENT_APP_KEY}: {client_app} cannot be sent to the simulation "
            f"({type(error).__name__}: {error}); create what it needs inside its functions"
        ) from None
