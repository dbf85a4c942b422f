"""Compare the sum of the target's cells with one threshold (Liu et al. 2024)."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.counts import cell_expectations
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, LocationsKnowledge, ZeroKnowledge
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import OutputDistribution
from leakgauge.domains.locations.scorers import per_target_scorer, thresholds
from leakgauge.domains.locations.shadows.shadow_sources import ShadowSource, n_shadows, shadow_source
from leakgauge.strategies.threshold_rules import SumRule


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Sum the target's cells minus the known counts, and compare the sum with a threshold.

    From Liu et al. (2024). A cell that the target visited only with some probability is weighted by it, and
    one to which the target adds more than 1 by what it adds; the threshold is then always learned.
    Without ``fpr`` the threshold is the midpoint of the mean sums with and without the target (algorithm 3);
    with it, that fraction of non-members exceeds the threshold (algorithm 6, corrected).

    The threshold is learned from ``shadows`` simulated releases. With ``shadows = 0`` it is computed from the
    noise distribution (theorem 2, corrected). By default it is computed where the noise distribution is
    known. It is recomputed in each round with zero knowledge, and where known counts are clamped or
    suppressed. Scores are log odds, so that targets can be compared.

    The measured false-positive rate (1 - ``tnr``) can be several times ``fpr`` if the reference is small or
    with zero knowledge.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fpr: float | None = None
    shadows: int | None = None

    def __post_init__(self) -> None:
        if self.fpr is not None and not 0 < self.fpr < 1:
            raise BadInput(f"fpr must be in (0, 1), got {self.fpr}; leave it out for the midpoint")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        reading = Reading(threshold=0.0, signed=self.fpr is None)
        n, law = (
            n_shadows("one_threshold", self.shadows, knowledge),
            thresholds.known_tail_distribution(knowledge),
        )
        if n or law is None:
            learn = _SumThresholdLearner(knowledge.sketches, self.fpr, n)
            sources = shadow_source(knowledge, rng)
            return Scorer(
                per_target_scorer.study_targets(learn, sources, len(knowledge.sketches), rng, long=True),
                reading,
            )
        assert isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge)
        return Scorer(self._computed(knowledge, law), reading)

    def _computed(
        self, knowledge: AuxiliaryKnowledge | ZeroKnowledge, law: OutputDistribution
    ) -> per_target_scorer.PerTargetScorer | thresholds.PerRoundSumScorer:
        sketches = knowledge.sketches
        if isinstance(knowledge, ZeroKnowledge):
            return thresholds.PerRoundSumScorer(
                thresholds.ExpectationsFromRelease.of_moments(knowledge, law),
                sketches,
                (0.0,) * len(sketches),
                self.fpr,
            )
        if not thresholds.same_every_round(knowledge):
            shared = tuple(_shared(knowledge, target, law) for target in range(len(sketches)))
            return thresholds.PerRoundSumScorer(
                thresholds.ExpectationsFromTraces.of(knowledge, law), sketches, shared, self.fpr
            )
        target_rules = []
        for target, sketch in enumerate(sketches):
            expected = expected_sum(knowledge, target, law)
            rule = SumRule(sketch.weights, expected.threshold(self.fpr), expected.evidence)
            target_rules.append(per_target_scorer.TargetRule(sketch.cells, rule))
        return per_target_scorer.PerTargetScorer(tuple(target_rules))


@dataclass(frozen=True, eq=False)
class _SumThresholdLearner:
    """Learns a target's threshold from shadows."""

    sketches: tuple[PartialTrace, ...]
    fpr: float | None
    n_shadows: int

    def __call__(
        self, sources: ShadowSource, task: per_target_scorer.TargetTask
    ) -> per_target_scorer.TargetRule:
        sketch = self.sketches[task.target]
        shadows = sources.train(task.target, sketch.cells, self.n_shadows, task.rng)
        rule = SumRule(sketch.weights * sketch.added, threshold=0.0)
        law = thresholds.NormalScore.of(rule.sums(shadows.rows), shadows.members)
        return per_target_scorer.TargetRule(sketch.cells, rule.cut_at(law.threshold(self.fpr), law.evidence))


def expected_sum(
    knowledge: AuxiliaryKnowledge, target: int, law: OutputDistribution
) -> thresholds.NormalScore:
    """Return the distribution of the weighted sum of a target's cells minus the known counts."""
    moments = cell_expectations.cell_moments(law, knowledge.prior(target, pseudo=0.0))
    return thresholds.normal_sum(moments, knowledge.sketches[target].weights, _shared(knowledge, target, law))


def _shared(knowledge: AuxiliaryKnowledge, target: int, law: OutputDistribution) -> float:
    """Return the variance from people who visit several cells, and from uncertainty about the rates."""
    known = 0 if thresholds.same_every_round(knowledge) else thresholds.typical_known(knowledge, target)
    mean = cell_expectations.cell_moments(law, knowledge.prior(target, pseudo=0.0), known).mean
    steps = knowledge.sketches[target].weights * mean.steps
    return thresholds.shared_variance(knowledge, target, steps) + thresholds.sampling_variance(
        knowledge, target, steps
    )
