"""The process that runs Flower's simulation for one block, separate from the audit's process."""

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from logging import CRITICAL
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from threading import Lock, Thread
from typing import IO, Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower.client_app import SimulatedClients, client_app
from leakgauge.domains.federated.flower.server_app import (
    MOST_NODES,
    TargetNetworks,
    client_requests,
    server_app,
)

CLIENTS_FILE = "clients.pickle"
_STORE = 256 * 2**20  # bytes, for messages in transit
_exit_lock = Lock()


def main() -> None:
    """Answer requests: networks arrive on standard input, gradients go to standard output.

    Messages of Flower and Ray go to standard error.
    """
    folder, jobs = Path(sys.argv[1]), SimpleQueue[TargetNetworks]()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def done(answer: Any) -> None:
        pickle.dump(answer, out)
        out.flush()

    Thread(target=_listen, args=(sys.stdin.buffer, jobs, folder), daemon=True).start()
    try:
        _simulate(folder, iter(jobs.get, None), done)
    except BaseException as error:
        with suppress(BrokenPipeError):
            done(error if isinstance(error, BadInput) else f"{type(error).__name__}: {error}")
    _exit_process(folder)


def _listen(source: IO[bytes], jobs: "SimpleQueue[TargetNetworks]", folder: Path) -> None:
    """Queue jobs until the audit closes its end of the pipe."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            jobs.put(pickle.load(source))
    _exit_process(folder)


def _simulate(folder: Path, jobs: Iterator[TargetNetworks], done: Any) -> None:
    from flwr.simulation import run_simulation

    with (folder / CLIENTS_FILE).open("rb") as content:
        simulated: SimulatedClients = pickle.load(content)
    n_nodes = min(len(client_requests(simulated.clients)), MOST_NODES)
    ray = {
        "address": "local",
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": _STORE,
        "logging_level": CRITICAL,
        "log_to_driver": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": str(folder),
    }
    run_simulation(
        server_app(simulated.clients, n_nodes, jobs, done),
        client_app(folder / CLIENTS_FILE),
        num_supernodes=n_nodes,
        backend_config={"init_args": ray, "client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )


def _exit_process(folder: Path) -> None:
    """End this process and all that Ray started, even if threads of Flower wait for messages.

    Only the first caller gets past the lock. The folder is removed because it holds the clients' rows.
    """
    _exit_lock.acquire()
    try:
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()
    finally:
        rmtree(folder, ignore_errors=True)
        os._exit(0)
