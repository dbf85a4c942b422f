"""Ask whether the model raised a record above what is usual for it more than rows that are no members."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBox
from leakgauge.domains.models.seen import Seen
from leakgauge.domains.models.shadowing.shadows import (
    SHADOWS,
    Shadows,
    require_shadows,
    require_targets,
    with_targets,
    without_targets,
)
from leakgauge.domains.models.shadowing.signals import log_chances, of_models, per_round
from leakgauge.domains.models.shadowing.usual_chances import best_a, from_without, with_and_without
from leakgauge.domains.models.training.learning import Examples

KNOWLEDGE = "black_box"
ACCEPTS = ("black_box", "training_loss", "components")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Relative membership inference (Zarifzadeh, Liu and Shokri 2024).

    How much likelier the model makes a record's class than is usual, against the same for ``population`` rows
    of the reference, which are no members: the score is the share of rows that the record beats by a factor
    of ``gamma`` or more. The paper has 2; after training with noise, factors are near 1, and 1 still tells.

    What is usual is a mean over shadows: with the record and without it in equal parts (``mode = "online"``),
    or without it alone ("offline"), the mean with it being taken as ``a`` times as far from 1. Left out,
    ``a`` is the one that tells best which rows shadows were trained on, and the mode is online where the
    targets are the same in all rounds. Population rows are treated as the record is. Records that beat as
    many rows are told apart by the factor itself.
    """

    shadows: int = SHADOWS
    mode: Literal["online", "offline"] | None = None
    gamma: float = 1.0
    a: float | None = None
    population: int = 2_000

    def __post_init__(self) -> None:
        require_shadows(self.shadows, 2)
        if not 0 < self.gamma < np.inf:
            raise BadInput(f"gamma must be > 0 and finite, got {self.gamma}")
        if self.a is not None and not 0 <= self.a <= 1:
            raise BadInput(f"a must be in [0, 1], got {self.a}; leave it out to have it chosen on shadows")
        if not self.population >= 1:
            raise BadInput(f"population must be >= 1, got {self.population}")

    def study(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        online = knowledge.targets is not None if self.mode is None else self.mode == "online"
        if online and self.a is not None:
            raise BadInput('a is for shadows without the targets; leave it out, or set mode = "offline"')
        return self._online(knowledge, rng) if online else self._offline(knowledge, rng)

    def _online(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        shadows = with_targets(knowledge, self.shadows, rng)
        in_some = np.logical_and(shadows.rows.any(axis=0), ~shadows.rows.all(axis=0))
        some, logs, members = self._population(knowledge.reference, shadows, in_some, rng)
        targets = of_models(shadows.models, require_targets(knowledge), log_chances)
        known = _Known(with_and_without(targets, shadows.targets))
        return self._scorer(known, some, with_and_without(logs, members), shadows.studied)

    def _offline(self, knowledge: BlackBox, rng: Generator) -> Scorer[Seen]:
        shadows = without_targets(knowledge, self.shadows, rng)
        without = np.logical_not(shadows.rows.all(axis=0))
        some, logs, members = self._population(knowledge.reference, shadows, without, rng)
        a = best_a(logs, members) if self.a is None else self.a
        usual = from_without(logs, ~members, a)
        return self._scorer(_Estimated(shadows, a), some, usual, shadows.studied | {"a": a})

    def _population(
        self, reference: Examples, shadows: Shadows, serve: Bits, rng: Generator
    ) -> tuple[Examples, Reals, Bits]:
        """Rows that serve, what shadows say of them, and which of them a shadow was trained on."""
        rows = rng.permutation(np.flatnonzero(serve))[: self.population]
        if not rows.size:
            raise BadInput(
                "no row of the reference is in some shadows and not in others, to compare with; raise "
                'challenger.reference, or use mode = "offline"'
            )
        some = reference.take(rows)
        return some, of_models(shadows.models, some, log_chances), shadows.rows[:, rows]

    def _scorer(
        self, usual: "_Known | _Estimated", some: Examples, usual_of_some: Reals, studied: dict[str, float]
    ) -> Scorer[Seen]:
        score = _Share(usual, some, usual_of_some, float(np.log(self.gamma)))
        return Scorer(score, Reading(studied=studied | {"population": float(len(some))}))


@dataclass(frozen=True, eq=False)
class _Known:
    """What is usual for targets that are the same in all rounds."""

    usual: Reals

    def __call__(self, shown: Examples) -> Reals:
        return self.usual


@dataclass(frozen=True, eq=False)
class _Estimated:
    """What is usual for any record, by shadows without it."""

    shadows: Shadows
    a: float

    def __call__(self, shown: Examples) -> Reals:
        logs = of_models(self.shadows.models, shown, log_chances)
        return from_without(logs, np.ones(logs.shape, dtype=np.bool_), self.a)


@dataclass(frozen=True, eq=False)
class _Share:
    """Of population rows that a record beats; of records that beat as many, the better one is above."""

    usual: _Known | _Estimated
    population: Examples
    usual_of_population: Reals
    log_gamma: float

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        scores = []
        for model, shown, usual in per_round(seen, self.usual):
            factors = log_chances(model, shown) - usual - self.log_gamma
            bars = np.sort(log_chances(model, self.population) - self.usual_of_population)
            beaten = np.searchsorted(bars, factors, side="right")
            scores.append((beaten + 0.5 + np.arctan(factors) / np.pi) / (bars.size + 1))
        return np.array(scores)
