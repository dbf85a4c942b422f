"""Workers: in this process, in local processes, in a dask cluster, in a ray cluster.

An engine gets a function once and then items; it yields results with the positions of their items, in the
order in which they arrive. The results do not depend on the engine.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from warnings import catch_warnings, filterwarnings, simplefilter

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.runner.worker_tasks import (
    Results,
    Task,
    TaskMap,
    pack_item,
    pack_task,
    run_packed_item,
    unwrap_outcome,
)
from leakgauge.support.progress import relay_worker_progress, report_progress
from leakgauge.support.table_reader import convert_value
from leakgauge.support.threads import single_threaded

ENGINES = ("local", "dask", "ray")
_WORKER_REPLACED = "A worker stopped while some jobs"  # loky replaces workers that use much memory
_WORKERS_PER_CORE = 4  # on this machine; more only take memory from each other
_MOST_DEATHS = 3  # times in a row that a worker may be killed before an item is done
_KILLED_WORKERS = (
    f"a worker process was killed {_MOST_DEATHS} times in a row, perhaps because memory ran out; use "
    "fewer workers"
)


class Engine(Protocol):
    """Workers that apply a function to items."""

    @property
    def workers(self) -> int: ...

    def load_task(self, task: Task) -> TaskMap:
        """Send a function to the workers once; return what applies it to items."""
        ...


def map_in_order(engine: Engine, task: Task, items: Sequence[Any]) -> list[Any]:
    """Apply a function to items and return the results in their order."""
    results = dict(engine.load_task(task)(items))
    return [results[position] for position in range(len(items))]


def check_engine(name: str, workers: int, address: str | None) -> None:
    """Refuse an engine that could not be opened, before anything is written."""
    if name not in ENGINES:
        raise BadInput(f"no engine is called {name!r}; known: {', '.join(ENGINES)}")
    if not convert_value(int, workers, "workers") >= 1:
        raise BadInput(f"workers must be >= 1, got {workers}; 1 is no parallel work")
    if name == "local" and workers > (most := _WORKERS_PER_CORE * _cores()):
        raise BadInput(f"workers = {workers}: this machine has {_cores()} cores; write at most {most}")
    convert_value(str | None, address, "address")
    if name == "local" and address is not None:
        raise BadInput(
            f"address {address!r}: the local engine has none; choose the engine dask or ray, or leave it out"
        )
    if name != "local" and find_spec({"dask": "distributed", "ray": "ray"}[name]) is None:
        raise BadInput(f"engine {name!r} is not installed; run: pip install 'leakgauge[distributed]'")


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_engine(name: str = "local", workers: int = 1, address: str | None = None) -> Iterator[Engine]:
    """Start workers, or join a cluster, when first needed; stop at the end what was started here."""
    check_engine(name, workers, address)
    with ExitStack() as stack:
        yield _LazyEngine(workers, lambda: stack.enter_context(_open(name, workers, address)))


@contextmanager
def _open(name: str, workers: int, address: str | None) -> Iterator[Engine]:
    match name:
        case "dask":
            from leakgauge.runner.dask_engine import open_dask

            with open_dask(workers, address) as engine:
                yield engine
        case "ray":
            from leakgauge.runner.ray_engine import open_ray

            with open_ray(workers, address) as engine:
                yield engine
        case _:
            yield InProcessEngine() if workers == 1 else ProcessEngine(workers)


@dataclass(frozen=True)
class _LazyEngine:
    """An engine that is opened at its first use."""

    workers: int
    opening: Callable[[], Engine]

    @cached_property
    def engine(self) -> Engine:
        return self.opening()

    def load_task(self, task: Task) -> TaskMap:
        return self.engine.load_task(task)


@dataclass(frozen=True)
class InProcessEngine:
    """No workers: everything runs in this process."""

    workers: int = 1

    def load_task(self, task: Task) -> TaskMap:
        def apply(items: Sequence[Any]) -> Results:
            for position, item in enumerate(items):
                with single_threaded():
                    result = task(item)
                yield position, result

        return apply


@dataclass(frozen=True)
class ProcessEngine:
    """Processes on this machine, run by joblib and loky.

    Where one is killed, for example because memory ran out, new ones are started and what was lost is run
    again.
    """

    workers: int

    def load_task(self, task: Task) -> TaskMap:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        packed_task = pack_task(task)

        def run_jobs(
            positions: list[int], items: Sequence[Any], progress_file: Path
        ) -> Generator[tuple[int, Any], None, None]:
            parallel = Parallel(self.workers, backend="loky", return_as="generator_unordered", batch_size=1)
            outcomes = parallel(
                delayed(run_packed_item)(*packed_task, position, pack_item(items[position]), progress_file)
                for position in positions
            )
            try:
                yield from map(unwrap_outcome, outcomes)
            finally:
                _close_quietly(outcomes)

        def apply(items: Sequence[Any]) -> Results:
            filterwarnings("ignore", _WORKER_REPLACED, UserWarning)
            left, deaths = dict.fromkeys(range(len(items))), 0
            with relay_worker_progress() as progress_file:
                while left:
                    try:
                        with closing(run_jobs(list(left), items, progress_file)) as results:
                            for position, result in results:
                                del left[position]
                                deaths = 0
                                yield position, result
                    except BrokenProcessPool:
                        deaths += 1
                        if deaths == _MOST_DEATHS:
                            raise IncompleteRun(_KILLED_WORKERS) from None
                        report_progress("a worker was killed; another one takes over")

        return apply


def _close_quietly(outcomes: Generator[Any, None, None]) -> None:
    """Cancel what is left after an error; joblib warns of it, and again if another thread does so later."""
    with catch_warnings():
        simplefilter("ignore", UserWarning)
        outcomes.close()
