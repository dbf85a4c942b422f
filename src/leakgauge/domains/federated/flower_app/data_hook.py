"""Put chosen rows where the user's app loads its data, by a hook on the function that loads them."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import RowKey
from leakgauge.domains.federated.flower_app.training_rows import TrainingRows
from leakgauge.support.user_code import UserCodeLoader, error_with_location, split_reference

WAY_OUT = 'write inject = "mine:function", a function of your own that gives the rows to the app'


class _Collected(BaseException):
    """Ends a client once the rows of its partition are known."""


class ChosenRows:
    """A map-style dataset of rows from several datasets, each fetched as the app itself would fetch it.

    It has ``__getitems__`` too, because loaders prefer it. Everything else is asked of the app's own dataset.
    """

    def __init__(
        self, rows: Sequence[tuple[Any, int]], original: Any, watcher: TrainingRows | None = None
    ) -> None:
        self._rows, self._original, self._watcher = rows, original, watcher
        self.fetched: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: Any) -> Any:
        number = int(position)
        self.fetched.append(number)
        source, row = self._rows[number]
        item = source[row]
        if self._watcher is not None:
            self._watcher.note_read(number, item)
        return item

    def __getitems__(self, positions: Sequence[int]) -> list[Any]:
        return [self[position] for position in positions]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._original, name)


@dataclass(eq=False)
class DataHook:
    """Stands in for the app's function that loads data; ``rows`` are those of the present game."""

    name: str
    inject: Callable[..., Any] | None = None
    rows: Sequence[RowKey] | None = None
    collects: bool = False
    calls: int = 0
    sources: dict[int, Any] = field(default_factory=dict)  # the datasets of the partitions
    current: ChosenRows | None = None
    watcher: TrainingRows | None = None  # of the present game
    worker_processes: int = 0
    _original: Callable[..., Any] | None = None

    def install(self, module: str, path: Sequence[str]) -> None:
        """Replace the function in its module, and by identity wherever it was imported already."""
        owner: Any = import_module(module)
        for part in path[:-1]:
            owner = getattr(owner, part)
        original = inspect.getattr_static(owner, path[-1])
        static = isinstance(original, staticmethod)
        self._original = original.__func__ if static else original
        if not callable(self._original):
            raise BadInput(f"challenger.data_hook: {self.name} is no function")
        hook = self._hook()
        setattr(owner, path[-1], staticmethod(hook) if static else hook)
        for loaded in list(sys.modules.values()):
            for name, value in list(getattr(loaded, "__dict__", {}).items()):
                if value is self._original and loaded is not sys.modules[__name__]:
                    setattr(loaded, name, hook)

    def _hook(self) -> Callable[..., Any]:
        def load(*arguments: Any, **said: Any) -> Any:
            return self(*arguments, **said)

        return load

    def __call__(self, *arguments: Any, **said: Any) -> Any:
        """Load data for the app: its own, or the rows of the present game in their place."""
        assert self._original is not None
        self.calls += 1
        if self.inject is not None:
            return self._injected(self.inject, arguments, said)
        loaded = self._original(*arguments, **said)
        if self.collects:
            self._collect(_dataset_in(loaded, self.name)[1])
        return loaded if self.rows is None else self._replaced(loaded)

    def _injected(self, inject: Callable[..., Any], arguments: Any, said: Any) -> Any:
        if self.collects or self.rows is None:
            rows = inject(None, *arguments, **said)
            if not (hasattr(rows, "__getitem__") and hasattr(rows, "__len__")):
                raise BadInput(
                    f"challenger.inject: returned {type(rows).__name__} for rows = None; return the rows of "
                    "the partition, as a dataset or a list"
                )
            if self.collects:
                self._collect(rows)
            return inject(rows, *arguments, **said)
        self.current = self._chosen(None)
        return inject(self.current, *arguments, **said)

    def _collect(self, dataset: Any) -> None:
        self.sources[-1] = dataset
        raise _Collected

    def _chosen(self, original: Any) -> ChosenRows:
        assert self.rows is not None
        rows = [(self.sources[partition], row) for partition, row in self.rows]
        return ChosenRows(rows, original, self.watcher)

    def _replaced(self, loaded: Any) -> Any:
        """What the app loaded, with the rows of the game in its first loader or dataset."""
        assert self.rows is not None
        holder, dataset = _dataset_in(loaded, self.name)
        self.current = self._chosen(dataset)
        if len(dataset) != len(self.rows):
            raise BadInput(
                f"{self.name} gave {len(dataset)} rows where it gave {len(self.rows)} before; {WAY_OUT}"
            )
        if holder is None:
            return _with_first(loaded, dataset, self.current)
        self.worker_processes = max(self.worker_processes, holder.num_workers)
        vars(holder).update(dataset=self.current, num_workers=0, prefetch_factor=None)
        vars(holder)["persistent_workers"] = False
        return loaded

    def collect(self, partition: int, run: Callable[[], Any]) -> int:
        """Let a client load its partition; return the number of its rows."""
        self.collects, self.calls = True, 0
        try:
            run()
        except _Collected:
            pass
        finally:
            self.collects = False
        if -1 not in self.sources:
            raise BadInput(
                f"the client never called {self.name}, though it was sent a message to train; name the "
                "function that it calls to load its data"
            )
        self.sources[partition] = self.sources.pop(-1)
        return len(self.sources[partition])


def _dataset_in(loaded: Any, name: str) -> tuple[Any, Any]:
    """The first loader in what a function returned, if there is one, and the dataset behind it."""
    from torch.utils.data import DataLoader, Dataset, IterableDataset

    parts = list(_parts(loaded))
    loaders = [part for part in parts if isinstance(part, DataLoader)]
    datasets = [loader.dataset for loader in loaders] or [part for part in parts if isinstance(part, Dataset)]
    if not datasets:
        found = ", ".join(type(part).__name__ for part in parts)
        raise BadInput(f"{name} returned {found}, and no DataLoader or Dataset of torch; {WAY_OUT}")
    if isinstance(datasets[0], IterableDataset):
        raise BadInput(f"{name} returned an IterableDataset, whose rows have no places; {WAY_OUT}")
    return (loaders[0] if loaders else None), datasets[0]


def _parts(loaded: Any) -> Sequence[Any]:
    if isinstance(loaded, Mapping):
        return list(loaded.values())
    return loaded if isinstance(loaded, tuple | list) else [loaded]


def _with_first(loaded: Any, old: Any, new: Any) -> Any:
    if isinstance(loaded, Mapping):
        return {name: new if part is old else part for name, part in loaded.items()}
    return type(loaded)(new if part is old else part for part in loaded) if _is_list(loaded) else new


def _is_list(loaded: Any) -> bool:
    return type(loaded) in (tuple, list)


def hook_place(reference: str, project: Path, client_module: str) -> tuple[str, list[str]]:
    """Return the module and the path in it that "module:name" means: in the project, or beside its client."""
    parts = split_reference(reference)
    if parts is None:
        raise BadInput(f'challenger.data_hook: must be written "module:name", got {reference!r}')
    module, path = parts
    package = client_module.rpartition(".")[0]
    for name in (module, *([f"{package}.{module}"] if package else [])):
        stem = project.joinpath(*name.split("."))
        if not (stem.with_name(f"{stem.name}.py").is_file() or (stem / "__init__.py").is_file()):
            continue
        value: Any = import_module(name)
        for part in path.split("."):
            if not hasattr(value, part):
                raise BadInput(f"challenger.data_hook: {name} has no {path!r}; check the spelling")
            value = getattr(value, part)
        return name, path.split(".")
    raise BadInput(
        f"challenger.data_hook: there is no {module.replace('.', '/')}.py in {project}"
        + (f" or in its package {package}" if package else "")
    )


def load_inject(reference: str, folder: Path) -> Callable[..., Any]:
    """Load the function of the user's own that gives rows to the app."""
    try:
        function: Callable[..., Any] = UserCodeLoader(folder).load(reference, "challenger.inject")
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"challenger.inject: {error_with_location(error)}") from None
    if not callable(function):
        raise BadInput(f"challenger.inject: {reference} must be a function, got {type(function).__name__}")
    return function
