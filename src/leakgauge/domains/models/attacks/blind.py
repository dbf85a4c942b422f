"""Control without a model: what a record alone reveals about its membership."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.knowledge import BlindKnowledge, LabelledRecordsKnowledge
from leakgauge.domains.models.property_inference import RecordScorer, fit_record_classifier, one_against_rest
from leakgauge.domains.models.release import RecordsView

_FOLDS = 5
_MIN_CHANCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A control: score a record by the log-odds that it is of the members' component.

    For a finished model, a classifier learns from some of its members and others which of the rest are
    members, by the records alone. Its success is not a leak of the model, but what a fixed group of members
    reveals; attacks that see the model are compared with it. Where the component is secret and drawn in each
    round, no rule beats guessing, and this one takes the first component for that of the members.
    """

    accepts: ClassVar[tuple[str, ...]] = ("blind",)

    def study(
        self, knowledge: BlindKnowledge | LabelledRecordsKnowledge, rng: Generator
    ) -> Scorer[RecordsView]:
        if isinstance(knowledge, LabelledRecordsKnowledge):
            return Scorer(
                _Recorded(log_odds_of_membership(knowledge, rng)), Reading(threshold=0.0, signed=True)
            )
        members = 0 if knowledge.fixed is None else knowledge.fixed
        records = fit_record_classifier(one_against_rest(knowledge.components, members), rng)
        reading = Reading(threshold=0.0, signed=True, studied={"component_of_record": records.accuracy})
        return Scorer(RecordScorer(records), reading)


@dataclass(frozen=True, eq=False)
class _Recorded:
    scores: Reals

    def __call__(self, view: RecordsView, rng: Generator) -> Reals:
        return self.scores[None]


def log_odds_of_membership(knowledge: LabelledRecordsKnowledge, rng: Generator) -> Reals:
    """The log-odds that each record is a member, by a classifier that was trained on other records."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    members = knowledge.members
    if (few := min(members.sum(), (~members).sum())) < _FOLDS:
        raise BadInput(
            f"blind: {few} members or others are too few to learn how they differ; at least {_FOLDS} of each "
            "are needed"
        )
    inputs = np.column_stack([knowledge.features, knowledge.labels])
    seed = int(rng.integers(2**31))
    model = HistGradientBoostingClassifier(max_iter=60, random_state=seed, class_weight="balanced")
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    chances = cross_val_predict(model, inputs, members, cv=folds, method="predict_proba")[:, 1]
    return np.log(np.maximum(chances, _MIN_CHANCE)) - np.log(np.maximum(1 - chances, _MIN_CHANCE))
