"""Ask how much likelier the model's confidence is if the record is a member than if it is not."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBox
from leakgauge.domains.models.seen import Seen
from leakgauge.domains.models.shadowing.gaussian_fits import Gaussians, fit, shared_deviation
from leakgauge.domains.models.shadowing.shadows import (
    SHADOWS,
    Shadows,
    require_shadows,
    require_targets,
    with_targets,
    without_targets,
)
from leakgauge.domains.models.shadowing.signals import log_odds, of_models, per_round
from leakgauge.domains.models.training.learning import Examples

KNOWLEDGE = "black_box"
ACCEPTS = ("black_box", "training_loss", "components")

_ENOUGH = 32  # shadows with a record, or without it, for a variance of its own (64 in all, as in the paper)
_LOOKED_AT = 2_000  # rows of the reference for a variance that all share


@dataclass(frozen=True, kw_only=True)
class Attack:
    """The likelihood ratio attack (Carlini et al. 2022) on the log odds of a record's class.

    ``mode = "online"`` fits a Gaussian to each target under shadows with it and another under those without
    it, and scores by the logarithm of their ratio (algorithm 1). "offline" has shadows without it alone, and
    scores by how many standard deviations the log odds lie above their mean. Left out, it is
    online where the targets are the same in all rounds.

    ``variance`` is each record's own, or one that all share; "auto" shares it below 32 shadows a Gaussian.
    """

    shadows: int = SHADOWS
    mode: Literal["online", "offline"] | None = None
    variance: Literal["auto", "own", "shared"] = "auto"

    def __post_init__(self) -> None:
        require_shadows(self.shadows, 4)  # two for each Gaussian

    def study(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        online = knowledge.targets is not None if self.mode is None else self.mode == "online"
        return self._online(knowledge, rng) if online else self._offline(knowledge, rng)

    def _online(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        shadows = with_targets(knowledge, self.shadows, rng)
        odds = of_models(shadows.models, require_targets(knowledge), log_odds)
        sides = (shadows.targets, ~shadows.targets)
        members, others = (fit(odds, side, self._shared(odds, side)) for side in sides)
        reading = Reading(threshold=0.0, signed=True, studied=shadows.studied)
        return Scorer(_Ratio(members, others), reading)

    def _offline(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        shadows = without_targets(knowledge, self.shadows, rng)
        deviation = None if self._own(self.shadows) else _on_reference(knowledge.reference, shadows, rng)
        return Scorer(_Surprise(shadows, deviation), Reading(studied=shadows.studied))

    def _shared(self, odds: Reals, side: Bits) -> float | None:
        return None if self._own(self.shadows // 2) else shared_deviation(odds, side)

    def _own(self, n_shadows: int) -> bool:
        return self.variance == "own" or (self.variance == "auto" and n_shadows >= _ENOUGH)


@dataclass(frozen=True, eq=False)
class _Ratio:
    """Of the two Gaussians of each target."""

    members: Gaussians
    others: Gaussians

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        found = (log_odds(model, shown) for model, shown in zip(seen.models, seen.shown, strict=True))
        return np.array([self.members.log_density(odds) - self.others.log_density(odds) for odds in found])


@dataclass(frozen=True, eq=False)
class _Surprise:
    """Above what shadows without the record say."""

    shadows: Shadows
    deviation: float | None

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        found = per_round(seen, self._others)
        return np.array([others.standardised(log_odds(model, shown)) for model, shown, others in found])

    def _others(self, shown: Examples) -> Gaussians:
        odds = of_models(self.shadows.models, shown, log_odds)
        return fit(odds, np.ones(odds.shape, dtype=np.bool_), self.deviation)


def _on_reference(reference: Examples, shadows: Shadows, rng: Generator) -> float:
    """The deviation of log odds over shadows without a row, for rows of the reference."""
    rows = rng.permutation(len(reference))[:_LOOKED_AT]
    odds = of_models(shadows.models, reference.take(rows), log_odds)
    return shared_deviation(odds, ~shadows.rows[:, rows])
