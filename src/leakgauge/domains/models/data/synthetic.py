"""Generated tables for audits without a file: a mixture of Gaussians, or components of constants."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data.dataset import ROWS_STREAM, CategoricalColumn, EncodedTable

COMPONENT_GROUP = "component"
CONSTANTS_SOURCE = "constants"


@dataclass(frozen=True, kw_only=True)
class ModelsSyntheticDataTable:
    """Rows of a mixture of Gaussians: each component has a centre and a rule of its own for the classes.

    Centres are at ``distance`` from the origin, in units of the noise. The class of a row is the largest of
    ``classes`` linear scores; the scores of all components add up to zero, so two components have opposite
    rules. A share ``flip`` of the labels is drawn at random.
    """

    rows: int = 4_000
    features: int = 20
    components: int = 2
    classes: int = 2
    distance: float = 2.0
    flip: float = 0.1

    def __post_init__(self) -> None:
        for name, minimum in (("rows", 20), ("features", 2), ("components", 1), ("classes", 2)):
            if not getattr(self, name) >= minimum:
                raise BadInput(f"{name} must be >= {minimum}, got {getattr(self, name)}")
        if not self.components * self.classes <= self.rows:
            raise BadInput(f"rows = {self.rows} are too few for each class of each component; raise it")
        if not 0 <= self.distance < np.inf:
            raise BadInput(f"distance must be >= 0 and finite, got {self.distance}")
        if not 0 <= self.flip <= 1:
            raise BadInput(f"flip must be in [0, 1], got {self.flip}")


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


@dataclass(frozen=True, kw_only=True)
class ModelsConstantsDataTable:
    """A number of components; every record of component k of K is the value k / (K - 1).

    Who knows the component of the members knows all their values: noise that hides one of n records does not
    hide n (the example of Humphries et al. 2023, section III-C).
    """

    components: int = 2
    rows: int | None = None  # of each component; None: as many as the game needs

    def __post_init__(self) -> None:
        if not self.components >= 2:
            raise BadInput(f"components must be >= 2, got {self.components}")
        if self.rows is not None and not self.rows >= 2:
            raise BadInput(f"rows must be >= 2, got {self.rows}")


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
