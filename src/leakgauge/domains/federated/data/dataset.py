"""The rows of an audit as read from a file, and the features that clients and attacker compute.

Features may be fitted; they are fitted on the attacker's rows alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.support.cache import RecentCache

Floats: TypeAlias = npt.NDArray[np.float32]
RawRows: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.uint8]

DEFAULT_DIMENSIONS = 512  # of features, unless a plan sets another number
LEADING = 8.0  # standard deviation of the first principal component, as in usual embeddings
UNIT = 4.0  # root mean square of a random unit before its ReLU
FLOOR = 0.1  # least standard deviation of a value, as a share of the typical one
SAMPLE = 2_048  # most reference rows to fit on
CHUNK = 1_024  # rows that are transformed at once


ROWS, PARTS, WEIGHTS, UTILITY, OWN_PERTURBATION = range(5)  # blocks of the data stream, one per purpose


class Featurizer(Protocol):
    """A way to turn rows into features; it is public, so clients and attacker use the same."""

    def fit(self, rows: RawRows, rng: Generator) -> Callable[[RawRows], Floats]:
        """Fit on the attacker's rows, and return a function that transforms any rows."""
        ...

    def note(self, dimensions: int) -> str | None:
        """Return a note on the features for reports, or None."""
        ...


@dataclass(frozen=True)
class IdentityFeaturizer:
    """Rows that are features already."""

    def fit(self, rows: RawRows, rng: Generator) -> Callable[[RawRows], Floats]:
        return lambda given: given.astype(np.float32)

    def note(self, dimensions: int) -> str | None:
        return None


@dataclass(frozen=True)
class PcaFeaturizer:
    """Principal components, scaled together so that the first has a standard deviation of ``LEADING``.

    n rows span at most n - 1 dimensions. Without a number of ``dimensions`` there are 512, or as many as the
    rows span; a larger number is refused. Of a large reference, every k-th row is used.
    """

    dimensions: int | None = None

    def fit(self, rows: RawRows, rng: Generator) -> Callable[[RawRows], Floats]:
        sample = _sample(rows, max(SAMPLE, 2 * (self.dimensions or DEFAULT_DIMENSIONS)))
        center = sample.mean(axis=0)
        variances, axes = _components(sample - center)
        wanted = DEFAULT_DIMENSIONS if self.dimensions is None else self.dimensions
        if len(variances) < (1 if self.dimensions is None else wanted):
            raise BadInput(
                f"data.dimensions = {wanted}: the {len(rows)} reference rows of {rows.shape[1]} values span "
                f"only {len(variances)}; lower it, give the attacker more rows, or use "
                'features = "random_relu"'
            )
        matrix = axes[:, :wanted] * (LEADING / np.sqrt(variances[0]))
        return _FittedLinearMap(center.astype(np.float32), matrix.astype(np.float32))

    def note(self, dimensions: int) -> str | None:
        short = dimensions < (self.dimensions or DEFAULT_DIMENSIONS)
        fewer = f" (not {DEFAULT_DIMENSIONS}: the reference rows span no more)" if short else ""
        return f"features: {dimensions} principal components{fewer}, fitted on the reference rows"


@dataclass(frozen=True)
class RandomReluFeaturizer:
    """Units of a random layer: standardised values, Gaussian weights, ReLU (Rahimi and Recht 2008).

    Before the ReLU a unit has a root mean square of about ``UNIT``; after it, half of all values are zero.
    """

    dimensions: int = DEFAULT_DIMENSIONS

    def fit(self, rows: RawRows, rng: Generator) -> Callable[[RawRows], Floats]:
        sample = _sample(rows, SAMPLE)
        deviations = sample.std(axis=0)
        typical = np.sqrt(np.mean(deviations**2))
        if not typical > 0:
            raise BadInput("data: all reference rows are equal; provide rows that differ")
        weights = rng.standard_normal((rows.shape[1], self.dimensions), dtype=np.float32)
        weights *= (UNIT / np.sqrt(len(weights)) / np.maximum(deviations, FLOOR * typical))[:, None]
        return _FittedLinearMap(sample.mean(axis=0).astype(np.float32), weights, relu=True)

    def note(self, dimensions: int) -> str | None:
        return f"features: {dimensions} random units with ReLU, standardised on the reference rows"


@dataclass(frozen=True, eq=False)
class _FittedLinearMap:
    """A fitted map: centred rows times a matrix, optionally followed by a ReLU."""

    center: Floats
    matrix: Floats
    relu: bool = False

    def __call__(self, rows: RawRows) -> Floats:
        made = np.empty((len(rows), self.matrix.shape[1]), dtype=np.float32)
        for first in range(0, len(rows), CHUNK):
            part = slice(first, first + CHUNK)
            np.matmul(rows[part] - self.center, self.matrix, out=made[part])
        return np.maximum(made, 0, out=made) if self.relu else made


def _sample(rows: RawRows, most: int) -> npt.NDArray[np.float64]:
    """Return all rows, or at most ``most`` of them at equal distances."""
    return rows[:: -(-len(rows) // most)].astype(np.float64)


def _components(
    centred: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return variances, largest first, and unit axes as columns, of all directions that the rows span."""
    n, d = centred.shape
    wide = d > n  # then the Gram matrix of the rows is smaller, with the same eigenvalues
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    spanned = np.flatnonzero(values > max(values[-1], 0) * max(n, d) * np.finfo(float).eps)[::-1]
    axes = vectors[:, spanned]
    if wide:
        axes = centred.T @ axes / np.sqrt(values[spanned])
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] if axes.size else np.ones(0)
    return values[spanned] / max(n - 1, 1), axes * np.sign(
        largest
    )  # a sign that does not depend on the library


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
