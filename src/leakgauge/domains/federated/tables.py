"""The `challenger` and `mechanism` tables of a plan about federated clients."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.settings import read, require
from leakgauge.core.targets import Targets, spelled_out
from leakgauge.domains.federated.gradient_noise import GradientNoise

NONE = "none"
TARGETS = Targets(n=20)
LOCAL = ("bitrand", "ome", "bit_response", "feature_laplace")  # noise that clients put on their rows


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Who trains on what, what reaches the server, and what the label promises.

    Every target has a client of its own in each round; ``clients`` is how many send their gradients
    together, averaged. The model is sent ``iterations`` times, and a member is in a share ``present`` of the
    batches. ``promise`` is judged by the "label" of the noise on rows, or by its "exact" epsilon. Clients are
    played here, or by Flower's simulation; there they may run a ``client_app`` of one's own.
    """

    targets: Targets = TARGETS
    batch: int = 100
    clients: int = 1
    reference: float | int = 0.5
    neurons: int = 64
    chosen: int = 1
    gradient_noise: GradientNoise | None = None
    iterations: int = 1
    present: float = 1.0
    promise: Literal["label", "exact"] = "label"
    utility: bool = False
    engine: Literal["local", "flower"] = "local"
    client_app: str | None = None  # "module:name"

    def __post_init__(self) -> None:
        if not self.batch >= 2:
            raise BadInput(
                f"batch must be >= 2, got {self.batch}: a gradient of one row is that row's alone, and "
                "there is nothing to infer"
            )
        for name in ("clients", "iterations", "neurons", "chosen"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.chosen > self.neurons:
            raise BadInput(f"chosen = {self.chosen} exceeds neurons = {self.neurons}; lower it")
        if not 0 < self.present <= 1:
            raise BadInput(f"present must be in (0, 1], got {self.present}")
        if self.iterations > 1 and self.gradient_noise is None:
            raise BadInput(
                "iterations > 1 average noise on gradients away; add gradient_noise, or leave iterations out"
            )
        if self.client_app is not None and self.engine != "flower":
            raise BadInput(
                f'client_app = {self.client_app!r} is for Flower; add engine = "flower", or leave it out'
            )


def read_setting(table: Mapping[str, Any]) -> Setting:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read(Setting, spelled_out(table), "challenger")


def read_mechanism(table: Mapping[str, Any], features: int) -> Mechanism | None:
    """Build the noise that clients put on each row of so many features; none, if that is its name."""
    said = dict(table)
    if "name" not in said:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join((*LOCAL, NONE))}")
    name = said.pop("name")
    require(name, [*LOCAL, NONE], "mechanism: none")
    if name == NONE:
        for key in said:
            raise BadInput(f"mechanism 'none': {key} says nothing here; leave it out")
        return None
    for key, way_out in {
        "features": "they follow from the data; leave it out",
        "relation": "a member takes the place of another row; leave it out",
        "unit": "the game is about a record; leave it out",
    }.items():
        if key in said:
            raise BadInput(f"mechanism {name!r}: {key} is not yours to say: {way_out}")
    kind = import_module(f"leakgauge.mechanisms.{name}").Mechanism
    return read(kind, {**said, "features": features}, f"mechanism {name!r}")
