"""What a plan says about Flower: that clients run there, and whose app they run."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from warnings import catch_warnings, simplefilter

from leakgauge.core.errors import BadInput
from leakgauge.core.loading import Loader
from leakgauge.domains.federated.clients import Clients
from leakgauge.domains.federated.flower.client_app import App
from leakgauge.domains.federated.flower.running import FlowerClients

_WHERE = "challenger.client_app"


@dataclass(frozen=True, eq=False)
class Flower:
    """Flower as the place where clients run; with an app of somebody's own, or with ours."""

    app: App | None = None
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # of the app

    def start(self, clients: Clients) -> FlowerClients:
        """Clients that a simulation will be started for, once they are asked."""
        return FlowerClients(clients, self.app)


def read_flower(client_app: str | None, folder: Path) -> Flower:
    """Look for Flower, and load the app that a plan names."""
    for module in ("flwr", "ray", "torch"):
        if find_spec(module) is None:
            raise BadInput(
                f'challenger.engine = "flower": {module} is not installed; '
                "run: pip install 'leakgauge[federated,ml]'"
            )
    if client_app is None:
        return Flower(notes=("clients are run by Flower's simulation",))
    loader = Loader(folder)
    app = _load(loader, client_app)
    return Flower(
        app=app,
        notes=(f"clients are run by Flower's simulation, with {client_app} as their app",),
        sources=tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items())),
    )


def _load(loader: Loader, client_app: str) -> App:
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # read when Flower is imported
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # Flower's own, while it is imported
        from flwr.clientapp import ClientApp
    app = loader.load(client_app, _WHERE)
    if not isinstance(app, ClientApp):
        raise BadInput(f"{_WHERE}: {client_app} must be a ClientApp of flwr, got {type(app).__name__}")
    _require_portable(app, client_app)
    return app


def _require_portable(app: App, client_app: str) -> None:
    import cloudpickle

    try:
        cloudpickle.dumps(app)
    except Exception as error:
        raise BadInput(
            f"{_WHERE}: {client_app} cannot be sent to the simulation ({type(error).__name__}: {error}); "
            "make what it needs inside its functions"
        ) from None
