"""Infer the component that the model was trained on, then whether the record is of that component.

Property inference: a meta-classifier predicts from a model's answers which component it was trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models import property_inference
from leakgauge.domains.models.knowledge import ComponentsKnowledge
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import known_trainer, train_shadows
from leakgauge.domains.models.training.trainer import Classifier, Examples, concatenate_examples

_STRENGTH = 30.0
_HALVES = 2  # of a component's rows: trained on shadows of one half, evaluated on shadows of the other
_MIN_MODELS = 4


@dataclass(frozen=True, eq=False)
class ModelComponentClassifier:
    """Log-probabilities of each component given a model, from its answers for some probe rows."""

    probes: Examples
    softmax: property_inference.SoftmaxRegression
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
    return ModelComponentClassifier(
        probe_rows, property_inference.fit_softmax(columns, kinds, _STRENGTH), studied
    )


def probe_probabilities(models: Sequence[Classifier], probes: Examples) -> Reals:
    """The probabilities of each model (row) for all probes and classes (columns)."""
    probabilities = [np.exp(model.log_probabilities(probes.rows)).ravel() for model in models]
    return np.array(probabilities)


def _held_out_accuracy(columns: Reals, kinds: Ints, fold: Ints) -> float:
    """The accuracy on shadows of one half of the rows, trained on shadows of the other half."""
    accuracies = [
        property_inference.fit_softmax(columns[fold != half], kinds[fold != half], _STRENGTH).accuracy(
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


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Membership by way of a property of the training set (MIA-via-PIA, Humphries et al. 2023, section V).

    First a meta-classifier, trained on ``models`` shadows of each component, predicts from the answers for
    ``probes`` rows which component a model was trained on. Then a classifier trained on reference rows
    predicts the component of the record. The score is the log-likelihood ratio of both together. Where the
    members' component is known, the first step is left out, and the score is that of ``blind``.
    """

    accepts: ClassVar[tuple[str, ...]] = ("components",)

    models: int = 32
    probes: int = 200

    def __post_init__(self) -> None:
        for name, minimum in (("models", _MIN_MODELS), ("probes", 1)):
            if not getattr(self, name) >= minimum:
                raise BadInput(f"property_first: {name} must be >= {minimum}, got {getattr(self, name)}")

    def study(self, knowledge: ComponentsKnowledge, rng: Generator) -> Scorer[ModelsView]:
        if not isinstance(knowledge, ComponentsKnowledge):
            raise BadInput(
                "property_first: it trains models on each component; for a noisy mean use likelihood"
            )
        if knowledge.fixed is not None:
            known = property_inference.fit_record_classifier(
                property_inference.one_against_rest(knowledge.components, knowledge.fixed), rng
            )
            return Scorer(
                property_inference.RecordScorer(known), _reading({"component_of_record": known.accuracy})
            )
        training, learning = rng.spawn(2)
        models = fit_model_classifier(knowledge, self.models, self.probes, training)
        records = property_inference.fit_record_classifier(knowledge.components, learning)
        return Scorer(
            PropertyScorer(models, records),
            _reading({**models.studied, "component_of_record": records.accuracy}),
        )


@dataclass(frozen=True, eq=False)
class PropertyScorer:
    """Compares the component of each model with that of each record."""

    models: ModelComponentClassifier
    records: property_inference.RecordComponentClassifier

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        of_models = self.models(view.models)
        return np.array(
            [
                property_inference.mixture_ratio(own, self.records(shown))
                for own, shown in zip(of_models, view.shown, strict=True)
            ]
        )


def _reading(studied: dict[str, float]) -> Reading:
    return Reading(threshold=0.0, signed=True, studied=studied)
