"""A Flower client: rows of its own, a model in, a gradient out."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from leakgauge.domains.federated.flower.messages import (
    ARRAYS,
    CONFIG,
    DATA,
    GRADIENTS,
    array_record,
    gradient_record,
    network_in,
)
from leakgauge.domains.federated.release import ClientGroups, ClientRows, ClientTraining

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

FlowerApp: TypeAlias = Callable[[Any, Any], Any]  # a ClientApp: a message and a context in, a message out


@dataclass(frozen=True, eq=False)
class SimulatedClients:
    """All clients of a block, and the app that they run, if it is not ours."""

    clients: ClientGroups
    app: FlowerApp | None = None
    home: str | None = None  # of whose app it is; the simulation itself has another


def client_app(cast: Path) -> "ClientApp":
    """The app of every client: which of them it is, is said in the message; its rows are not.

    Rows are drawn where the client is, from the file of its cast. The server never sends any.
    """
    from flwr.clientapp import ClientApp

    app = ClientApp()
    app.train()(partial(_train, cast))
    return app


def _train(cast: Path, message: "Message", context: "Context") -> "Message":
    found, config = _load_clients(cast), message.content.config_records[CONFIG]
    row, target, iteration, place = (config[name] for name in ("round", "target", "iteration", "client"))
    held = found.clients.held(row, target, iteration)[place]
    if found.app is None:
        return _answer(message, found.clients.training, held)
    return _user_app_answer(message, context, held, found.app)


def _answer(message: "Message", training: ClientTraining, held: ClientRows) -> "Message":
    from flwr.app import Message, RecordDict

    content = message.content
    chosen = content.config_records[CONFIG]["chosen"]
    gradient = training.answer(network_in(content.array_records[ARRAYS], chosen), held)
    return Message(content=RecordDict({GRADIENTS: gradient_record(gradient)}), reply_to=message)


def _user_app_answer(message: "Message", context: "Context", held: ClientRows, app: FlowerApp) -> "Message":
    """Let somebody's own app answer: with the rows beside the model, and as a client that is asked once."""
    from flwr.app import ConfigRecord, Context, RecordDict

    rows = array_record({"rows": held.rows, "labels": held.labels})
    message.content = RecordDict(
        {
            ARRAYS: message.content.array_records[ARRAYS],
            DATA: rows,
            CONFIG: ConfigRecord({"seed": held.seed}),
        }
    )
    afresh = Context(
        run_id=context.run_id,
        node_id=context.node_id,
        node_config=context.node_config,
        state=RecordDict(),
        run_config=context.run_config,
    )
    return app(message, afresh)


@lru_cache(maxsize=1)
def _load_clients(file: Path) -> SimulatedClients:
    """Read the cast once in each process."""
    import cloudpickle
    import torch

    torch.set_num_threads(1)
    with file.open("rb") as content:
        found: SimulatedClients = cloudpickle.load(content)
    if found.home is not None:
        os.environ["HOME"] = found.home
    return found
