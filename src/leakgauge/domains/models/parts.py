"""Which rows are the adversary's, which the game's, and which are targets."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.table.sheet import Ints


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows of the adversary's own, and rows of which models are trained; no row is in both."""

    reference: Ints
    pool: Ints


def apart(rows: Ints, reference: float, rng: Generator) -> Parts:
    """Give a share or a number of rows to the adversary."""
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if not n < rows.size:
        raise BadInput(
            f"challenger.reference: {n} of {rows.size} rows are the adversary's, and none is left to train "
            "on; lower it"
        )
    shuffled = rng.permutation(rows)
    return Parts(np.sort(shuffled[:n]), shuffled[n:])


def some(rows: Ints, reference: float, rng: Generator) -> Ints:
    """A share or a number of rows that nobody else needs: all of them at most."""
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if n > rows.size:
        raise BadInput(
            f"challenger.reference: {n} rows wanted of the {rows.size} that are neither members nor others; "
            "lower it, or say a share"
        )
    return np.sort(rng.permutation(rows)[:n])


def half_of(pool: Ints) -> int:
    """How many members there are where a plan does not say."""
    if pool.size < 4:
        raise BadInput(
            f"challenger.members: half of the {pool.size} rows that are left to train on is too few for a "
            "model; bring more rows (of each component), or lower reference"
        )
    return pool.size // 2


def require_room(wanted: int, rows: Ints, what: str, way_out: str) -> None:
    """Refuse to draw more rows than there are."""
    if wanted > rows.size:
        raise BadInput(f"challenger.members: {wanted} {what}, but there are {rows.size}; {way_out}")
