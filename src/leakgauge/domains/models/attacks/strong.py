"""The attacker who knows everything but the bit: all other records, both candidates, and the training."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.domains.models.knowledge import StrongKnowledge
from leakgauge.domains.models.membership_signals import log_odds
from leakgauge.domains.models.noisy_mean.knowledge import NoisyMeansView, StrongMeanKnowledge
from leakgauge.domains.models.noisy_mean.likelihood_ratio import LOG_RATIO_READING, strong_likelihood_ratio
from leakgauge.domains.models.release import StepView, TrainingStepsView, require_public_batches
from leakgauge.domains.models.training import mlp, noise_calibration
from leakgauge.domains.models.training.trainer import (
    Classifier,
    Examples,
    PreparedTrainer,
    concatenate_examples,
)
from leakgauge.domains.models.training.trainers.network import network_recipe
from leakgauge.strategies.discriminant_analysis import QuadraticScore, fit_quadratic
from leakgauge.support.parallel import parallel_map
from leakgauge.support.work_count import TRAINING, count_work

_MIN_MODELS = 8  # for two means and a covariance


@dataclass(frozen=True, eq=False, kw_only=True)
class StepRatio:
    """Log-likelihood ratio of a step: with the target, against with its substitute or an empty slot.

    Without the others' gradients the noisy sum is r = B g + noise, where g is the clipped gradient of the row
    in the slot and B is whether it is in this batch, with probability ``share``. Against noise alone its
    log-ratio is log(1 - share + share exp((<r, g> - |g|^2 / 2) / s^2)), s the standard deviation of the noise
    (Abadi et al. 2016, section 3.2; Nasr et al. 2021 play this game). Where batches have a fixed size, the
    number of others in a batch reveals B.
    """

    others: Examples
    target: Examples
    substitute: Examples | None
    noise: noise_calibration.DpSgdNoise
    share: float

    def __call__(self, step: StepView) -> float:
        share = self.share if step.in_batch is None else float(step.in_batch)
        if share == 0:
            return 0.0
        rest = self._without_others(step)
        ratio = subsampled_log_ratio(self._evidence(rest, step, self.target), share)
        if self.substitute is None:
            return ratio
        return ratio - subsampled_log_ratio(self._evidence(rest, step, self.substitute), share)

    def _without_others(self, step: StepView) -> Reals:
        rows, labels = self.others.rows[step.others], self.others.labels[step.others]
        known = mlp.clipped_gradient_sum(step.network, rows, labels, self.noise.clip)
        return step.released.astype(np.float64) - known

    def _evidence(self, rest: Reals, step: StepView, candidate: Examples) -> float:
        """The log-ratio of the rest of a sum with this record in the batch against noise alone."""
        gradient = mlp.clipped_gradient_sum(
            step.network, candidate.rows, candidate.labels, self.noise.clip
        ).astype(np.float64)
        scale = self.noise.sigma * self.noise.clip
        return float((rest @ gradient - gradient @ gradient / 2) / scale**2)


def subsampled_log_ratio(evidence: float, share: float) -> float:
    """Log of 1 - share + share e^evidence, without overflow.

    >>> round(subsampled_log_ratio(float(np.log(3)), 0.5), 12) == round(float(np.log(2)), 12)
    True
    """
    if share == 1:
        return evidence
    return float(np.logaddexp(np.log1p(-share), np.log(share) + evidence))


@dataclass(frozen=True, eq=False)
class CandidateTrainingSet:
    """One of the two possible training sets; the last row is the slot in question, which may be empty."""

    examples: Examples
    present: Bits | None
    member: bool


@dataclass(frozen=True, eq=False)
class RetrainedModels:
    """The log-odds of the candidates' labels under models trained on both possible training sets."""

    candidates: Examples  # the target, and its substitute if there is one
    log_odds: Reals  # one row per model, one column per candidate
    members: Bits  # whether a model was trained with the target

    def candidate_log_odds(self, model: Classifier) -> Reals:
        return log_odds(model, self.candidates)


def retrain(knowledge: StrongKnowledge, models: int, rng: Generator) -> RetrainedModels:
    """Train a number of models on each of the two sets."""
    substitute = knowledge.substitute
    candidates = (
        knowledge.target if substitute is None else concatenate_examples(knowledge.target, substitute)
    )
    worlds = [_training_set(knowledge, member=member) for member in (True, False) for _ in range(models)]
    log_odds = parallel_map(
        partial(_train_and_query, knowledge.trainer, candidates), zip(worlds, rng.spawn(len(worlds)))
    )
    return RetrainedModels(candidates, np.array(log_odds), np.array([world.member for world in worlds]))


def _training_set(knowledge: StrongKnowledge, *, member: bool) -> CandidateTrainingSet:
    if member or knowledge.substitute is None:
        examples = concatenate_examples(knowledge.others, knowledge.target)
        present = None if member else np.arange(len(examples)) < len(knowledge.others)
        return CandidateTrainingSet(examples, present, member)
    return CandidateTrainingSet(concatenate_examples(knowledge.others, knowledge.substitute), None, member)


def _train_and_query(
    trainer: PreparedTrainer, candidates: Examples, work: tuple[CandidateTrainingSet, Generator]
) -> Reals:
    world, rng = work
    count_work(TRAINING)
    return log_odds(trainer.fit(world.examples, rng, present=world.present), candidates)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score a round by the log-likelihood ratio of the observation (Nasr et al. 2021; Humphries et al. 2023).

    - ``form = "steps"``: of the noisy sums of all steps, exactly; no attack does better.
    - ``form = "retrained"``: of the final model's log-odds for both candidates, by normal distributions
      fitted to ``models`` models trained on each of the two sets.

    For a noisy mean it is the exact ratio of the noise distribution, and ``form`` has no effect. On counts
    with geometric noise its advantage is the bound (e^epsilon - 1) / (e^epsilon + 1); Laplace noise allows no
    more than 1 - e^(-epsilon / 2), the total variation distance of two Laplace distributions.
    """

    accepts: ClassVar[tuple[str, ...]] = ("strong",)

    form: Literal["steps", "retrained"] = "steps"
    models: int = 32

    def __post_init__(self) -> None:
        if not self.models >= _MIN_MODELS:
            raise BadInput(f"strong: models must be >= {_MIN_MODELS}, got {self.models}")

    def study(
        self, knowledge: StrongKnowledge | StrongMeanKnowledge, rng: Generator
    ) -> Scorer[TrainingStepsView] | Scorer[NoisyMeansView]:
        if isinstance(knowledge, StrongMeanKnowledge):
            return strong_likelihood_ratio(knowledge)
        return (
            _steps_scorer(knowledge)
            if self.form == "steps"
            else _retrained_scorer(knowledge, self.models, rng)
        )


def _steps_scorer(knowledge: StrongKnowledge) -> Scorer[TrainingStepsView]:
    recipe = network_recipe(knowledge.trainer, 'strong: form = "steps" follows the steps of gradient descent')
    if recipe.noise is None:
        raise BadInput(
            'strong: form = "steps" is about the noise of each step, and this training has none; use '
            'form = "retrained"'
        )
    require_public_batches(recipe.schedule)
    ratio = StepRatio(
        others=knowledge.others,
        target=knowledge.target,
        substitute=knowledge.substitute,
        noise=recipe.noise,
        share=recipe.schedule.share,
    )
    return Scorer(TrainingStepsScorer(ratio), LOG_RATIO_READING)


def _retrained_scorer(knowledge: StrongKnowledge, models: int, rng: Generator) -> Scorer[TrainingStepsView]:
    retrained = retrain(knowledge, models, rng)
    return Scorer(
        RetrainedModelsScorer(retrained, fit_quadratic(retrained.log_odds, retrained.members)),
        LOG_RATIO_READING,
    )


@dataclass(frozen=True, eq=False)
class TrainingStepsScorer:
    """Adds up the log-ratios of all steps of every training."""

    ratio: StepRatio

    def __call__(self, view: TrainingStepsView, rng: Generator) -> Reals:
        return np.array([[sum(map(self.ratio, training.steps()))] for training in view.rounds])


@dataclass(frozen=True, eq=False)
class RetrainedModelsScorer:
    """Queries every final model about the candidates."""

    retrained: RetrainedModels
    log_ratio: QuadraticScore

    def __call__(self, view: TrainingStepsView, rng: Generator) -> Reals:
        log_odds = [self.retrained.candidate_log_odds(training.model) for training in view.rounds]
        return self.log_ratio(np.array(log_odds))[:, None]
