"""Synthetic embeddings, for audits without a file."""

from hashlib import sha256

import numpy as np

from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.data.dataset import ROWS, FederatedDataset
from leakgauge.domains.federated.plan_tables import FederatedSyntheticTable


def generate_rows(table: FederatedSyntheticTable, seed: int) -> FederatedDataset:
    """Draw the rows from a Gaussian mixture."""
    rng = stream(seed, Role.DATA, ROWS)
    place = np.arange(table.features)
    deviation, between = 8.4 * (1 + place / 5) ** -0.57, 0.55 / (1 + place / 2)
    means = rng.standard_normal((table.classes, table.features))
    means -= means.mean(axis=0)
    means /= means.std(axis=0)  # there are at least two classes, so no standard deviation is 0
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
