"""Know everything but the bit: all other records, both candidates, and how training goes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals, Scorer
from leakgauge.domains.models.knowledge import Strong
from leakgauge.domains.models.means.knowledge import SeenMeans, StrongMean
from leakgauge.domains.models.means.ratios import SIGNED, strong_ratio
from leakgauge.domains.models.played import require_promised_steps
from leakgauge.domains.models.retraining import Retrained, retrain
from leakgauge.domains.models.seen import SeenSteps
from leakgauge.domains.models.step_ratios import StepRatio
from leakgauge.strategies.linear import Quadratic, quadratic

KNOWLEDGE = "strong"
ACCEPTS = ("strong",)

_FEWEST = 8  # networks for two means and their spread


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a round by the log-likelihood ratio of what is seen (Nasr et al. 2021; Humphries et al. 2023).

    - ``form = "steps"``: of the noisy sums of all steps, exactly; no attack does better.
    - ``form = "retrained"``: of how sure the final model is of both candidates; ``models`` networks trained
      on each of the two sets say what is normal there, by two normal laws.

    Of a noisy mean it is the ratio of the noise, exactly, and ``form`` says nothing. On counts with geometric
    noise its advantage is the bound (e^epsilon - 1) / (e^epsilon + 1); Laplace noise allows no more than
    1 - e^(-epsilon / 2), the total variation of two Laplace laws.
    """

    form: Literal["steps", "retrained"] = "steps"
    models: int = 32

    def __post_init__(self) -> None:
        if not self.models >= _FEWEST:
            raise BadInput(f"strong: models must be >= {_FEWEST}, got {self.models}")

    def study(self, knowledge: Strong | StrongMean, rng: Generator) -> Scorer[SeenSteps] | Scorer[SeenMeans]:
        if isinstance(knowledge, StrongMean):
            return strong_ratio(knowledge)
        return _by_steps(knowledge) if self.form == "steps" else _by_models(knowledge, self.models, rng)


def _by_steps(knowledge: Strong) -> Scorer[SeenSteps]:
    if knowledge.recipe.noise is None:
        raise BadInput(
            'strong: form = "steps" weighs the noise of each step, and this training has none; use '
            'form = "retrained"'
        )
    require_promised_steps(knowledge.recipe.schedule)
    ratio = StepRatio(
        others=knowledge.others,
        target=knowledge.target,
        substitute=knowledge.substitute,
        noise=knowledge.recipe.noise,
        share=knowledge.recipe.schedule.share,
    )
    return Scorer(BySteps(ratio), SIGNED)


def _by_models(knowledge: Strong, models: int, rng: Generator) -> Scorer[SeenSteps]:
    retrained = retrain(knowledge, models, rng)
    return Scorer(ByModel(retrained, quadratic(retrained.log_odds, retrained.members)), SIGNED)


@dataclass(frozen=True, eq=False)
class BySteps:
    """Watches every training."""

    ratio: StepRatio

    def __call__(self, seen: SeenSteps, rng: Generator) -> Reals:
        return np.array([[sum(map(self.ratio, training.steps()))] for training in seen.rounds])


@dataclass(frozen=True, eq=False)
class ByModel:
    """Asks every final model about the candidates."""

    retrained: Retrained
    log_ratio: Quadratic

    def __call__(self, seen: SeenSteps, rng: Generator) -> Reals:
        found = [self.retrained.asked_of(training.model) for training in seen.rounds]
        return self.log_ratio(np.array(found))[:, None]
