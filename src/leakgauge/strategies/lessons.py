"""What a classifier of shadows learns from, and what it is checked by."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from leakgauge.core.game import Bits

Rows = npt.NDArray[Any]  # float32 or float64


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows of shadows, and in which of them the target was."""

    rows: Rows
    members: Bits


@dataclass(frozen=True, eq=False)
class Lesson:
    """What to learn from, and what to stop by; no counted round is in either."""

    train: Labelled
    check: Labelled
