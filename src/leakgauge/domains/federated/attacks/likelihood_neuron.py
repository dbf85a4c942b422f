"""Build a neuron that is active where a row looks like the perturbed target: no training."""

from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.core.spread import spread
from leakgauge.domains.federated.knowledge import Seen, Server
from leakgauge.domains.federated.likelihood import Builder, clips_for, hinges_for
from leakgauge.domains.federated.model import Crafted
from leakgauge.domains.federated.peaks import peak
from leakgauge.domains.federated.studying import studied

KNOWLEDGE = "server"
ACCEPTS = ("server",)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A sum over features of functions that say how much likelier a value is with the target than without.

    The form "clipped" draws each function with two ReLUs: the feature cut to -a .. a. "ratio" draws it with
    ``hinges`` ReLUs at equal distances: needed where features are never negative, so that the sign bit says
    nothing. At most ``units`` are planted; then the features that tell most are kept. The threshold wins
    most games of this batch size on perturbed rows of the adversary's own that were not used for building.
    Without noise on rows the target is one point, and the neuron's value falls with the distance from it:
    two units a feature, whatever the form. ``certify`` adds what fresh draws prove of the neurons before any
    round.
    """

    form: Literal["clipped", "ratio"] = "clipped"
    hinges: int = 16
    units: int | None = None
    draws: int = 1_000  # of a target, for the threshold
    certify: bool = False

    def __post_init__(self) -> None:
        if not self.hinges >= 2:
            raise BadInput(f"hinges must be >= 2, got {self.hinges}")
        if self.units is not None and not self.units >= (2 if self.form == "clipped" else self.hinges):
            raise BadInput(
                f"units must be >= {2 if self.form == 'clipped' else self.hinges}, which one feature takes, "
                f"got {self.units}"
            )
        if not self.draws >= 100:
            raise BadInput(f"draws must be >= 100, got {self.draws}")

    def study(self, knowledge: Server, rng: Generator) -> Scorer[Seen]:
        return studied(knowledge, self.craft(knowledge, rng), rng, certify=self.certify)

    def craft(self, knowledge: Server, rng: Generator) -> list[Crafted]:
        """Build the neuron of each target."""
        if knowledge.training.mechanism is None:
            return [peak(row, knowledge.rows, knowledge.others, self.units) for row in knowledge.targets]
        functions = clips_for(knowledge) if self.form == "clipped" else (hinges_for(knowledge, self.hinges),)
        builder = Builder.of(knowledge, functions, self.units, self.draws, rng)
        seeds = rng.integers(2**63, size=len(knowledge.targets)).tolist()
        return spread(builder, list(enumerate(seeds)))
