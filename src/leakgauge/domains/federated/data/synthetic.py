"""Made-up embeddings, for audits without a file."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.data.dataset import ROWS, FederatedDataset
from leakgauge.domains.federated.data.featurizers import DEFAULT_DIMENSIONS


@dataclass(frozen=True, kw_only=True)
class FederatedSyntheticTable:
    """Rows of a Gaussian mixture with one component per class.

    Feature j (from 0) has mean 0 and standard deviation 8.4 (1 + j / 5)^-0.57, and the share
    0.55 / (1 + j / 2) of its variance lies between the classes. Both were fitted to 512 principal components
    of a convolutional network's features of CIFAR-10.
    """

    rows: int = 4_000
    features: int = DEFAULT_DIMENSIONS
    classes: int = 10
    scale: float = 1.0
    non_negative: bool = False

    def __post_init__(self) -> None:
        for name, least in (("rows", 4), ("features", 1), ("classes", 2)):
            if not getattr(self, name) >= least:
                raise BadInput(f"{name} must be >= {least}, got {getattr(self, name)}")
        if not self.classes <= self.rows:
            raise BadInput(f"classes = {self.classes} exceeds rows = {self.rows}; every class needs a row")
        require_scale(self.scale)


def require_scale(scale: float) -> None:
    """Refuse a factor that turns features over, or into nothing."""
    if not 0 < scale < np.inf:
        raise BadInput(f"scale must be > 0 and finite, got {scale}; 1 leaves values as they are")


def generate_rows(table: FederatedSyntheticTable, seed: int) -> FederatedDataset:
    """Draw the rows; a seed decides them."""
    rng = stream(seed, Role.DATA, ROWS)
    place = np.arange(table.features)
    deviation, between = 8.4 * (1 + place / 5) ** -0.57, 0.55 / (1 + place / 2)
    means = rng.standard_normal((table.classes, table.features))
    means -= means.mean(axis=0)
    means /= means.std(axis=0)  # two classes or more, so that no feature has all means at 0
    labels = rng.permutation(np.arange(table.rows) % table.classes)
    rows = rng.standard_normal((table.rows, table.features), dtype=np.float32)
    rows *= (deviation * np.sqrt(1 - between)).astype(np.float32)
    rows += (deviation * np.sqrt(between) * means).astype(np.float32)[labels]
    return FederatedDataset(
        rows=rows,
        labels=labels,
        classes=tuple(map(str, range(table.classes))),
        digest=sha256(f"{table!r} {seed}".encode()).hexdigest(),
        seed=seed,
        scale=table.scale,
        non_negative=table.non_negative,
    )
