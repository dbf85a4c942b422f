"""Control without a model: what a record alone reveals about its membership."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.knowledge import BlindKnowledge
from leakgauge.domains.models.property_inference import RecordScorer, fit_record_classifier, one_against_rest
from leakgauge.domains.models.release import RecordsView


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A control: score a record by the log-odds that it is of the members' component.

    Its success is not a leak of the model, but what a fixed group of members reveals; attacks that see the
    model are compared with it. Where the component is secret and drawn in each round, no rule beats guessing,
    and this one takes the first component for that of the members.
    """

    accepts: ClassVar[tuple[str, ...]] = ("blind",)

    def study(self, knowledge: BlindKnowledge, rng: Generator) -> Scorer[RecordsView]:
        members = 0 if knowledge.fixed is None else knowledge.fixed
        records = fit_record_classifier(one_against_rest(knowledge.components, members), rng)
        reading = Reading(threshold=0.0, signed=True, studied={"component_of_record": records.accuracy})
        return Scorer(RecordScorer(records), reading)
