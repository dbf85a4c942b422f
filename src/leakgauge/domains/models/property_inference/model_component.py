"""Property inference: a meta-classifier predicts from a model's answers which component it was trained on."""

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
_HALVES = 2  # of a component's rows: trained on shadows of one half, evaluated on shadows of the other


@dataclass(frozen=True, eq=False)
class ModelComponentClassifier:
    """Log-probabilities of each component given a model, from its answers for some probe rows."""

    probes: Examples
    softmax: SoftmaxRegression
    studied: dict[str, float]

    def __call__(self, models: Sequence[Classifier]) -> Reals:
        return self.softmax.log_probabilities(probe_probabilities(models, self.probes))


def fit_model_classifier(
    knowledge: ComponentsKnowledge, models: int, probes: int, rng: Generator
) -> ModelComponentClassifier:
    """Train shadows on rows of each component, and a classifier of their answers.

    (Ateniese et al. 2015; Ganju et al. 2018.) Shadows are trained like the released model, on fewer rows
    where the attacker has too few. Odd and even shadows use different rows: otherwise the classifier could
    recognise the shared rows, while those of the released model are new.
    """
    training, probing = rng.spawn(2)
    pool, chosen = _choose_shadow_rows(knowledge, models, training)
    shadows = train_shadows(pool, chosen, known_trainer(knowledge), training, knowledge.n_members)
    kinds = np.repeat(np.arange(len(knowledge.components)), models)
    probe_rows = pool.take(np.sort(probing.permutation(len(pool))[:probes]))
    columns = probe_probabilities(shadows, probe_rows)
    studied = {
        "component_of_model": _held_out_accuracy(columns, kinds, np.arange(len(shadows)) % models % _HALVES),
        "shadows": float(len(shadows)),
        "rows_per_shadow": float(chosen.sum(axis=1).mean()),
    }
    return ModelComponentClassifier(probe_rows, fit_softmax(columns, kinds, _STRENGTH), studied)


def probe_probabilities(models: Sequence[Classifier], probes: Examples) -> Reals:
    """The probabilities of each model (row) for all probes and classes (columns)."""
    probabilities = [np.exp(model.log_probabilities(probes.rows)).ravel() for model in models]
    return np.array(probabilities)


def _held_out_accuracy(columns: Reals, kinds: Ints, fold: Ints) -> float:
    """The accuracy on shadows of one half of the rows, trained on shadows of the other half."""
    accuracies = [
        fit_softmax(columns[fold != half], kinds[fold != half], _STRENGTH).accuracy(
            columns[fold == half], kinds[fold == half]
        )
        for half in range(_HALVES)
    ]
    return float(np.average(accuracies, weights=np.bincount(fold)))


def _choose_shadow_rows(knowledge: ComponentsKnowledge, models: int, rng: Generator) -> tuple[Examples, Bits]:
    """The rows of all components, and the mask of rows that each shadow is trained on."""
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
