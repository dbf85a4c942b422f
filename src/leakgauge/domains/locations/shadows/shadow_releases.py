"""Releases that the attacker simulated, with the membership of the target in each."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.locations.data.traces import Ints

ShadowCounts: TypeAlias = npt.NDArray[np.int32]
ShadowRows: TypeAlias = npt.NDArray[Any]  # float32 or float64


@dataclass(frozen=True, eq=False)
class ShadowReleases:
    """Simulated releases over some cells; ``known`` counts the people whose traces the attacker knows."""

    outputs: Reals
    known: ShadowCounts
    members: Bits
    counts: ShadowCounts  # the true counts behind the outputs

    @property
    def left(self) -> Reals:
        """The published outputs minus the known counts."""
        return self.outputs - self.known

    def on(self, places: Ints) -> "ShadowReleases":
        """Return the same releases restricted to some columns."""
        return ShadowReleases(
            self.outputs[:, places], self.known[:, places], self.members, self.counts[:, places]
        )


@dataclass(frozen=True, eq=False)
class LabelledShadows:
    """Rows of shadows, and whether the target is a member in each."""

    rows: ShadowRows
    members: Bits


@dataclass(frozen=True, eq=False)
class TrainCheckShadows:
    """Shadows for training, and others for early stopping; neither contains a round that is scored."""

    train: LabelledShadows
    check: LabelledShadows
