"""The targets of a plan: how many, or by name; shared by all domains that choose targets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class TargetChoice:
    """A number of targets, or their names."""

    n: int | None = None
    names: tuple[str | int, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None and not self.names:
            raise BadInput("names is empty; name a target, or leave it out")
        if self.names and self.n is not None:
            raise BadInput("names already decide who the targets are; leave out n")
        if not self.how_many >= 1:
            raise BadInput(f"n must be >= 1, got {self.n}; an audit needs a target")

    @property
    def how_many(self) -> int:
        return len(self.names or ()) or (1 if self.n is None else self.n)


def expand_targets(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a challenger's table with ``targets = 5`` written as ``targets = { n = 5 }``."""
    targets = table.get("targets")
    is_number = isinstance(targets, int) and not isinstance(targets, bool)
    return {**table, "targets": {"n": targets}} if is_number else table


def rows_by_name(
    names: Sequence[str | int], rows: Mapping[str, int], where: str, unknown: Callable[[str], str]
) -> npt.NDArray[np.int64]:
    """Return the rows with these names, in their order; ``unknown`` gives the message for any other name."""
    texts = list(map(str, names))
    for i, name in enumerate(texts):
        if name not in rows:
            raise BadInput(f"{where}: {unknown(name)}")
        if name in texts[:i]:
            raise BadInput(f"{where}: {name!r} is named twice; remove one")
    return np.array([rows[name] for name in texts], dtype=np.int64)
