"""Releases that an adversary made itself, with all it knows about them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.traces import Ints

Counts: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Shadows:
    """Releases of an adversary's own over some cells; ``known`` counts the others it would know."""

    outputs: Reals
    known: Counts
    members: Bits
    counts: Counts  # the true counts behind the outputs

    @property
    def left(self) -> Reals:
        """What was published beyond the known counts."""
        return self.outputs - self.known

    def on(self, places: Ints) -> "Shadows":
        """The same on some of the columns."""
        return Shadows(self.outputs[:, places], self.known[:, places], self.members, self.counts[:, places])
