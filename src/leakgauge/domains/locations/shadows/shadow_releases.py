"""Releases that the attacker simulated, with the membership of the target in each."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.data.traces import Ints

ShadowCounts: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ShadowReleases:
    """Releases of an attacker's own over some cells; ``known`` counts the others it would know."""

    outputs: Reals
    known: ShadowCounts
    members: Bits
    counts: ShadowCounts  # the true counts behind the outputs

    @property
    def left(self) -> Reals:
        """What was published beyond the known counts."""
        return self.outputs - self.known

    def on(self, places: Ints) -> "ShadowReleases":
        """The same on some of the columns."""
        return ShadowReleases(
            self.outputs[:, places], self.known[:, places], self.members, self.counts[:, places]
        )


ShadowRows = npt.NDArray[Any]  # float32 or float64


@dataclass(frozen=True, eq=False)
class LabelledShadows:
    """Rows of shadows, and in which of them the target was."""

    rows: ShadowRows
    members: Bits


@dataclass(frozen=True, eq=False)
class TrainCheckShadows:
    """What to learn from, and what to stop by; no counted round is in either."""

    train: LabelledShadows
    check: LabelledShadows
