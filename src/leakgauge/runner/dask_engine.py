"""Workers of a dask cluster: one of this machine, or one at an address."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.runner.worker_tasks import Results, Task, TaskMap, pack_task, run_task, unwrap_outcome

_TIMEOUT = "20s"


@contextmanager
def open_dask(workers: int, address: str | None) -> Iterator["DaskEngine"]:
    """Join the cluster at an address, or start one that listens on loopback only."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        if address is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    memory_limit=0,  # otherwise it would write data to disk when memory runs short
                    silence_logs=logging.CRITICAL,
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout=_TIMEOUT))
        except (OSError, ValueError) as error:
            raise BadInput(f"no dask scheduler answers at {address!r} ({error}); check --address") from None
        yield DaskEngine(client, max(workers, sum(client.nthreads().values())))


@dataclass(frozen=True)
class DaskEngine:
    """Workers behind a dask client."""

    client: Any
    workers: int

    def load_task(self, task: Task) -> TaskMap:
        from distributed import as_completed

        packed, header = pack_task(task)
        stored = self.client.scatter(
            packed, hash=False
        )  # a key of its own, so that no other client releases it

        def submit(job: tuple[int, Any]) -> Any:
            return self.client.submit(run_task, stored, header, *job, pure=False)

        def apply(items: Sequence[Any]) -> Results:
            jobs = iter(enumerate(items))
            pending = as_completed([submit(job) for job in islice(jobs, 2 * self.workers)])
            for future in pending:
                yield unwrap_outcome(future.result())
                if (job := next(jobs, None)) is not None:
                    pending.add(submit(job))

        return apply
