"""Ask whether the target's cells, all added up, hold more than is usual without it."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.counts import cell_expectations
from leakgauge.domains.locations.counts.score_thresholds import NormalScore, normal_sum
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, LocationsKnowledge, ZeroKnowledge
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain.output_distribution import OutputDistribution
from leakgauge.domains.locations.scorers.computed_thresholds import (
    ExpectationsFromRelease,
    ExpectationsFromTraces,
    PerRoundSumScorer,
    known_tail_distribution,
    same_every_round,
    sampling_variance,
    shared_variance,
    typical_known,
)
from leakgauge.domains.locations.scorers.per_target_scorer import (
    PerTargetScorer,
    TargetRule,
    TargetTask,
    study_targets,
)
from leakgauge.domains.locations.shadows.shadow_sources import ShadowSource, n_shadows, shadow_source
from leakgauge.strategies.threshold_rules import SumRule


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Add up what the target's cells hold beyond the known counts, and compare it with a threshold.

    (Liu et al. 2024.) A cell where the target may have been counts by how likely that is. Without ``fpr`` the
    threshold lies midway between the usual sums (algorithm 3), with it where that share of non-members lies
    above (algorithm 6, corrected). It comes from so many ``shadows`` of the attacker's own; with 0 from the
    law of the chain (theorem 2, corrected); left out, from the law where that is known. The law is applied to
    each round again with zero knowledge, and where known counts are clamped or suppressed. Scores are in
    units of log odds, so that targets can be compared.

    ``fpr`` is kept as far as beliefs are right: from a small reference, or with zero knowledge, the share can
    be several times as large. The one that was reached is 1 - ``tnr``.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fpr: float | None = None
    shadows: int | None = None

    def __post_init__(self) -> None:
        if self.fpr is not None and not 0 < self.fpr < 1:
            raise BadInput(f"fpr must be in (0, 1), got {self.fpr}; leave it out for the midpoint")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        reading = Reading(threshold=0.0, signed=self.fpr is None)
        n, law = n_shadows("one_threshold", self.shadows, knowledge), known_tail_distribution(knowledge)
        if n or law is None:
            learn = _SumThresholdLearner(knowledge.sketches, self.fpr, n)
            sources = shadow_source(knowledge, rng)
            return Scorer(study_targets(learn, sources, len(knowledge.sketches), rng, long=True), reading)
        assert isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge)
        return Scorer(self._computed(knowledge, law), reading)

    def _computed(
        self, knowledge: AuxiliaryKnowledge | ZeroKnowledge, law: OutputDistribution
    ) -> PerTargetScorer | PerRoundSumScorer:
        sketches = knowledge.sketches
        if isinstance(knowledge, ZeroKnowledge):
            return PerRoundSumScorer(
                ExpectationsFromRelease.of_moments(knowledge, law), sketches, (0.0,) * len(sketches), self.fpr
            )
        if not same_every_round(knowledge):
            shared = tuple(_shared(knowledge, target, law) for target in range(len(sketches)))
            return PerRoundSumScorer(ExpectationsFromTraces.of(knowledge, law), sketches, shared, self.fpr)
        watches = []
        for target, sketch in enumerate(sketches):
            expected = expected_sum(knowledge, target, law)
            rule = SumRule(sketch.weights, expected.threshold(self.fpr), expected.evidence)
            watches.append(TargetRule(sketch.cells, rule))
        return PerTargetScorer(tuple(watches))


@dataclass(frozen=True, eq=False)
class _SumThresholdLearner:
    """Learns a target's threshold from shadows."""

    sketches: tuple[PartialTrace, ...]
    fpr: float | None
    n_shadows: int

    def __call__(self, sources: ShadowSource, piece: TargetTask) -> TargetRule:
        sketch = self.sketches[piece.target]
        shadows = sources.train(piece.target, sketch.cells, self.n_shadows, piece.rng)
        rule = SumRule(sketch.weights, threshold=0.0)
        law = NormalScore.of(rule.sums(shadows.rows), shadows.members)
        return TargetRule(sketch.cells, rule.cut_at(law.threshold(self.fpr), law.evidence))


def expected_sum(knowledge: AuxiliaryKnowledge, target: int, law: OutputDistribution) -> NormalScore:
    """The law of the weighted sum of a target's cells beyond the known counts."""
    moments = cell_expectations.cell_moments(law, knowledge.prior(target, pseudo=0.0))
    return normal_sum(moments, knowledge.sketches[target].weights, _shared(knowledge, target, law))


def _shared(knowledge: AuxiliaryKnowledge, target: int, law: OutputDistribution) -> float:
    """Variance beyond that of single cells: what moves several of them, and the doubt about their rates."""
    known = 0 if same_every_round(knowledge) else typical_known(knowledge, target)
    mean = cell_expectations.cell_moments(law, knowledge.prior(target, pseudo=0.0), known).mean
    steps = knowledge.sketches[target].weights * mean.steps
    return shared_variance(knowledge, target, steps) + sampling_variance(knowledge, target, steps)
