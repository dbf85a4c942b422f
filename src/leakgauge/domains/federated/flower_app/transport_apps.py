"""Games over Flower's own transport: apps that send the same messages, and the user's client behind them."""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from logging import CRITICAL
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app import flower_internals as internals
from leakgauge.domains.federated.flower_app.client_games import AppSettings, ClientAnswer, ClientGame, Failure
from leakgauge.domains.federated.flower_app.client_runner import AppRunner, answer_in

GAMES_FILE, ANSWERS_FILE = "games.pickle", "answers.pickle"
_RECORD, _KEY = "leakgauge", "game"
_PROGRAM = "from leakgauge.domains.federated.flower_app.transport_apps import main; main()"
_START_SECONDS = 180.0
_OBJECT_STORE = 256 * 2**20  # bytes
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only, on any system
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True, eq=False)
class TransportedGames:
    """What the apps are to play."""

    settings: AppSettings
    games: tuple[ClientGame, ...]


def simulate_games(settings: AppSettings, games: Sequence[ClientGame]) -> list[ClientAnswer]:
    """Play games in Flower's simulation, in a process of its own, and return the answers."""
    with TemporaryDirectory(prefix="leakgauge-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        write_games(path, settings, games)
        (path / "ray_bootstrap_config.yaml").write_bytes(b"{}\n")  # else Ray asks the network where it runs
        with (path / "stderr.txt").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, folder],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=transport_environment(folder),
                start_new_session=True,
            )
        try:
            process.wait(_START_SECONDS + settings.timeout * len(games))
        except subprocess.TimeoutExpired:
            raise BadInput(
                "challenger.app: Flower's simulation did not end; raise challenger.timeout"
            ) from None
        finally:
            process.kill()
            process.wait()
        return read_answers(path)


def transport_environment(folder: str) -> dict[str, str]:
    """Return our environment, with the files of Flower and Ray in a folder."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    places = dict.fromkeys(("FLWR_HOME", "HOME", "TMPDIR"), folder)
    return {**ours, **_QUIET, **places, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def write_games(folder: Path, settings: AppSettings, games: Sequence[ClientGame]) -> None:
    """Write what the apps of a folder are to play."""
    (folder / GAMES_FILE).write_bytes(pickle.dumps(TransportedGames(settings, tuple(games))))


def read_answers(folder: Path) -> list[ClientAnswer]:
    """Read what they wrote; refuse what went wrong."""
    path = folder / ANSWERS_FILE
    if not path.exists():
        lines = (folder / "stderr.txt").read_text("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        raise BadInput(f"challenger.app: Flower stopped without an answer ({last[:200]})")
    answers: list[ClientAnswer] | Failure = pickle.loads(path.read_bytes())
    if isinstance(answers, Failure):
        raise BadInput(f"challenger.app: over Flower, {answers.text}")
    return answers


def main() -> None:
    """Run the simulation for one folder."""
    from flwr.simulation import run_simulation

    folder = Path(sys.argv[1])
    ray = {
        "address": "local",
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE,
        "logging_level": CRITICAL,
        "log_to_driver": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": str(folder),
    }
    run_simulation(
        server_app(folder),
        client_app(folder),
        num_supernodes=1,
        backend_config={"init_args": ray, "client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
    os._exit(0)


def client_app(folder: Path) -> Any:
    """Return an app that loads the user's app where it runs, and lets it handle the message."""
    from flwr.app import Error, Message
    from flwr.clientapp import ClientApp

    def train(message: Any, context: Any) -> Any:  # noqa: ARG001
        game: ClientGame = pickle.loads(message.content.config_records[_RECORD][_KEY])
        del message.content[_RECORD]
        try:
            return _runner(folder).reply(message, game)
        except BadInput as error:
            return Message(Error(code=2, reason=str(error)), reply_to=message)

    app = ClientApp()
    app.train()(train)
    return app


@lru_cache(maxsize=1)
def _runner(folder: Path) -> AppRunner:
    """Load the user's app once in each process of Flower."""
    import torch

    torch.set_num_threads(1)
    played: TransportedGames = pickle.loads((folder / GAMES_FILE).read_bytes())
    with internals.kept_task_identity():
        runner = AppRunner(played.settings, network=True)
        runner.describe()
    return runner


def server_app(folder: Path) -> Any:
    """Return an app that sends every game to a client, and writes the answers."""
    from flwr.serverapp import ServerApp

    def serve(grid: Any, context: Any) -> None:  # noqa: ARG001
        while not (nodes := list(grid.get_node_ids())):
            sleep(0.05)
        try:
            answers: Any = [
                _answer(grid, nodes[number % len(nodes)], game, folder)
                for number, game in enumerate(_played(folder).games)
            ]
        except BadInput as error:
            answers = Failure(str(error).removeprefix("challenger.app: "))
        partial = folder / f"{ANSWERS_FILE}.part"
        partial.write_bytes(pickle.dumps(answers))
        partial.rename(folder / ANSWERS_FILE)

    app = ServerApp()
    app.main()(serve)
    return app


def _played(folder: Path) -> TransportedGames:
    return pickle.loads((folder / GAMES_FILE).read_bytes())


def _answer(grid: Any, node: int, game: ClientGame, folder: Path) -> ClientAnswer:
    from flwr.app import ConfigRecord, Message, RecordDict

    content = internals.message_with_arrays(_template(folder), game.arrays).content
    told = ConfigRecord({_KEY: pickle.dumps(replace(game, arrays={}))})
    message = Message(RecordDict({**content, _RECORD: told}), node, "train")
    (reply,) = grid.send_and_receive([message])
    return answer_in(reply, message)


@lru_cache(maxsize=1)
def _template(folder: Path) -> Any:
    """The first message of the user's own server, recorded where this server runs."""
    with internals.kept_task_identity():
        return AppRunner(_played(folder).settings, network=True).template
