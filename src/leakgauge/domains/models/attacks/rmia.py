"""RMIA: whether the model raises a record above its expected probability more than non-members."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import membership_signals, shadow_models
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import Examples

_A_GRID = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Relative membership inference (Zarifzadeh, Liu and Shokri 2024).

    The ratio of the model's probability for a record's class to its expected one is compared with the same
    ratio for ``population`` reference rows, which are no members: the score is the share of rows that the
    record beats by a factor of ``gamma`` or more. The paper uses 2; after training with noise, ratios are
    near 1, and 1 still works.

    The expected probability is a mean over shadows: with the record and without it in equal parts (``mode =
    "online"``), or only without it ("offline"), where the mean with it is taken as ``a`` times as far from 1.
    By default ``a`` is the value that best identifies the rows shadows were trained on, and the mode is
    online where the targets are the same in all rounds. Population rows are treated like the record; those
    that no shadow was trained on get their mean with them from the relation that the targets show. Where the
    attacker has no rows of its own, targets are compared with one another. Records that beat equally many
    rows are ordered by the ratio itself.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = shadow_models.DEFAULT_SHADOWS
    mode: Literal["online", "offline"] | None = None
    gamma: float = 1.0
    a: float | None = None
    population: int = 2_000

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 2)
        if not 0 < self.gamma < np.inf:
            raise BadInput(f"gamma must be > 0 and finite, got {self.gamma}")
        if self.a is not None and not 0 <= self.a <= 1:
            raise BadInput(f"a must be in [0, 1], got {self.a}; leave it out to choose it on shadows")
        if not self.population >= 1:
            raise BadInput(f"population must be >= 1, got {self.population}")

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        online = knowledge.targets is not None if self.mode is None else self.mode == "online"
        if online and self.a is not None:
            raise BadInput('a is for shadows without the targets; leave it out, or set mode = "offline"')
        return self._online(knowledge, rng) if online else self._offline(knowledge, rng)

    def _online(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadow_models.shadows_with_targets(knowledge, self.shadows, rng)
        known_targets = shadow_models.require_targets(knowledge)
        targets = membership_signals.signal_matrix(
            shadows.models, known_targets, membership_signals.log_true_probability
        )
        expected = mean_with_and_without(targets, shadows.targets)
        known = _FixedTargetsMean(expected)
        usable: Bits = np.logical_not(shadows.rows.all(axis=0))
        if not usable.any():  # the targets are compared with one another
            return self._scorer(known, known_targets, expected, shadows.studied)
        population, logs, members = self._population(knowledge.reference, shadows, usable, rng)
        return self._scorer(
            known, population, mean_of_population(logs, members, targets, shadows.targets), shadows.studied
        )

    def _offline(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadow_models.shadows_without_targets(knowledge, self.shadows, rng)
        if not len(knowledge.reference) and knowledge.targets is not None and shadows.targets.any():
            return self._offline_on_targets(knowledge.targets, shadows)
        without = np.logical_not(shadows.rows.all(axis=0))
        population, logs, members = self._population(knowledge.reference, shadows, without, rng)
        a = best_a(logs, members) if self.a is None else self.a
        expected = mean_from_without(logs, ~members, a)
        return self._scorer(_EstimatedMean(shadows, a), population, expected, shadows.studied | {"a": a})

    def _offline_on_targets(self, targets: Examples, shadows: ShadowModels) -> Scorer[ModelsView]:
        """Compare targets with one another, where shadows were trained elsewhere without other rows."""
        logs = membership_signals.signal_matrix(
            shadows.models, targets, membership_signals.log_true_probability
        )
        a = best_a(logs, shadows.targets) if self.a is None else self.a
        expected = mean_from_without(logs, ~shadows.targets, a)
        return self._scorer(_FixedTargetsMean(expected), targets, expected, shadows.studied | {"a": a})

    def _population(
        self, reference: Examples, shadows: ShadowModels, eligible: Bits, rng: Generator
    ) -> tuple[Examples, Reals, Bits]:
        """Population rows, the shadows' log-probabilities for them, and which shadows contain them."""
        rows = rng.permutation(np.flatnonzero(eligible))[: self.population]
        if not rows.size:
            raise BadInput(
                "the attacker has no rows of its own to compare a record with; add some (rows without "
                'membership, or challenger.reference), or use mode = "online"'
            )
        rows_in_question = reference.take(rows)
        return (
            rows_in_question,
            membership_signals.signal_matrix(
                shadows.models, rows_in_question, membership_signals.log_true_probability
            ),
            shadows.rows[:, rows],
        )

    def _scorer(
        self,
        expected: "_FixedTargetsMean | _EstimatedMean",
        population: Examples,
        population_expected: Reals,
        studied: dict[str, float],
    ) -> Scorer[ModelsView]:
        score = _ShareBeaten(expected, population, population_expected, float(np.log(self.gamma)))
        return Scorer(score, Reading(studied=studied | {"population": float(len(population))}))


@dataclass(frozen=True, eq=False)
class _FixedTargetsMean:
    """The expected log-probabilities of targets that are the same in all rounds."""

    expected: Reals

    def __call__(self, shown: Examples) -> Reals:
        return self.expected


@dataclass(frozen=True, eq=False)
class _EstimatedMean:
    """The expected log-probabilities of any record, from shadows without it."""

    shadows: ShadowModels
    a: float

    def __call__(self, shown: Examples) -> Reals:
        logs = membership_signals.signal_matrix(
            self.shadows.models, shown, membership_signals.log_true_probability
        )
        return mean_from_without(logs, self.shadows.without(shown), self.a)


@dataclass(frozen=True, eq=False)
class _ShareBeaten:
    """The share of population rows that a record beats; ties are ordered by the ratio itself."""

    expected: _FixedTargetsMean | _EstimatedMean
    population: Examples
    population_expected: Reals
    log_gamma: float

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        scores = []
        for model, shown, expected in membership_signals.per_round(view, self.expected):
            factors = membership_signals.log_true_probability(model, shown) - expected - self.log_gamma
            bars = np.sort(
                membership_signals.log_true_probability(model, self.population) - self.population_expected
            )
            beaten = np.searchsorted(bars, factors, side="right")
            scores.append((beaten + 0.5 + np.arctan(factors) / np.pi) / (bars.size + 1))
        return np.array(scores)


def mean_with_and_without(logs: Reals, members: Bits) -> Reals:
    """The mean over shadows with a record and over those without it, in equal parts; in logarithms.

    (Zarifzadeh, Liu and Shokri 2024.) Both arguments are shadows x records.
    """
    return np.logaddexp(
        membership_signals.log_mean(logs, members), membership_signals.log_mean(logs, ~members)
    ) - np.log(2)


def mean_of_population(logs: Reals, members: Bits, target_logs: Reals, target_members: Bits) -> Reals:
    """The expected log-probabilities of population rows, of which some may be in no shadow.

    For those, the mean with the row is 1 - a (1 - p) of the mean p without it, and ``a`` is what the targets
    show: by how much smaller their distance from 1 is with them than without them.
    """
    seen = members.any(axis=0)
    expected = np.empty(logs.shape[1])
    if seen.any():
        expected[seen] = mean_with_and_without(logs[:, seen], members[:, seen])
    if not seen.all():
        with_it, without = (
            1 - np.exp(membership_signals.log_mean(target_logs, side))
            for side in (target_members, ~target_members)
        )
        a = float(np.clip(with_it.sum() / max(without.sum(), np.finfo(np.float64).tiny), 0.0, 1.0))
        expected[~seen] = mean_from_without(logs[:, ~seen], ~members[:, ~seen], a)
    return expected


def mean_from_without(logs: Reals, others: Bits, a: float) -> Reals:
    """The same from shadows without a record only: with it, the mean p is taken to be 1 - a (1 - p).

    (Zarifzadeh, Liu and Shokri 2024: a p + 1 - a.)
    """
    return _corrected(membership_signals.log_mean(logs, others), a)


def best_a(logs: Reals, members: Bits) -> float:
    """The ``a`` that best identifies the rows a shadow was trained on, by the other shadows.

    It maximises the mean AUC over shadows; among ties the largest ``a`` is taken. A shadow that was trained
    on all of the rows or on none has no influence.
    """
    aucs = np.array([_aucs(logs, members, place) for place in range(len(logs))])
    means = aucs.mean(axis=0)
    return float(_A_GRID[means >= means.max() - 1e-12][-1])


def _aucs(logs: Reals, members: Bits, place: int) -> Reals:
    """The AUC for one shadow, at each ``a``."""
    others = ~members
    others[place] = False
    rows = others.any(axis=0)
    of_shadow, truth = logs[place, rows], members[place, rows]
    if truth.all() or not truth.any():
        return np.full(_A_GRID.size, 0.5)
    without = membership_signals.log_mean(logs[:, rows], others[:, rows])
    ratios = (of_shadow - _corrected(without, a) for a in _A_GRID.tolist())
    return np.array([_auc(one[truth], one[~truth]) for one in ratios])


def _corrected(without: Reals, a: float) -> Reals:
    return np.log(((1 + a) * np.exp(without) + (1 - a)) / 2)


def _auc(members: Reals, others: Reals) -> float:
    """The probability that a member scores above another row; ties count half."""
    others = np.sort(others)
    below = np.searchsorted(others, members, "left") + np.searchsorted(others, members, "right")
    return float(below.mean() / (2 * others.size))
