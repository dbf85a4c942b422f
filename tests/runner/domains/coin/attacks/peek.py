"""Believe the coin."""

from dataclasses import dataclass
from typing import ClassVar

from leakgauge.core.game import Reading, Scorer
from leakgauge.support.parallel import parallel_map


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score 1 where the coin says "in", with a little noise of the attack's own."""

    accepts: ClassVar[tuple[str, ...]] = ("nothing", "little")

    noise: float = 0.1

    def study(self, knowledge, rng):
        shift = sum(parallel_map(abs, [0.0, rng.random()])) * 1e-3

        def score(view, rng):
            return view * 1.0 + shift + self.noise * rng.random(view.shape)

        return Scorer(score, Reading(threshold=0.5 + shift))
