"""A Flower client that answers a model with the gradient on its own rows."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from leakgauge.domains.federated.flower import messages
from leakgauge.domains.federated.release import ClientGroups, ClientRows, ClientTraining
from leakgauge.support.user_code import error_with_location

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

_RAISED_EXCEPTION = 2  # as Flower numbers the errors of clients
FlowerApp: TypeAlias = Callable[[Any, Any], Any]  # a ClientApp: (message, context) -> message


@dataclass(frozen=True, eq=False)
class SimulatedClients:
    """All clients of a block, and the user's app that they run, if there is one."""

    clients: ClientGroups
    app: FlowerApp | None = None
    home: str | None = None  # HOME for the user's app; the simulation itself uses another


def client_app(path: Path) -> "ClientApp":
    """Return the app of all clients; the message states which client it is.

    A client draws its rows itself, from the file at ``path``. The server never sends rows.
    """
    from flwr.clientapp import ClientApp

    app = ClientApp()
    app.train()(partial(_train, path))
    return app


def _train(path: Path, message: "Message", context: "Context") -> "Message":
    simulated, config = _load_clients(path), message.content.config_records[messages.CONFIG]
    row, target, iteration, place = (config[name] for name in ("round", "target", "iteration", "client"))
    held = simulated.clients.held(row, target, iteration)[place]
    if simulated.app is None:
        return _answer(message, simulated.clients.training, held)
    return _user_app_answer(message, context, held, simulated.app)


def _answer(message: "Message", training: ClientTraining, held: ClientRows) -> "Message":
    from flwr.app import Message, RecordDict

    content = message.content
    config = content.config_records[messages.CONFIG]
    network = messages.network_in(content.array_records[messages.ARRAYS], config["chosen"])
    if config["whole"]:
        record = messages.whole_gradient_record(training.whole_answer(network, held))
    else:
        record = messages.gradient_record(training.answer(network, held))
    return Message(content=RecordDict({messages.GRADIENTS: record}), reply_to=message)


def _user_app_answer(message: "Message", context: "Context", held: ClientRows, app: FlowerApp) -> "Message":
    """Let the user's app answer a message with the model and the rows, in a context without state."""
    from flwr.app import ConfigRecord, Context, Error, Message, RecordDict

    rows = messages.array_record({"rows": held.rows, "labels": held.labels})
    message.content = RecordDict(
        {
            messages.ARRAYS: message.content.array_records[messages.ARRAYS],
            messages.DATA: rows,
            messages.CONFIG: ConfigRecord({"seed": held.seed}),
        }
    )
    empty_context = Context(
        run_id=context.run_id,
        node_id=context.node_id,
        node_config=context.node_config,
        state=RecordDict(),
        run_config=context.run_config,
    )
    try:
        return app(message, empty_context)
    except (Exception, SystemExit) as error:
        failure = Error(code=_RAISED_EXCEPTION, reason=f"it raised {error_with_location(error)}")
        return Message(failure, reply_to=message)


@lru_cache(maxsize=1)
def _load_clients(path: Path) -> SimulatedClients:
    """Load the clients once in each process."""
    import cloudpickle
    import torch

    torch.set_num_threads(1)
    with path.open("rb") as content:
        simulated: SimulatedClients = cloudpickle.load(content)
    if simulated.home is not None:
        os.environ["HOME"] = simulated.home
    return simulated
