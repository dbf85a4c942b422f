"""Games over a real SuperLink, with SuperNodes as processes of this machine."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from app_variants import plain
from forked_app import settings

from leakgauge.domains.federated.flower_app import transport_apps
from leakgauge.domains.federated.flower_app.client_games import ClientGame
from leakgauge.domains.federated.flower_app.client_process import client_process

pytestmark = pytest.mark.nightly
PROGRAMS = Path(sys.executable).parent
MODULE = """
from pathlib import Path
from leakgauge.domains.federated.flower_app.transport_apps import client_app, server_app

server = server_app(Path({folder!r}))
client = client_app(Path({folder!r}))
"""
PROJECT = """
[project]
name = "audit"
version = "1.0.0"
license = "Apache-2.0"
description = "Games over Flower"

[tool.flwr.app]
publisher = "leakgauge"

[tool.flwr.app.components]
serverapp = "audit_apps:server"
clientapp = "audit_apps:client"
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def superlink_games(folder, used, games):
    """Start a SuperLink and two SuperNodes, submit apps that play the games, and return the answers."""
    transport_apps.write_games(folder, used, games)
    apps = folder / "apps"
    apps.mkdir()
    (apps / "audit_apps.py").write_text(MODULE.format(folder=str(folder)))
    (apps / "pyproject.toml").write_text(PROJECT)
    port, *nodes = free_ports(3)
    (folder / "config.toml").write_text(
        f'[superlink]\ndefault="audit"\n[superlink.audit]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    link = ["flower-superlink", "--insecure", "--disable-runtime-dependency-installation"]
    commands = [[*link, "--host", "127.0.0.1", "--port", str(port)]]
    for number, own in enumerate(nodes):
        node = ["flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{port}", "--port", str(own)]
        commands.append([*node, "--node-config", f"partition-id={number} num-partitions=2"])
    env = {**transport_apps.transport_environment(str(folder)), "PATH": f"{PROGRAMS}:/usr/bin:/bin"}
    with (folder / "stderr.txt").open("wb") as log:
        started = []
        try:
            started.extend(
                subprocess.Popen([PROGRAMS / name, *options], stdout=log, stderr=log, env=env)
                for name, *options in commands
            )
            wait_for_port(port)
            subprocess.run(
                [PROGRAMS / "flwr", "run", apps, "audit"], stdout=log, stderr=log, env=env, timeout=300
            )
            end = time.monotonic() + 300
            while not (folder / transport_apps.ANSWERS_FILE).exists() and time.monotonic() < end:
                time.sleep(0.5)
        finally:
            for process in reversed(started):
                stop(process)
    return transport_apps.read_answers(folder)


def stop(process):
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_port(port, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the SuperLink does not listen")


def test_same_answers_over_a_real_superlink(tmp_path):
    project, _ = plain(tmp_path)
    used = settings(project)
    games = [ClientGame(arrays={}, rows=tuple((1, row) for row in range(48)), seed=seed) for seed in range(3)]
    here = list(client_process(used).play(games))
    for one, other in zip(here, superlink_games(tmp_path, used, games), strict=True):
        for name, array in one.update.items():
            np.testing.assert_array_equal(array, other.update[name])
