import os
import signal
import subprocess
import sys
import time
from ipaddress import ip_address
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_limits

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.runner import engines
from leakgauge.runner.engines import check_engine, map_in_order, open_engine
from leakgauge.runner.ray_engine import open_ray
from leakgauge.runner.worker_tasks import WorkerError
from leakgauge.support.parallel import parallel_map, use_parallel_map

LOCAL = [("local", 1), ("local", 2)]
CLUSTERS = [pytest.param("dask", 2), pytest.param("ray", 2)]


def threads_seen(_):
    """How many threads linear algebra may use, and what a library loaded now would be told."""
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info()], os.environ["OMP_NUM_THREADS"]


def fails(item):
    if item == 3:
        raise ZeroDivisionError("item three")
    return item


def refuses(item):
    raise BadInput(f"no {item} here")


@pytest.mark.parametrize(("name", "workers"), [*LOCAL, *CLUSTERS])
def test_engine_contract(name, workers, monkeypatch):
    """One engine start serves all that is asked of an engine: starting a cluster takes seconds."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(variable, "2")  # which workers must not inherit
    weights = np.arange(300_000)  # more than a megabyte, so that it is shared rather than copied

    def weigh(item):
        return int(weights[item])

    with threadpool_limits(limits=2), open_engine(name, workers) as engine:
        assert map_in_order(engine, weigh, range(7)) == list(range(7))
        crew = engine.load_task(weigh)
        assert sorted(crew([5, 6])) == [(0, 5), (1, 6)]
        assert sorted(crew([8])) == [(0, 8)]
        assert list(crew([])) == []
        for pools, told in map_in_order(engine, threads_seen, [0, 1]):
            assert pools
            assert set(pools) == {1}
            assert told == "1"
        with pytest.raises(BadInput, match="no cat here"):
            map_in_order(engine, refuses, ["cat"])
        error = WorkerError if workers > 1 else ZeroDivisionError
        with pytest.raises(error, match="item three"):
            map_in_order(engine, fails, [1, 2, 3])
        assert map_in_order(engine, weigh, [4]) == [4], "an engine survives an error"
        assert strangers_may_call() == []
    assert "raylet" not in {process.name() for process in psutil.Process().children(recursive=True)}


def strangers_may_call():
    """Return where this process and its children listen, other than on loopback."""
    here = psutil.Process()
    found = [
        connection.laddr.ip.removeprefix("::ffff:")
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    return [address for address in found if not ip_address(address).is_loopback]


def test_worker_error_keeps_its_traceback():
    with open_engine("local", 2) as engine, pytest.raises(WorkerError) as caught:
        map_in_order(engine, fails, [3])
    assert str(caught.value) == "ZeroDivisionError: item three"
    assert "in fails" in caught.value.__notes__[0]


def test_killed_worker_is_replaced(tmp_path):
    """Each item that is a multiple of three kills its worker the first time."""

    def dies_once(item):
        mark = tmp_path / f"{item}"
        if item % 3 == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item, os.getpid()

    with open_engine("local", 2) as engine:
        found = map_in_order(engine, dies_once, range(8))
    assert [item for item, _ in found] == list(range(8))
    assert os.getpid() not in {pid for _, pid in found}
    assert len(list(tmp_path.iterdir())) == 3


def test_worker_killed_again_and_again_stops_the_work(tmp_path):
    """Items that are done before are not lost; the engine can be used again afterwards."""

    def dies_on_four(item):
        with (tmp_path / f"{item}").open("a") as tries:
            tries.write("x")
        if item == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with open_engine("local", 2) as engine:
        crew, found = engine.load_task(dies_on_four), []
        with pytest.raises(IncompleteRun, match=r"killed 3 times in a row, .*; use fewer workers"):
            found.extend(crew([4]))
        assert (tmp_path / "4").read_text() == "xxx"
        assert sorted(crew([1, 2])) == [(0, 1), (1, 2)]


def test_parallel_map_reaches_the_workers():
    with (
        open_engine("local", 2) as engine,
        use_parallel_map(lambda task, items: map_in_order(engine, task, items)),
    ):
        assert os.getpid() not in parallel_map(lambda _: os.getpid(), range(4))


def test_workers_start_lazily(monkeypatch):
    monkeypatch.setattr(engines, "_open", lambda *_: pytest.fail("started"))
    with open_engine("local", 2) as engine:
        assert engine.workers == 2


@pytest.mark.parametrize(
    ("engine", "workers", "address", "message"),
    [
        ("spark", 1, None, "no engine is called 'spark'; known: local, dask, ray"),
        ("local", 0, None, "workers must be >= 1, got 0"),
        ("local", 1, "tcp://h:1", "the local engine has none"),
    ],
)
def test_rejects_invalid_engines(engine, workers, address, message):
    with pytest.raises(BadInput, match=message):
        engines.check_engine(engine, workers, address)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_missing_extra_is_reported(name, monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"pip install 'leakgauge\[distributed\]'"):
        engines.check_engine(name, 2, None)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Exception("The current node timed out during startup.\nSee the logs."), "timed out during startup"),
        (RuntimeError(), "RuntimeError"),
        (TimeoutError("timed out"), "timed out"),
    ],
)
def test_ray_that_does_not_start_is_said_in_one_line(monkeypatch, error, reason):
    """Ray raises a plain Exception, which is no fault of leakgauge."""

    def fail(**_):
        raise error

    stopped = []
    fake = SimpleNamespace(is_initialized=lambda: False, init=fail, shutdown=lambda: stopped.append(True))
    monkeypatch.setitem(sys.modules, "ray", fake)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.setenv(name, "0")  # set by the engine, and restored afterwards
    words = f"ray did not start on this machine .*{reason}.*engine local"
    with pytest.raises(BadInput, match=words) as found, open_ray(2, None):
        pytest.fail("it started")
    assert "\n" not in str(found.value)
    assert stopped == [True]


@pytest.mark.parametrize(("name", "address"), [("dask", "tcp://127.0.0.1:9"), ("ray", "127.0.0.1:9")])
def test_unreachable_cluster_is_bad_input(name, address, monkeypatch):
    monkeypatch.setattr("leakgauge.runner.dask_engine._TIMEOUT", "1s")
    with pytest.raises(BadInput, match="check --address"), open_engine(name, 2, address) as engine:
        engine.load_task(fails)


WORK_AND_SLEEP = """
import os, pathlib, sys, time
from leakgauge.runner.engines import map_in_order, open_engine

def sleep(item):
    pathlib.Path(sys.argv[1], str(item)).write_text(str(os.getpid()))
    time.sleep(600)

with open_engine("local", 2) as engine:
    map_in_order(engine, sleep, range(2))
"""


def test_no_worker_outlives_a_process_that_was_killed(tmp_path):
    code = WORK_AND_SLEEP.replace("sys.argv[1]", repr(str(tmp_path)))
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    wait_for(lambda: len([path for path in tmp_path.iterdir() if path.read_text()]) == 2)
    workers = [psutil.Process(int(path.read_text())) for path in tmp_path.iterdir()]
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(map(works, workers)))


def works(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, patience=120):
    """Wait until it holds; a process that hangs fails the test."""
    for _ in range(patience * 20):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it did not happen")


def test_far_more_workers_than_cores_are_refused():
    most = 4 * len(os.sched_getaffinity(0))
    with pytest.raises(BadInput, match=f"workers = {most + 1}: this machine has .* cores; .* {most}"):
        check_engine("local", most + 1, None)
    check_engine("local", most, None)
    check_engine("dask", most + 1, None)
