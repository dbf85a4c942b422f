"""Which component a model was trained on, judged by its answers: property inference by a meta-classifier."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.knowledge import ComponentsKnowledge
from leakgauge.domains.models.property_inference.softmax_regression import SoftmaxRegression, fit_softmax
from leakgauge.domains.models.shadow_models import known_trainer, train_shadows
from leakgauge.domains.models.training.trainer import Classifier, Examples, concatenate_examples

_STRENGTH = 30.0
_HALVES = 2  # of the rows of a component: what is learned from shadows of one is tried on those of the other


@dataclass(frozen=True, eq=False)
class ModelComponentClassifier:
    """Log chances of each component given a model, from its probabilities for some probes."""

    probes: Examples
    softmax: SoftmaxRegression
    studied: dict[str, float]

    def __call__(self, models: Sequence[Classifier]) -> Reals:
        return self.softmax.log_chances(probe_probabilities(models, self.probes))


def fit_model_classifier(
    knowledge: ComponentsKnowledge, models: int, probes: int, rng: Generator
) -> ModelComponentClassifier:
    """Train so many shadows on rows of each component, and learn to tell them apart.

    (Ateniese et al. 2015; Ganju et al. 2018.) Shadows are as the released model, of fewer rows where the
    adversary has not enough. Every second one is of other rows: shadows that share rows are told apart by
    these, where the released model's rows are new.
    """
    training, probing = rng.spawn(2)
    pool, chosen = _choose_shadow_rows(knowledge, models, training)
    shadows = train_shadows(pool, chosen, known_trainer(knowledge), training, knowledge.n_members)
    kinds = np.repeat(np.arange(len(knowledge.components)), models)
    asked = pool.take(np.sort(probing.permutation(len(pool))[:probes]))
    columns = probe_probabilities(shadows, asked)
    studied = {
        "component_of_model": _held_out_accuracy(columns, kinds, np.arange(len(shadows)) % models % _HALVES),
        "shadows": float(len(shadows)),
        "rows_per_shadow": float(chosen.sum(axis=1).mean()),
    }
    return ModelComponentClassifier(asked, fit_softmax(columns, kinds, _STRENGTH), studied)


def probe_probabilities(models: Sequence[Classifier], probes: Examples) -> Reals:
    """Models x (probes x classes): the probabilities."""
    found = [np.exp(model.log_probabilities(probes.rows)).ravel() for model in models]
    return np.array(found)


def _held_out_accuracy(columns: Reals, kinds: Ints, fold: Ints) -> float:
    """How often shadows are told apart by what was learned from those of other rows."""
    found = [
        fit_softmax(columns[fold != one], kinds[fold != one], _STRENGTH).accuracy(
            columns[fold == one], kinds[fold == one]
        )
        for one in range(_HALVES)
    ]
    return float(np.average(found, weights=np.bincount(fold)))


def _choose_shadow_rows(knowledge: ComponentsKnowledge, models: int, rng: Generator) -> tuple[Examples, Bits]:
    """Rows of all components, and for each shadow which of them it is trained on."""
    pool = concatenate_examples(*knowledge.components)
    chosen = np.zeros((len(knowledge.components) * models, len(pool)), dtype=np.bool_)
    start = shadow = 0
    for rows in knowledge.components:
        halves = np.array_split(start + rng.permutation(len(rows)), _HALVES)
        for number in range(models):
            half = halves[number % _HALVES]
            size = min(knowledge.n_members, half.size)
            chosen[shadow, rng.choice(half, size, replace=False)] = True
            shadow += 1
        start += len(rows)
    return pool, chosen
