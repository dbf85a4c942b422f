"""Compare the model's confidence in a record with what it usually is for such a record: no shadow models."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import log_odds
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Classifier, Examples

_MIN_ROWS = 100  # of the attacker, to learn from
_FOLDS = 5
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
        usual = fit_usual_confidence(self._inputs(reference), log_odds(model, reference), self.seed)
        return usual.standardised(self._inputs(shown), log_odds(model, shown)) - usual.quantile(1 - self.fpr)

    def _inputs(self, records: Examples) -> Reals:
        """Features and label, one column for each class."""
        features = self.knowledge.features_of(records, "quantile_regression")
        return np.hstack([features, np.eye(records.classes)[records.labels]])


@dataclass(frozen=True, eq=False)
class UsualConfidence:
    """Mean and spread of a model's log-odds for non-members, as functions of features and label."""

    mean: Any
    log_variance: Any
    residuals: Reals  # standardised, of rows that the fit did not see

    def standardised(self, inputs: Reals, odds: Reals) -> Reals:
        """How many standard deviations the log-odds of records are above what is usual."""
        deviation = np.exp(0.5 * self.log_variance.predict(inputs))
        return (odds - self.mean.predict(inputs)) / np.maximum(deviation, _MIN_DEVIATION)

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.residuals, share, method="higher"))


def fit_usual_confidence(inputs: Reals, odds: Reals, seed: int) -> UsualConfidence:
    """Fit mean and variance by gradient boosting; the variance to residuals of rows outside the fit."""
    from sklearn.model_selection import cross_val_predict

    residuals = odds - cross_val_predict(_booster(seed), inputs, odds, cv=_FOLDS)
    logs = np.log(residuals**2 + _MIN_DEVIATION**2) + _LOG_CHI_SQUARE
    spread = cross_val_predict(_booster(seed), inputs, logs, cv=_FOLDS)
    return UsualConfidence(
        _booster(seed).fit(inputs, odds),
        _booster(seed).fit(inputs, logs),
        residuals / np.maximum(np.exp(0.5 * spread), _MIN_DEVIATION),
    )


def _booster(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.1, min_samples_leaf=20, random_state=seed
    )
