"""What a plan may say of a network and its training, refused where it makes no sense."""

from typing import Protocol

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.batches import Sampling, Schedule

BATCH = 200  # rows of a batch where a plan does not say


class Training(Protocol):
    """A table that says how networks are trained."""

    @property
    def epochs(self) -> int: ...

    @property
    def batch(self) -> int | None: ...

    @property
    def hidden(self) -> tuple[int, ...]: ...

    @property
    def rate(self) -> float: ...

    @property
    def sampling(self) -> Sampling: ...


def require_trainable(said: Training) -> None:
    """Refuse what no training can do with, whatever its rows."""
    if not said.epochs >= 1:
        raise BadInput(f"epochs must be >= 1, got {said.epochs}")
    if said.batch is not None and not said.batch >= 1:
        raise BadInput(f"batch must be >= 1, got {said.batch}")
    if not all(units >= 1 for units in said.hidden):
        raise BadInput(f"hidden: a layer needs one unit or more, got {list(said.hidden)}")
    if not 0 < said.rate < float("inf"):
        raise BadInput(f"rate must be > 0 and finite, got {said.rate}")


def schedule_of(said: Training, n_rows: int, where: str) -> Schedule:
    """The epochs and batches of a training of so many rows."""
    batch = min(BATCH, n_rows) if said.batch is None else said.batch
    if batch > n_rows:
        raise BadInput(f"{where}.batch: {batch} rows exceed the {n_rows} of a training; lower batch")
    return Schedule(rows=n_rows, batch=batch, epochs=said.epochs, sampling=said.sampling)
