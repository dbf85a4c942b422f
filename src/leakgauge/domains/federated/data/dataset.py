"""The rows of an audit as read from a file, and the features that clients and attacker compute."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.data.featurizers import Featurizer, Floats, IdentityFeaturizer, RawRows
from leakgauge.support.cache import RecentCache

Ints: TypeAlias = npt.NDArray[np.int64]

ROWS, PARTS, WEIGHTS, UTILITY = range(4)  # blocks of the data stream, one per purpose


@dataclass(frozen=True, eq=False, kw_only=True)
class FederatedDataset:
    """Rows and their classes; features are computed once the attacker's rows are known, to fit on these."""

    rows: RawRows  # one row per record; embeddings, or the pixels of an image
    labels: Ints  # 0..n_classes - 1
    classes: tuple[str, ...]  # their names in the file
    digest: str
    seed: int  # of random features
    featurizer: Featurizer = field(default_factory=IdentityFeaturizer)
    scale: float = 1.0
    non_negative: bool = False
    is_train: Bits | None = None  # rows that the model behind the embeddings was trained on
    given: Bits | None = None  # the attacker's rows, if they come from a second file
    notes: tuple[str, ...] = ()  # about the data, for reports; they contain no values of rows
    _cache: RecentCache[Floats] = field(default_factory=RecentCache, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise BadInput(
                f"data: rows have shape {self.rows.shape}; at least one row of one value is needed"
            )
        if self.labels.shape != self.rows.shape[:1]:
            raise BadInput(f"data: {len(self.rows)} rows but {self.labels.size} labels; each row needs one")
        if self.is_train is not None and self.is_train.shape != self.labels.shape:
            raise BadInput(
                f"data: {self.is_train.size} training flags for {len(self.rows)} rows; each row needs one"
            )
        if not self.n_classes >= 2:
            raise BadInput(
                f"data: all {len(self.rows)} rows have the same label; a model of one class has no gradient; "
                "add rows of a second class"
            )
        _require_finite(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def features(self, reference: Ints) -> Floats:
        """Return the features of all rows, fitted on the ``reference`` rows alone.

        The last results are cached and read-only, so that the audits of a sweep share them.
        """
        return self._cache.once(reference.tobytes(), lambda: self._features(reference))

    def notes_on(self, features: Floats) -> tuple[str, ...]:
        """Return the notes on the data and on how these features were made."""
        made = self.featurizer.note(features.shape[1])
        return self.notes if made is None else (*self.notes, made)

    def _features(self, reference: Ints) -> Floats:
        if not reference.size >= 2:
            raise BadInput(f"data: features are fitted on {reference.size} reference rows; 2 are needed")
        made = self.featurizer.fit(self.rows[reference], stream(self.seed, Role.DATA, WEIGHTS))(self.rows)
        with np.errstate(over="ignore"):
            made *= np.float32(self.scale)
        if self.non_negative:
            np.maximum(made, 0, out=made)
        _require_finite(made)
        made.setflags(write=False)
        return made


def _require_finite(rows: RawRows) -> None:
    if rows.dtype == np.uint8:
        return
    wrong = ~np.isfinite(rows)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise BadInput(
            f"data: row {row} (the first is 0) holds {rows[row, column]} in feature {column}; "
            "every value must be a finite number of single precision; fix or remove the row"
        )
