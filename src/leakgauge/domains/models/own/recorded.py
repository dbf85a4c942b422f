"""A model that was asked once about every record, and answers the same ever after."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.strategies.clipping import Floats

Keys: TypeAlias = Any  # rows as single values that can be sorted


@dataclass(frozen=True, eq=False)
class Recorded:
    """Knows the rows it was asked about by what is in them; about other rows it cannot say anything."""

    keys: Keys  # sorted
    said: Reals  # aligned with the keys

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes; no answer is infinite."""
        asked = _keys(rows)
        place = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        if (strange := np.flatnonzero(self.keys[place] != asked)).size:
            raise BadInput(
                f"challenger.model was not asked about {strange.size} of {len(rows)} rows that an attack "
                "asks for; it must do with the rows of the file"
            )
        return self.said[place]


def record(rows: Floats, said: Reals) -> Recorded:
    """Keep what a model said of each row; two answers about equal rows are refused."""
    keys, first, group = np.unique(_keys(rows), return_index=True, return_inverse=True)
    apart = ~np.isclose(said, said[first][group], rtol=1e-4, atol=1e-6).all(axis=1)
    if apart.any():
        row = int(np.flatnonzero(apart)[0])
        raise BadInput(
            f"challenger.recipe: rows {first[group[row]]} and {row} (counted from 0) are equal once features "
            "are scaled to [0, 1], but the model tells them apart; leave out columns with huge numbers, or "
            "the recipe"
        )
    return Recorded(keys, said[first])


def numbered(n_rows: int) -> Any:
    """Rows that hold their number and nothing else: enough for a model that is not to be imitated."""
    return np.arange(n_rows, dtype=np.float64)[:, None]


def scaled(features: Reals) -> Floats:
    """Features in [0, 1] over all rows, for networks; columns without a difference are 0."""
    low, high = features.min(axis=0), features.max(axis=0)
    with np.errstate(over="ignore"):
        width = high - low
    if not np.isfinite(width).all():
        raise BadInput(
            f"challenger.recipe: feature {int(np.argmin(np.isfinite(width)))} (counted from 0) reaches too "
            "far to be scaled; leave it out: data.features"
        )
    return ((features - low) / np.where(width > 0, width, 1.0)).astype(np.float32)


def _keys(rows: Floats) -> Keys:
    whole = np.ascontiguousarray(rows + rows.dtype.type(0))  # no -0
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
