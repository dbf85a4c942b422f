"""The rows behind a game about models: features in [0, 1], classes, and the groups that rows belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.models.table.sheet import Category, Ints

Rows: TypeAlias = npt.NDArray[np.float32]

ROWS, DUPLICATES, PARTS = range(3)  # blocks of the stream of the data, so that none depends on another


@dataclass(frozen=True, eq=False, kw_only=True)
class Loaded:
    """A whole table; which rows a model is trained on is decided later, by a split."""

    rows: Rows  # one row per record, each feature scaled to [0, 1] over all of them
    labels: Ints  # 0..n_classes - 1
    classes: tuple[str, ...]  # what the file calls them
    names: tuple[str, ...]  # of the features
    digest: str
    groups: Mapping[str, Category] = field(default_factory=dict)  # no feature holds any of them
    notes: tuple[str, ...] = ()  # about the data, for reports: they hold nothing of any row

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise BadInput(f"data: rows of shape {self.rows.shape}; at least one row of one value is needed")
        if self.labels.shape != self.rows.shape[:1]:
            raise BadInput(f"data: {len(self.rows)} rows but {self.labels.size} labels; each row needs one")
        if len(self.names) != self.rows.shape[1]:
            raise BadInput(f"data: {self.rows.shape[1]} features but {len(self.names)} names")
        if not self.n_classes >= 2:
            raise BadInput(
                f"data: all {len(self.rows)} rows have the same label; a model of one class has nothing to "
                "learn, so bring rows of two classes or more"
            )
        wrong = ~np.isfinite(self.rows).all(axis=0)
        if wrong.any():
            raise BadInput(f"data: feature {self.names[int(wrong.argmax())]!r} is not finite in all rows")
        for name, group in self.groups.items():
            if len(group) != len(self) or group.missing.any():
                raise BadInput(f"data: group {name!r} does not have a value for each of {len(self)} rows")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def group(self, name: str, where: str) -> Category:
        """One of the groups; ``where`` begins the message about a name that is none."""
        if not self.groups:
            raise BadInput(f"{where} = {name!r}: the data have no groups; add group = {name!r} to data")
        require(name, list(self.groups), f"{where}: no group of the data (data.group names them)")
        return self.groups[name]
