"""A dishonest Flower server, which sends crafted networks and averages the answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from time import sleep
from typing import TYPE_CHECKING, TypeAlias

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower.messages import ARRAYS, CONFIG, gradient_in, network_record
from leakgauge.domains.federated.neurons.network import PlantedNetwork
from leakgauge.domains.federated.release import ClientGroups, average_gradients

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.serverapp import Grid, ServerApp

TargetNetworks: TypeAlias = Sequence[PlantedNetwork]  # one for each target
BlockGradients: TypeAlias = list[list[Reals]]  # rounds x targets
MOST_NODES = 64  # the simulation searches all messages once per node
_PAUSE = 0.05  # seconds


@dataclass(frozen=True)
class ClientRequest:
    """A request to one client, given by round, target, iteration, and its place in the group."""

    round: int
    target: int
    iteration: int
    client: int


def client_requests(clients: ClientGroups) -> list[ClientRequest]:
    """Return all requests of a block, ordered by round, target, iteration and client."""
    training, (n_rounds, n_targets) = clients.training, clients.members.shape
    return [
        ClientRequest(*numbers)
        for numbers in product(*map(range, (n_rounds, n_targets, training.iterations, training.clients)))
    ]


def server_app(
    clients: ClientGroups,
    n_nodes: int,
    jobs: Iterator[TargetNetworks],
    done: Callable[[BlockGradients], None],
) -> "ServerApp":
    """Return the server's app: for every list of networks, it asks each client once per iteration."""
    from flwr.serverapp import ServerApp

    def main(grid: "Grid", context: "Context") -> None:  # noqa: ARG001
        while len(nodes := list(grid.get_node_ids())) < n_nodes:
            sleep(_PAUSE)
        for networks in jobs:
            done(_gather(grid, nodes, clients, networks))

    app = ServerApp()
    app.main()(main)
    return app


def _gather(
    grid: "Grid", nodes: list[int], clients: ClientGroups, networks: TargetNetworks
) -> BlockGradients:
    training, (n_rounds, n_targets) = clients.training, clients.members.shape
    answers = iter(_ask(grid, nodes, client_requests(clients), networks))
    return [
        [
            average_gradients(
                [[next(answers) for _ in range(training.clients)] for _ in range(training.iterations)]
            )
            for _ in range(n_targets)
        ]
        for _ in range(n_rounds)
    ]


def _ask(
    grid: "Grid", nodes: list[int], requests: list[ClientRequest], networks: TargetNetworks
) -> Iterator[Reals]:
    """Yield one gradient per request, in order; no node has more than one request at a time."""
    from flwr.app import ConfigRecord, Message, RecordDict

    records = [network_record(network) for network in networks]
    for first in range(0, len(requests), len(nodes)):
        wave = dict(zip(nodes, requests[first : first + len(nodes)]))
        messages = [
            Message(
                content=RecordDict(
                    {
                        ARRAYS: records[request.target],
                        CONFIG: ConfigRecord(
                            {
                                **asdict(request),
                                "chosen": networks[request.target].chosen,
                                "whole": networks[request.target].direction is not None,
                            }
                        ),
                    }
                ),
                message_type="train",
                dst_node_id=node,
            )
            for node, request in wave.items()
        ]
        replies = {reply.metadata.src_node_id: reply for reply in grid.send_and_receive(messages)}
        for node, request in wave.items():
            yield _gradient(replies[node], networks[request.target], request)


def _gradient(reply: "Message", network: PlantedNetwork, request: ClientRequest) -> Reals:
    where = f"the client of round {request.round} and target {request.target}"
    if reply.has_error():
        raise BadInput(f"{where} failed: {' '.join(reply.error.reason.split())}")
    try:
        return gradient_in(reply.content, network)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None
