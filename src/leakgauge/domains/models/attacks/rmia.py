"""Ask whether the model raised a record above what is usual for it more than rows that are no members."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import (
    log_mean,
    log_true_probability,
    per_round,
    signal_matrix,
)
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import (
    DEFAULT_SHADOWS,
    ShadowModels,
    require_shadows,
    require_targets,
    shadows_with_targets,
    shadows_without_targets,
)
from leakgauge.domains.models.training.trainer import Examples


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

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = DEFAULT_SHADOWS
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

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        online = knowledge.targets is not None if self.mode is None else self.mode == "online"
        if online and self.a is not None:
            raise BadInput('a is for shadows without the targets; leave it out, or set mode = "offline"')
        return self._online(knowledge, rng) if online else self._offline(knowledge, rng)

    def _online(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadows_with_targets(knowledge, self.shadows, rng)
        in_some = np.logical_and(shadows.rows.any(axis=0), ~shadows.rows.all(axis=0))
        some, logs, members = self._population(knowledge.reference, shadows, in_some, rng)
        targets = signal_matrix(shadows.models, require_targets(knowledge), log_true_probability)
        known = _FixedTargetsMean(mean_with_and_without(targets, shadows.targets))
        return self._scorer(known, some, mean_with_and_without(logs, members), shadows.studied)

    def _offline(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadows_without_targets(knowledge, self.shadows, rng)
        without = np.logical_not(shadows.rows.all(axis=0))
        some, logs, members = self._population(knowledge.reference, shadows, without, rng)
        a = best_a(logs, members) if self.a is None else self.a
        usual = mean_from_without(logs, ~members, a)
        return self._scorer(_EstimatedMean(shadows, a), some, usual, shadows.studied | {"a": a})

    def _population(
        self, reference: Examples, shadows: ShadowModels, serve: Bits, rng: Generator
    ) -> tuple[Examples, Reals, Bits]:
        """Rows that serve, what shadows say of them, and which of them a shadow was trained on."""
        rows = rng.permutation(np.flatnonzero(serve))[: self.population]
        if not rows.size:
            raise BadInput(
                "no row of the reference is in some shadows and not in others, to compare with; raise "
                'challenger.reference, or use mode = "offline"'
            )
        some = reference.take(rows)
        return some, signal_matrix(shadows.models, some, log_true_probability), shadows.rows[:, rows]

    def _scorer(
        self,
        usual: "_FixedTargetsMean | _EstimatedMean",
        some: Examples,
        usual_of_some: Reals,
        studied: dict[str, float],
    ) -> Scorer[ModelsView]:
        score = _ShareBeaten(usual, some, usual_of_some, float(np.log(self.gamma)))
        return Scorer(score, Reading(studied=studied | {"population": float(len(some))}))


@dataclass(frozen=True, eq=False)
class _FixedTargetsMean:
    """What is usual for targets that are the same in all rounds."""

    usual: Reals

    def __call__(self, shown: Examples) -> Reals:
        return self.usual


@dataclass(frozen=True, eq=False)
class _EstimatedMean:
    """What is usual for any record, by shadows without it."""

    shadows: ShadowModels
    a: float

    def __call__(self, shown: Examples) -> Reals:
        logs = signal_matrix(self.shadows.models, shown, log_true_probability)
        return mean_from_without(logs, np.ones(logs.shape, dtype=np.bool_), self.a)


@dataclass(frozen=True, eq=False)
class _ShareBeaten:
    """Of population rows that a record beats; of records that beat as many, the better one is above."""

    usual: _FixedTargetsMean | _EstimatedMean
    population: Examples
    usual_of_population: Reals
    log_gamma: float

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        scores = []
        for model, shown, usual in per_round(view, self.usual):
            factors = log_true_probability(model, shown) - usual - self.log_gamma
            bars = np.sort(log_true_probability(model, self.population) - self.usual_of_population)
            beaten = np.searchsorted(bars, factors, side="right")
            scores.append((beaten + 0.5 + np.arctan(factors) / np.pi) / (bars.size + 1))
        return np.array(scores)


_GRID = np.linspace(0.0, 1.0, 11)


def mean_with_and_without(logs: Reals, members: Bits) -> Reals:
    """The mean over shadows with a record and over those without it, in equal parts; in logarithms.

    (Zarifzadeh, Liu and Shokri 2024.) Both arguments are shadows x records.
    """
    return np.logaddexp(log_mean(logs, members), log_mean(logs, ~members)) - np.log(2)


def mean_from_without(logs: Reals, others: Bits, a: float) -> Reals:
    """The same from shadows without a record alone: with it, the mean p is taken to be 1 - a (1 - p).

    (Zarifzadeh, Liu and Shokri 2024: a p + 1 - a.)
    """
    return _corrected(log_mean(logs, others), a)


def best_a(logs: Reals, members: Bits) -> float:
    """The ``a`` that tells best which rows a shadow was trained on, by the other shadows.

    Best is the mean over shadows of the AUC, of ties the largest ``a``. A shadow without both kinds of rows
    has no say.
    """
    found = np.array([_aucs(logs, members, place) for place in range(len(logs))])
    means = found.mean(axis=0)
    return float(_GRID[means >= means.max() - 1e-12][-1])


def _aucs(logs: Reals, members: Bits, place: int) -> Reals:
    """For one shadow, at each ``a``."""
    others = ~members
    others[place] = False
    rows = others.any(axis=0)
    of_shadow, truth = logs[place, rows], members[place, rows]
    if truth.all() or not truth.any():
        return np.full(_GRID.size, 0.5)
    without = log_mean(logs[:, rows], others[:, rows])
    ratios = (of_shadow - _corrected(without, a) for a in _GRID.tolist())
    return np.array([_auc(one[truth], one[~truth]) for one in ratios])


def _corrected(without: Reals, a: float) -> Reals:
    return np.log(((1 + a) * np.exp(without) + (1 - a)) / 2)


def _auc(members: Reals, others: Reals) -> float:
    """The chance that a member is above another row; ties count half."""
    others = np.sort(others)
    below = np.searchsorted(others, members, "left") + np.searchsorted(others, members, "right")
    return float(below.mean() / (2 * others.size))
