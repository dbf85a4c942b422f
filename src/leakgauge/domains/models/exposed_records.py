"""The records whose exposure is computed, and how models are trained on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.models.data.dataset import CategoricalColumn
from leakgauge.domains.models.training.trainer import Classifier, Examples, PreparedTrainer

LABEL = "label"  # the group of records with the same true class
_SHARES = (0.25, 0.75)  # of all records, in one shadow model


@dataclass(frozen=True, eq=False)
class ImportedShadows:
    """Models that were trained elsewhere, and the records that each was trained on."""

    models: tuple[Classifier, ...]
    included: Bits  # shadows x records


@dataclass(frozen=True, eq=False, kw_only=True)
class ExposedRecords:
    """The records of an audit, how models are trained on them, and the finished model where there is one."""

    examples: Examples
    names: npt.NDArray[np.str_]
    trainer: PreparedTrainer | None  # None: shadows were trained elsewhere
    n_members: int  # of the released model
    n_shadows: int
    seed: int
    class_names: tuple[str, ...]
    features: npt.NDArray[Any] | None  # rows that can be compared by their distance
    groups: Mapping[str, CategoricalColumn] = field(default_factory=dict)
    released: Classifier | None = None
    imported: ImportedShadows | None = None
    chosen: Ints | None = None  # records whose exposure is stated; None: all

    @property
    def share(self) -> float:
        """The share of shadow models that each record is in, on average where they were trained elsewhere."""
        if self.imported is not None:
            return float(self.imported.included.mean())
        return float(np.clip(self.n_members / len(self.examples), *_SHARES))


@runtime_checkable
class HasExposedRecords(Protocol):
    """A challenger whose training can be repeated on any of its records."""

    def exposed_records(self) -> ExposedRecords: ...
