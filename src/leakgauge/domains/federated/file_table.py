"""The `data` table of a plan that names a file, and what is found in one."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.federated.featurizers import AsGiven, Featurizer, Pca, RandomRelu
from leakgauge.domains.federated.generating import require_scale

METHODS: dict[str, type[Pca] | type[RandomRelu]] = {"pca": Pca, "random_relu": RandomRelu}


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What a file calls its rows, their labels, and the rows that a model was trained on."""

    rows: str | None = None
    labels: str = "label"
    train: str | None = None


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """A file of embeddings or images: which of its columns are features, or how features are made.

    ``features`` is a list of columns, or one of ``METHODS``; ``size`` is the longest side of images.
    ``reference`` is a second file of the same form: the adversary's rows, where they are not drawn.
    """

    source: str
    reference: str | None = None
    keys: Keys = Keys()
    features: str | tuple[str, ...] | None = None
    dimensions: int | None = None
    size: int = 64
    scale: float = 1.0
    non_negative: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            require(self.features, list(METHODS), "features: no way to make them")
        if self.features == ():
            raise BadInput("features: the list is empty; name columns, or leave it out for all numbers")
        if self.dimensions is not None and not self.dimensions >= 1:
            raise BadInput(f"dimensions must be >= 1, got {self.dimensions}")
        if not self.size >= 1:
            raise BadInput(f"size must be >= 1 pixel, got {self.size}")
        require_scale(self.scale)

    @property
    def columns(self) -> tuple[str, ...]:
        """The features that were named; none where they are to be found or made."""
        return self.features if isinstance(self.features, tuple) else ()

    def featurizer(self, *, images: bool) -> Featurizer:
        """How features are made: images always need a way."""
        if isinstance(self.features, str):
            method: type[Pca] | type[RandomRelu] = METHODS[self.features]
        elif images:
            method = Pca
        elif self.dimensions is not None:
            raise BadInput(
                f"data.dimensions = {self.dimensions}: the file's own columns are the features; leave it "
                f"out, or say how others are made: features = {' or '.join(map(repr, METHODS))}"
            )
        else:
            return AsGiven()
        if images and self.columns:
            raise BadInput('data.features: images have no columns; use "pca" or "random_relu"')
        return method() if self.dimensions is None else method(self.dimensions)


@dataclass(frozen=True, eq=False)
class Found:
    """What a file holds, not yet looked at closely."""

    rows: Any  # numbers (n, d), pixels (n, h, w) or (n, h, w, colours), or a list of encoded images
    labels: npt.NDArray[Any]
    train: npt.NDArray[Any] | None
    names: tuple[str, ...] = ()  # of the features, where they have any
