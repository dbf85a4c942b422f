"""The simplest data that depend on one another: within a component, all records are the same."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.table.generating import GROUP
from leakgauge.domains.models.table.sheet import Category

SOURCE = "constants"


@dataclass(frozen=True, kw_only=True)
class Constants:
    """A number of components; every record of component k of K is the value k / (K - 1).

    Whoever knows the component of the members knows them all: noise that hides one of n does not hide n (the
    example of Humphries et al. 2023, section III-C).
    """

    components: int = 2
    rows: int | None = None  # of each component; as many as a game needs, unless a plan says

    def __post_init__(self) -> None:
        if not self.components >= 2:
            raise BadInput(f"components must be >= 2, got {self.components}")
        if self.rows is not None and not self.rows >= 2:
            raise BadInput(f"rows must be >= 2, got {self.rows}")


def constant_table(table: Constants, rows: int) -> Loaded:
    """A feature called "value", and the group "component"; what the classes are does not matter here."""
    codes = np.repeat(np.arange(table.components), rows)
    values = codes / (table.components - 1)
    return Loaded(
        rows=values.astype(np.float32)[:, None],
        labels=(codes > 0).astype(np.int64),
        classes=("0", "1"),
        names=("value",),
        digest=sha256(f"{table!r} {rows}".encode()).hexdigest(),
        groups={GROUP: Category(codes.astype(np.int64), tuple(map(str, range(table.components))))},
        notes=(f"constants: {table.components} components, all records of one are the same",),
    )
