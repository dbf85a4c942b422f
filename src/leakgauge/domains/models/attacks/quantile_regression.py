"""Compare the model's confidence in a record with what it usually is for such a record: no shadow models."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import limit_of_certain, log_odds
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Classifier, Examples

_MIN_ROWS = 100  # of the attacker, to learn from
_WAVES = 100  # random functions of the inputs
_MOST_LINEAR = 200  # inputs that are used as they are too
_PENALTIES = np.geomspace(1e-4, 10, 11)  # of a ridge regression, per row
_MIN_DEVIATION = 1e-3
_LOG_CHI_SQUARE = 1.2703628454614782  # minus the mean of the logarithm of a squared standard normal


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Quantile regression (Bertran et al. 2023) on the log-odds of a record's class.

    The attacker asks the model about its own rows, which are no members, and learns mean and spread of the
    log-odds from features and label. A record is scored by how many standard deviations it is above what is
    usual for a non-member like it; the attack's own threshold wrongly accuses the share ``fpr`` of its rows.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    fpr: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.fpr < 1:
            raise BadInput(f"fpr must be between 0 and 1, got {self.fpr}; it is a share of non-members")

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        if (n := len(knowledge.reference)) < _MIN_ROWS:
            raise BadInput(
                f"quantile_regression learns from rows of the attacker: {n} are given, at least {_MIN_ROWS} "
                "are needed; raise challenger.reference, or mark rows as reference"
            )
        knowledge.features_of(knowledge.reference, "quantile_regression")
        return Scorer(_Score(knowledge, self.fpr, int(rng.integers(2**31))), Reading(threshold=0.0))


@dataclass(frozen=True, eq=False)
class _Score:
    knowledge: BlackBoxKnowledge
    fpr: float
    seed: int

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        return np.array([self._model(model, shown) for model, shown in zip(view.models, view.shown)])

    def _model(self, model: Classifier, shown: Examples) -> Reals:
        reference = self.knowledge.reference
        odds = log_odds(model, reference)
        limit = limit_of_certain(odds, reference)
        usual = fit_usual_confidence(self._inputs(reference), np.clip(odds, -limit, limit), self.seed)
        asked = np.clip(log_odds(model, shown), -limit, limit)
        return usual.standardised(self._inputs(shown), asked) - usual.quantile(1 - self.fpr)

    def _inputs(self, records: Examples) -> Reals:
        """Features and label, one column for each class."""
        features = self.knowledge.features_of(records, "quantile_regression")
        return np.hstack([features, np.eye(records.classes)[records.labels]])


@dataclass(frozen=True, eq=False)
class UsualConfidence:
    """Mean and spread of a model's log-odds for non-members, as functions of features and label."""

    design: "_Design"
    mean: Reals  # coefficients, the constant last
    log_variance: Reals
    residuals: Reals  # standardised, each of a row that was left out

    def standardised(self, inputs: Reals, odds: Reals) -> Reals:
        """How many standard deviations the log-odds of records are above what is usual."""
        columns = self.design.columns(inputs)
        mean, logs = (columns @ weights[:-1] + weights[-1] for weights in (self.mean, self.log_variance))
        return (odds - mean) / np.maximum(np.exp(0.5 * logs), _MIN_DEVIATION)

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.residuals, share, method="higher"))


def fit_usual_confidence(inputs: Reals, odds: Reals, seed: int) -> UsualConfidence:
    """Fit the mean, then the variance to what each row is off by if it is left out of that fit."""
    design = _draw_design(inputs, np.random.default_rng(seed))
    ridge = _Ridge(design.columns(inputs))
    mean, residuals = ridge.fit(odds)
    logs = np.log(residuals**2 + _MIN_DEVIATION**2) + _LOG_CHI_SQUARE
    log_variance, errors = ridge.fit(logs)
    spread = np.maximum(np.exp(0.5 * (logs - errors)), _MIN_DEVIATION)
    return UsualConfidence(design, mean, log_variance, residuals / spread)


@dataclass(frozen=True, eq=False)
class _Design:
    """Inputs, scaled, and waves in random directions, which add up to any smooth function (Rahimi 2007)."""

    centre: Reals
    scale: Reals
    directions: Reals
    phases: Reals

    def columns(self, inputs: Reals) -> Reals:
        scaled = (inputs - self.centre) / self.scale
        waves = np.cos(scaled @ self.directions + self.phases)
        return waves if scaled.shape[1] > _MOST_LINEAR else np.hstack([scaled, waves])


def _draw_design(inputs: Reals, rng: Generator) -> _Design:
    spread = inputs.std(axis=0)
    n_inputs = inputs.shape[1]
    directions = rng.normal(size=(n_inputs, _WAVES)) / np.sqrt(n_inputs)
    phases = rng.uniform(0, 2 * np.pi, _WAVES)
    return _Design(inputs.mean(axis=0), np.where(spread > 0, spread, 1.0), directions, phases)


class _Ridge:
    """Ridge regressions on the same columns; rows left out decide about the penalty."""

    def __init__(self, columns: Reals) -> None:
        self._centre = columns.mean(axis=0)
        self._left, self._sizes, self._right = np.linalg.svd(columns - self._centre, full_matrices=False)

    def fit(self, values: Reals) -> tuple[Reals, Reals]:
        """Coefficients, the constant last, and what each row is off by if it is left out."""
        within = self._left.T @ (values - values.mean())
        fits = [self._left_out(values, within, penalty) for penalty in _PENALTIES * len(values)]
        best = int(np.argmin([np.square(errors).mean() for errors in fits]))
        squares = self._sizes**2 + _PENALTIES[best] * len(values)
        weights = self._right.T @ (self._sizes * within / squares)
        return np.append(weights, values.mean() - self._centre @ weights), fits[best]

    def _left_out(self, values: Reals, within: Reals, penalty: float) -> Reals:
        """The errors of rows left out follow from those of the fit and its diagonal (Allen 1974)."""
        shares = self._sizes**2 / (self._sizes**2 + penalty)
        own = 1 / len(values) + np.square(self._left) @ shares
        fitted = values.mean() + self._left @ (shares * within)
        return (values - fitted) / np.maximum(1 - own, 1e-6)
