"""Workers of a ray cluster: one of this machine, or one at an address."""

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.runner.worker_tasks import Results, Task, TaskMap, pack_task, run_task, unwrap_outcome

_CONNECT_TIMEOUT = 10.0  # seconds


@contextmanager
def open_ray(workers: int, address: str | None) -> Iterator["RayEngine"]:
    """Join the cluster at an address, or start one that listens on loopback only."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no telemetry
    if address is None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # loopback only, on any system
    import ray

    ours = not ray.is_initialized()
    if ours:
        quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False, "configure_logging": True}
        try:
            if address is None:
                ray.init(num_cpus=workers, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
            else:
                _require_listener(address)
                ray.init(address=address, **quiet)
        except Exception as error:  # ray raises it by this name if a part of it does not start in time
            ray.shutdown()  # what has started
            raise BadInput(_why_not_started(error, address)) from None
    try:
        yield RayEngine(max(workers, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if ours:
            ray.shutdown()


def _why_not_started(error: Exception, address: str | None) -> str:
    """What to do where there is no cluster, in one line."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if address is not None:
        return f"no ray cluster answers at {address!r} ({reason}); check --address"
    return (
        f"ray did not start on this machine ({reason}); run again when it is less busy, which keeps what is "
        "done, or use the engine local"
    )


def _require_listener(address: str) -> None:
    """Raise an error if nothing listens at an address; ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT).close()


@dataclass(frozen=True)
class RayEngine:
    """Workers behind ray."""

    workers: int

    def load_task(self, task: Task) -> TaskMap:
        import ray

        packed, header = pack_task(task)
        stored, remote = ray.put(packed), ray.remote(run_task)

        def apply(items: Sequence[Any]) -> Results:
            jobs = iter(enumerate(items))
            pending = [remote.remote(stored, header, *job) for job in islice(jobs, 2 * self.workers)]
            while pending:
                [done], pending = ray.wait(pending, num_returns=1)
                yield unwrap_outcome(ray.get(done))
                if (job := next(jobs, None)) is not None:
                    pending.append(remote.remote(stored, header, *job))

        return apply
