"""Where an adversary gets shadows of a release from: traces, earlier releases, or people it makes up."""

from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.habits.imagining import Imagination, known_habits
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Zero
from leakgauge.domains.locations.rules.by_cells import Knowledge
from leakgauge.domains.locations.rules.expectations import law_of
from leakgauge.domains.locations.shadows.simulator import Simulator
from leakgauge.domains.locations.shadows.teaching import FromTraces, refuse_besides_past
from leakgauge.domains.locations.traces import Ints, Traces
from leakgauge.strategies.lessons import Labelled

USUAL = 2_000  # shadows, as in Liu et al. (2024)
FEWEST = 10


class Source(Protocol):
    """Gives shadows of one target: what was published beyond the known counts, the target in about half."""

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> Labelled: ...


@dataclass(frozen=True, eq=False)
class Earlier:
    """Takes all earlier releases as shadows."""

    past: Past

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> Labelled:
        members = self.past.members[:, target]
        if not 2 <= members.sum() <= members.size - 2:
            raise BadInput(
                f"knowledge 'past': a target was in {members.sum()} of {members.size} earlier releases; "
                "two with it and two without are the least to set a threshold by; raise knowledge.releases"
            )
        return Labelled(self.past.releases[:, columns], members)


def source(knowledge: Knowledge, rng: Generator) -> Source:
    """Find what an adversary can make shadows of."""
    match knowledge:
        case Past():
            return Earlier(knowledge)
        case Zero():
            crowd = Crowd(people_of(knowledge, rng))
            simulator = Simulator(knowledge.public, crowd, knowledge.sketches)
        case Auxiliary():
            simulator = knowledge.simulator
    return FromTraces(simulator, simulator)


def people_of(knowledge: Auxiliary | Zero, rng: Generator) -> Traces:
    """People to draw groups from: those of the reference, or some who move as one release says."""
    if isinstance(knowledge, Auxiliary):
        return knowledge.reference
    return Imagination().people(known_habits(knowledge), knowledge.public, rng)


def n_shadows(attack: str, wanted: int | None, knowledge: Knowledge) -> int:
    """How many shadows to learn a threshold from; 0 if it is computed from the law instead."""
    if isinstance(knowledge, Past):
        refuse_besides_past(attack, shadows=wanted)
        return len(knowledge.releases)
    if wanted is None:
        return 0 if law_of(knowledge) is not None else USUAL
    if wanted == 0 and law_of(knowledge) is None:
        raise BadInput(f"{attack}: shadows = 0 needs a law, and that of a pipeline of one's own is not known")
    if wanted != 0 and not wanted >= FEWEST:
        raise BadInput(f"{attack}: shadows must be 0 or >= {FEWEST}, got {wanted}")
    return wanted + wanted % 2
