"""Randomized response about each target: its epsilon is known exactly."""

import time
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, NoControl
from leakgauge.core.guarantee import Guarantee
from leakgauge.support.table_reader import read_dataclass


@dataclass(frozen=True, kw_only=True)
class Challenger(ChallengerDefaults):
    """Tells the truth with the odds of ``epsilon``; promises ``promised``, which may be a lie."""

    epsilon: float
    promised: float | None = None
    delta: float = 0.0
    targets: int = 1
    coins: Coins = Coins.FAIR
    fails_at: int = 0  # a block of that many rounds fails
    pause: float = 0.0  # seconds that a block takes
    digest: str = ""
    unprotected: float | None = None  # epsilon of the positive control, if it has one
    broken: bool = False  # its control finds that nothing could ever be seen

    @property
    def n_targets(self) -> int:
        return self.targets

    @property
    def guarantee(self) -> Guarantee | None:
        return None if self.promised is None else Guarantee(epsilon=self.promised, delta=self.delta)

    def flip(self, n_rounds, rng):
        return rng.random((n_rounds, self.targets)) < 0.5

    def control(self):
        if self.broken:
            raise BadInput("the coin has one side")
        if self.unprotected is None:
            return NoControl(reason="this coin has no control")
        return replace(self, epsilon=self.unprotected, promised=None, targets=1, digest=f"{self.unprotected}")

    def release(self, members, rng):
        time.sleep(self.pause)
        if len(members) == self.fails_at:
            raise ZeroDivisionError("the coin broke")
        return members ^ (rng.random(members.shape) < 1 / (1 + np.exp(self.epsilon)))


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
):
    digest = ""
    if "source" in data:
        path = folder / data["source"]
        if not path.exists():
            raise BadInput(f"data.source: no such file: {data['source']}")
        digest = sha256(path.read_bytes()).hexdigest()
    return read_dataclass(
        Challenger, {"epsilon": mechanism.get("epsilon", 1.0), **challenger, "digest": digest}, "challenger"
    )
