"""Ways to turn rows into features; they are fitted on the attacker's rows alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput

Floats: TypeAlias = npt.NDArray[np.float32]
RawRows: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.uint8]

DEFAULT_DIMENSIONS = 512  # of features, unless a plan sets another number
LEADING = 8.0  # standard deviation of the first principal component, as in usual embeddings
UNIT = 4.0  # root mean square of a random unit before its ReLU
FLOOR = 0.1  # least standard deviation of a value, as a share of the typical one
SAMPLE = 2_048  # most reference rows to fit on
CHUNK = 1_024  # rows that are transformed at once


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
