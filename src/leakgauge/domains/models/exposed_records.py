"""The records whose exposure is computed, and how models are trained on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from leakgauge.domains.models.data.dataset import CategoricalColumn
from leakgauge.domains.models.training.trainer import Classifier, Examples, PreparedTrainer

_SHARES = (0.25, 0.75)  # of all records, in one shadow model


@dataclass(frozen=True, eq=False, kw_only=True)
class ExposedRecords:
    """The records of an audit, how models are trained on them, and the finished model where there is one."""

    examples: Examples
    names: npt.NDArray[np.str_]
    trainer: PreparedTrainer
    n_members: int  # of the released model
    n_shadows: int
    seed: int
    class_names: tuple[str, ...]
    features: npt.NDArray[Any] | None  # rows that can be compared by their distance
    groups: Mapping[str, CategoricalColumn] = field(default_factory=dict)
    released: Classifier | None = None

    @property
    def share(self) -> float:
        """The share of shadow models that each record is in."""
        return float(np.clip(self.n_members / len(self.examples), *_SHARES))


@runtime_checkable
class HasExposedRecords(Protocol):
    """A challenger whose training can be repeated on any of its records."""

    def exposed_records(self) -> ExposedRecords: ...
