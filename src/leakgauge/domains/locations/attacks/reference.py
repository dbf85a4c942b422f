"""Compare the release with the target's trace and with traces of people who are not in it."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, ZeroKnowledge
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.scorers.per_target_scorer import TargetRule, TargetTask, study_targets
from leakgauge.domains.locations.scorers.thresholds import NormalScore
from leakgauge.domains.locations.shadows import shadow_sources
from leakgauge.domains.locations.shadows.simulator import PublicParameters, ShadowSimulator
from leakgauge.strategies.threshold_rules import SumRule


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score by the inner product of the release with the target's trace minus the traces of other people.

    From Dwork, Smith, Steinke, Ullman and Vadhan (2015). ``references`` is how many people of the attacker's
    data ("all": everybody) the target is compared with; their traces are averaged. The product runs over the
    target's cells (``cells = "target"``, as in Liu et al. 2024), or over all cells that the target or a
    reference visited (``cells = "all"``, as in the original). Known counts are subtracted first. The
    threshold is learned from ``shadows`` simulated releases: the midpoint, or the value at a fixed ``fpr``.
    With zero knowledge all people are synthetic. Scores are log odds, so that targets can be compared.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "zero", "friends")

    references: int | Literal["all"] = 1
    cells: Literal["target", "all"] = "target"
    fpr: float | None = None
    shadows: int = shadow_sources.DEFAULT_N_SHADOWS

    def __post_init__(self) -> None:
        if isinstance(self.references, int) and not self.references >= 1:
            raise BadInput(f'references must be >= 1 or "all", got {self.references}')
        if self.fpr is not None and not 0 < self.fpr < 1:
            raise BadInput(f"fpr must be in (0, 1), got {self.fpr}; leave it out for the midpoint")
        if not self.shadows >= shadow_sources.MIN_N_SHADOWS:
            raise BadInput(f"shadows must be >= {shadow_sources.MIN_N_SHADOWS}, got {self.shadows}")

    def study(self, knowledge: AuxiliaryKnowledge | ZeroKnowledge, rng: Generator) -> Scorer[LocationsView]:
        sketches, people = knowledge.sketches, shadow_sources.people_to_sample(knowledge, rng)
        chosen = self._choose(people.n_people, len(sketches), rng)
        crowd = _crowd(people, chosen, knowledge.public)
        simulator = (
            replace(knowledge.simulator, crowd=crowd)
            if isinstance(knowledge, AuxiliaryKnowledge)
            else ShadowSimulator(knowledge.public, crowd, sketches)
        )
        learn = _ReferenceThresholdLearner(self, people, chosen)
        sources = shadow_sources.TraceShadowSource(simulator, simulator)
        reading = Reading(threshold=0.0, signed=self.fpr is None)
        return Scorer(study_targets(learn, sources, len(sketches), rng, long=True), reading)

    def _choose(self, n_people: int, n_targets: int, rng: Generator) -> tuple[Ints, ...]:
        """Choose the reference people of each target."""
        if self.references == "all":
            return (np.arange(n_people),) * n_targets
        if self.references > n_people:
            raise BadInput(
                f"reference: references = {self.references}, but the attacker has {n_people} traces; lower "
                'it, or set it to "all"'
            )
        return tuple(rng.choice(n_people, self.references, replace=False) for _ in range(n_targets))


def _crowd(people: Traces, chosen: tuple[Ints, ...], public: PublicParameters) -> Crowd:
    """Leave the reference people out of the simulated groups if enough others are left."""
    needed = public.n_expected_others + (public.relation is Relation.REPLACE_ONE)
    rest = np.setdiff1d(np.arange(people.n_people), np.concatenate(chosen))
    return Crowd(people.of(rest) if rest.size >= needed else people)


@dataclass(frozen=True, eq=False)
class _ReferenceThresholdLearner:
    """Compares a target with its reference people, and learns the threshold from shadows."""

    attack: Attack
    people: Traces
    chosen: tuple[Ints, ...]

    def __call__(self, sources: shadow_sources.TraceShadowSource, task: TargetTask) -> TargetRule:
        sketch, chosen = sources.sketches[task.target], self.chosen[task.target]
        direction = -self.people.of(chosen).visitors() / chosen.size
        direction[sketch.cells] += sketch.weights * sketch.added
        cells = sketch.cells if self.attack.cells == "target" else np.flatnonzero(direction)
        n = self.attack.shadows + self.attack.shadows % 2
        shadows = sources.train(task.target, cells, n, task.rng)
        rule = SumRule(direction[cells], threshold=0.0)
        law = NormalScore.of(rule.sums(shadows.rows), shadows.members)
        return TargetRule(cells, rule.cut_at(law.threshold(self.attack.fpr), law.evidence))
