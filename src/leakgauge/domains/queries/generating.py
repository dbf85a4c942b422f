"""A table of made-up people, for audits without a file."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries.conditions import Type
from leakgauge.domains.queries.records import Records

TABLE, TARGETS, KNOWN = range(3)  # blocks of the stream of the data, so that none depends on another
MOST_RECORDS = 10_000_000
REGIONS = ("north", "east", "south", "west")


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How many people: each with an id, an age, an income in thousands, a region, and whether they smoke."""

    records: int = 1_000

    def __post_init__(self) -> None:
        if not 1 <= self.records <= MOST_RECORDS:
            raise BadInput(f"records must be in 1..{MOST_RECORDS}, got {self.records}")


def generate(table: Generated, seed: int) -> Records:
    """Draw the people; a seed decides them."""
    rng, n = stream(seed, Role.DATA, TABLE), table.records
    columns = {
        "id": np.arange(n, dtype=np.int64),
        "age": rng.integers(18, 91, n),
        "income": np.round(rng.lognormal(3.4, 0.6, n), 1),
        "region": np.array(REGIONS, dtype=object)[rng.integers(len(REGIONS), size=n)],
        "smoker": rng.random(n) < 0.2,
    }
    types = {
        "id": Type.WHOLE,
        "age": Type.WHOLE,
        "income": Type.REAL,
        "region": Type.TEXT,
        "smoker": Type.TRUTH,
    }
    return Records(types, columns, "id", sha256(f"{table!r} {seed}".encode()).hexdigest())
