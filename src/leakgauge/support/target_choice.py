"""Whose membership is in question, as a plan says it: what all domains that choose targets share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class TargetChoice:
    """So many targets, or those of some ``names``."""

    n: int | None = None
    names: tuple[str | int, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None and not self.names:
            raise BadInput("names is empty; name somebody, or leave it out")
        if self.names and self.n is not None:
            raise BadInput("names say who the targets are; leave out n")
        if not self.how_many >= 1:
            raise BadInput(f"n must be >= 1, got {self.n}; there is no game without a target")

    @property
    def how_many(self) -> int:
        return len(self.names or ()) or (1 if self.n is None else self.n)


def expand_targets(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A challenger's table in which ``targets = 5`` is written ``targets = { n = 5 }``."""
    said = table.get("targets")
    short = isinstance(said, int) and not isinstance(said, bool)
    return {**table, "targets": {"n": said}} if short else table


def rows_by_name(
    names: Sequence[str | int], rows: Mapping[str, int], where: str, stranger: Callable[[str], str]
) -> npt.NDArray[np.int64]:
    """The rows of those with some names, in that order; ``stranger`` says what is wrong with other names."""
    called = list(map(str, names))
    for i, name in enumerate(called):
        if name not in rows:
            raise BadInput(f"{where}: {stranger(name)}")
        if name in called[:i]:
            raise BadInput(f"{where}: {name!r} is named twice; remove one")
    return np.array([rows[name] for name in called], dtype=np.int64)
