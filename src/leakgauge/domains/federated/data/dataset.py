"""The rows behind a game, as a file has them, and the features that clients and attacker compute."""

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

ROWS, PARTS, WEIGHTS, UTILITY = range(4)  # blocks of the stream of the data, so that none depends on another


@dataclass(frozen=True, eq=False, kw_only=True)
class FederatedDataset:
    """Rows and their classes; features exist only once it is known which rows the attacker may fit on."""

    rows: RawRows  # one row per record; embeddings, or the pixels of an image
    labels: Ints  # 0..n_classes - 1
    classes: tuple[str, ...]  # what the file calls them
    digest: str
    seed: int  # of random features
    featurizer: Featurizer = field(default_factory=IdentityFeaturizer)
    scale: float = 1.0
    non_negative: bool = False
    is_train: Bits | None = None  # where a file says which rows a model behind the embeddings was trained on
    given: Bits | None = None  # rows that a file of their own gives to the attacker
    notes: tuple[str, ...] = ()  # about the data, for reports: they hold nothing of any row
    _made: RecentCache[Floats] = field(default_factory=RecentCache, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise BadInput(f"data: rows of shape {self.rows.shape}; at least one row of one value is needed")
        if self.labels.shape != self.rows.shape[:1]:
            raise BadInput(f"data: {len(self.rows)} rows but {self.labels.size} labels; each row needs one")
        if self.is_train is not None and self.is_train.shape != self.labels.shape:
            raise BadInput(f"data: {self.is_train.size} marks of training for {len(self.rows)} rows")
        if not self.n_classes >= 2:
            raise BadInput(
                f"data: all {len(self.rows)} rows have the same label; a model of one class has no gradient, "
                "so bring rows of two classes or more"
            )
        _require_finite(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def features(self, reference: Ints) -> Floats:
        """The features of all rows; what has to be fitted sees the ``reference`` rows alone.

        The last ones are kept, for the audits of a sweep to share; they cannot be written to.
        """
        return self._made.once(reference.tobytes(), lambda: self._features(reference))

    def notes_on(self, features: Floats) -> tuple[str, ...]:
        """What reports say of the data, and of how these features were made."""
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
