"""Generated tables for audits without a file: a mixture of Gaussians, or components of constants."""

from hashlib import sha256

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data.dataset import ROWS_STREAM, CategoricalColumn, EncodedTable
from leakgauge.domains.models.plan_tables import ModelsConstantsDataTable, ModelsSyntheticDataTable

COMPONENT_GROUP = "component"
CONSTANTS_SOURCE = "constants"


def generate_mixture(table: ModelsSyntheticDataTable, seed: int) -> EncodedTable:
    """Draw the rows from the stream of the seed."""
    rng = stream(seed, Role.DATA, ROWS_STREAM)
    shape = (table.components, table.features)
    centres = table.distance * _unit(rng.standard_normal(shape))
    rules = rng.standard_normal((*shape, table.classes))
    if table.components > 1:
        rules -= rules.mean(axis=0)
    component = rng.permutation(np.arange(table.rows) % table.components)
    noise = rng.standard_normal((table.rows, table.features))
    labels = np.einsum("nd,ndc->nc", noise, rules[component]).argmax(axis=1)
    flipped = rng.random(table.rows) < table.flip
    labels = np.where(flipped, rng.integers(table.classes, size=table.rows), labels)
    classes, labels = np.unique(labels, return_inverse=True)
    rows = centres[component] + noise
    rows = (rows - rows.min(axis=0)) / (rows.max(axis=0) - rows.min(axis=0))
    note = (
        f"generated: {table.rows:,} rows of {table.features} features, {classes.size} classes, "
        f"{table.components} component{'s' if table.components > 1 else ''}"
    )
    return EncodedTable(
        rows=rows.astype(np.float32),
        labels=labels.astype(np.int64),
        classes=tuple(map(str, classes.tolist())),
        names=tuple(f"x{i}" for i in range(table.features)),
        digest=sha256(f"{table!r} {seed}".encode()).hexdigest(),
        groups={
            COMPONENT_GROUP: CategoricalColumn(
                component.astype(np.int64), tuple(map(str, range(table.components)))
            )
        },
        notes=(note,),
    )


def _unit(directions: Reals) -> Reals:
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def constant_components(table: ModelsConstantsDataTable, rows: int) -> EncodedTable:
    """A feature "value" and a group "component"; the classes do not matter here."""
    codes = np.repeat(np.arange(table.components), rows)
    values = codes / (table.components - 1)
    return EncodedTable(
        rows=values.astype(np.float32)[:, None],
        labels=(codes > 0).astype(np.int64),
        classes=("0", "1"),
        names=("value",),
        digest=sha256(f"{table!r} {rows}".encode()).hexdigest(),
        groups={
            COMPONENT_GROUP: CategoricalColumn(
                codes.astype(np.int64), tuple(map(str, range(table.components)))
            )
        },
        notes=(f"constants: {table.components} components, all records of one are the same",),
    )
