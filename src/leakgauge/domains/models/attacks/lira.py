"""LiRA: how much more likely the model's confidence in a record is if it is a member than if it is not."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import shadow_models
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import (
    bound_certain,
    limit_of_certain,
    log_odds,
    per_round,
    signal_matrix,
)
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import Examples

_SHADOWS_FOR_OWN_VARIANCE = 64  # in all, as in the paper
_REFERENCE_ROWS = 2_000  # for a shared variance
_MIN_DEVIATION = 1e-6  # where all models give the same answer


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A Gaussian for each record; values that are certain are taken to be at ``limit``."""

    mean: Reals
    deviation: Reals
    limit: float = np.inf

    def standardised(self, values: Reals) -> Reals:
        """How many standard deviations above the mean."""
        return (bound_certain(values, self.limit) - self.mean) / self.deviation

    def log_density(self, values: Reals) -> Reals:
        """The log-density, up to a constant."""
        return -0.5 * self.standardised(values) ** 2 - np.log(self.deviation)


def fit_gaussians(values: Reals, where: Bits, shared: float | None = None) -> Gaussians:
    """Fit to the values (shadows x records) that ``where`` marks; ``shared`` is a common deviation."""
    counts = where.sum(axis=0)
    mean = np.where(where, values, 0.0).sum(axis=0) / counts
    if shared is not None:
        return Gaussians(mean, np.full(mean.shape, max(shared, _MIN_DEVIATION)))
    variance = _squared_deviations(values, where, mean) / (counts - 1)
    return Gaussians(mean, np.maximum(np.sqrt(variance), _MIN_DEVIATION))


def shared_deviation(values: Reals, where: Bits) -> float:
    """The standard deviation about each record's own mean, pooled over records with at least two values."""
    counts = where.sum(axis=0)
    values, where, counts = values[:, counts > 1], where[:, counts > 1], counts[counts > 1]
    if not counts.size:
        return _MIN_DEVIATION
    mean = np.where(where, values, 0.0).sum(axis=0) / counts
    return float(np.sqrt(_squared_deviations(values, where, mean).sum() / (counts - 1).sum()))


def _squared_deviations(values: Reals, where: Bits, mean: Reals) -> Reals:
    return np.square(np.where(where, values - mean, 0.0)).sum(axis=0)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """The likelihood ratio attack (Carlini et al. 2022) on the log-odds of a record's class.

    ``mode = "online"`` fits two Gaussians to each target, under shadows with it and without it, and scores by
    the logarithm of their ratio (algorithm 1). "offline" uses only shadows without it, and scores by the
    number of standard deviations above their mean. By default it is online where the targets are the same in
    all rounds.

    Where shadows answer with probabilities of exactly 0 or 1, as forests do, their log-odds are put one
    beyond the largest of an answer that is not certain. The published code adds 1e-45 to probabilities
    instead: log-odds of 104, which no Gaussian fits.

    ``variance`` is that of each record, or shared; "auto" shares it below 64 shadows, in both modes.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = shadow_models.DEFAULT_SHADOWS
    mode: Literal["online", "offline"] | None = None
    variance: Literal["auto", "own", "shared"] = "auto"

    def __post_init__(self) -> None:
        shadow_models.require_shadows(self.shadows, 4)  # two for each Gaussian

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        online = knowledge.targets is not None if self.mode is None else self.mode == "online"
        return self._online(knowledge, rng) if online else self._offline(knowledge, rng)

    def _online(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadow_models.shadows_with_targets(knowledge, self.shadows, rng)
        odds, limit = _bounded_log_odds(shadows, shadow_models.require_targets(knowledge))
        sides, own = (shadows.targets, ~shadows.targets), self._own(len(shadows.models))
        members, others = (
            replace(
                fit_gaussians(odds, side, None if own else shared_deviation(odds, side)),
                limit=limit,
            )
            for side in sides
        )
        reading = Reading(threshold=0.0, signed=True, studied=shadows.studied)
        return Scorer(_LogRatio(members, others), reading)

    def _offline(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        shadows = shadow_models.shadows_without_targets(knowledge, self.shadows, rng)
        deviation = None if self._own(len(shadows.models)) else _known_deviation(knowledge, shadows, rng)
        return Scorer(_StandardisedLogOdds(shadows, deviation), Reading(studied=shadows.studied))

    def _own(self, n_shadows: int) -> bool:
        return self.variance == "own" or (self.variance == "auto" and n_shadows >= _SHADOWS_FOR_OWN_VARIANCE)


@dataclass(frozen=True, eq=False)
class _LogRatio:
    """The log-ratio of the two Gaussians of each target."""

    members: Gaussians
    others: Gaussians

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        scores = (log_odds(model, shown) for model, shown in zip(view.models, view.shown, strict=True))
        return np.array([self.members.log_density(odds) - self.others.log_density(odds) for odds in scores])


@dataclass(frozen=True, eq=False)
class _StandardisedLogOdds:
    """Standard deviations above the mean of shadows without the record."""

    shadows: ShadowModels
    deviation: float | None

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        scores = per_round(view, self._others)
        return np.array([others.standardised(log_odds(model, shown)) for model, shown, others in scores])

    def _others(self, shown: Examples) -> Gaussians:
        odds, limit = _bounded_log_odds(self.shadows, shown)
        return replace(fit_gaussians(odds, self.shadows.without(shown), self.deviation), limit=limit)


def _bounded_log_odds(shadows: ShadowModels, records: Examples) -> tuple[Reals, float]:
    """The log-odds of each shadow for each record, and the limit at which those of certain answers are put.

    A forest is often certain. Its log-odds are infinite then, and no Gaussian would fit them.
    """
    odds = signal_matrix(shadows.models, records, log_odds)
    limit = limit_of_certain(odds, records)
    return bound_certain(odds, limit), limit


def _known_deviation(knowledge: BlackBoxKnowledge, shadows: ShadowModels, rng: Generator) -> float:
    """The standard deviation of log-odds over shadows without a row, for reference rows.

    Without any, for the targets, where these are known and shadows were trained elsewhere.
    """
    if not len(knowledge.reference) and knowledge.targets is not None:
        odds, _ = _bounded_log_odds(shadows, knowledge.targets)
        return shared_deviation(odds, shadows.without(knowledge.targets))
    rows = rng.permutation(len(knowledge.reference))[:_REFERENCE_ROWS]
    odds, _ = _bounded_log_odds(shadows, knowledge.reference.take(rows))
    return shared_deviation(odds, ~shadows.rows[:, rows])
