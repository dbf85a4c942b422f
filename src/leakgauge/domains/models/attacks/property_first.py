"""Infer the component that the model was trained on, then whether the record is of that component."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.models.knowledge import ComponentsKnowledge
from leakgauge.domains.models.property_inference import model_component, record_component
from leakgauge.domains.models.property_inference.model_component import ModelComponentClassifier
from leakgauge.domains.models.property_inference.record_component import (
    RecordComponentClassifier,
    RecordScorer,
    mixture_ratio,
    one_against_rest,
)
from leakgauge.domains.models.release import ModelsView

_MIN_MODELS = 4


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
            known = record_component.fit_record_classifier(
                one_against_rest(knowledge.components, knowledge.fixed), rng
            )
            return Scorer(RecordScorer(known), _reading({"component_of_record": known.accuracy}))
        training, learning = rng.spawn(2)
        models = model_component.fit_model_classifier(knowledge, self.models, self.probes, training)
        records = record_component.fit_record_classifier(knowledge.components, learning)
        return Scorer(
            PropertyScorer(models, records),
            _reading({**models.studied, "component_of_record": records.accuracy}),
        )


@dataclass(frozen=True, eq=False)
class PropertyScorer:
    """Compares the component of each model with that of each record."""

    models: ModelComponentClassifier
    records: RecordComponentClassifier

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        of_models = self.models(view.models)
        return np.array(
            [
                mixture_ratio(own, self.records(shown))
                for own, shown in zip(of_models, view.shown, strict=True)
            ]
        )


def _reading(studied: dict[str, float]) -> Reading:
    return Reading(threshold=0.0, signed=True, studied=studied)
