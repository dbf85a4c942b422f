"""Say nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakgauge.core.game import Scorer


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score everybody alike."""

    accepts: ClassVar[tuple[str, ...]] = ("nothing", "little")

    def study(self, knowledge, rng):
        return Scorer(lambda view, rng: np.zeros(view.shape))
