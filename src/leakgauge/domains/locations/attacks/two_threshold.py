"""Compare the number of the target's cells that exceed their cuts with a threshold (Liu et al. 2024)."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.counts import cell_expectations
from leakgauge.domains.locations.knowledge import AuxiliaryKnowledge, LocationsKnowledge, ZeroKnowledge
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import OutputDistribution
from leakgauge.domains.locations.scorers import per_target_scorer, thresholds
from leakgauge.domains.locations.shadows.shadow_sources import ShadowSource, n_shadows, shadow_source
from leakgauge.domains.locations.shadows.simulator import LabelledShadows
from leakgauge.strategies.threshold_rules import TO_MEMBER, VoteRule, cuts_reached_by


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Let every cell of the target vote, and compare the number of votes with a threshold (Liu et al. 2024).

    A cell votes if its output minus the known count reaches its cut: the midpoint of its mean values with and
    without the target (algorithm 5) or, with ``cell_fpr``, the value that this fraction of releases without
    the target exceeds (algorithm 7). The threshold is the midpoint of the mean numbers of votes or, with
    ``fpr``, the number that this fraction of non-members exceeds. Ties count as "member", in cells and in
    votes (equation 10). A cell that the target visited only with some probability has a vote of that weight.

    Cuts and threshold are learned from ``shadows`` simulated releases. With ``shadows = 0`` they are computed
    from the noise distribution; the number of votes of independent cells is then Poisson-binomial. By default
    they are computed where the noise distribution is known. They are recomputed in each round with zero
    knowledge, and where known counts are clamped or suppressed. Scores are log odds, so that targets can be
    compared.

    The measured false-positive rate (1 - ``tnr``) can differ from ``fpr`` because votes are whole numbers and
    because the attacker's estimates can be wrong.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    fpr: float | None = None
    cell_fpr: float | None = None
    shadows: int | None = None

    def __post_init__(self) -> None:
        for name in ("fpr", "cell_fpr"):
            rate = getattr(self, name)
            if rate is not None and not 0 < rate < 1:
                raise BadInput(f"{name} must be in (0, 1), got {rate}; leave it out for the midpoint")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        reading = Reading(threshold=0.0, signed=self.fpr is None)
        n, law = (
            n_shadows("two_threshold", self.shadows, knowledge),
            thresholds.known_tail_distribution(knowledge),
        )
        if n or law is None:
            learn = _VoteThresholdLearner(self, knowledge.sketches, n)
            sources = shadow_source(knowledge, rng)
            return Scorer(
                per_target_scorer.study_targets(learn, sources, len(knowledge.sketches), rng, long=True),
                reading,
            )
        assert isinstance(knowledge, AuxiliaryKnowledge | ZeroKnowledge)
        return Scorer(self._computed(knowledge, law), reading)

    def _computed(
        self, knowledge: AuxiliaryKnowledge | ZeroKnowledge, law: OutputDistribution
    ) -> per_target_scorer.PerTargetScorer | thresholds.PerRoundVoteScorer:
        sketches = knowledge.sketches
        if isinstance(knowledge, ZeroKnowledge):
            expectations = thresholds.ExpectationsFromRelease.of_votes(knowledge, law, self.cell_fpr)
            return thresholds.PerRoundVoteScorer(expectations, sketches, (0.0,) * len(sketches), self.fpr)
        shared = tuple(self._shared(knowledge, target, law) for target in range(len(sketches)))
        if not thresholds.same_every_round(knowledge):
            return thresholds.PerRoundVoteScorer(
                thresholds.ExpectationsFromTraces.of(knowledge, law, self.cell_fpr),
                sketches,
                shared,
                self.fpr,
            )
        target_rules = []
        for target, sketch in enumerate(sketches):
            votes = cell_expectations.cell_votes(law, knowledge.prior(target, pseudo=0.0), self.cell_fpr)
            expected = thresholds.normal_votes(votes.chance, sketch.weights, shared[target])
            needed = thresholds.votes_needed(
                expected, sketch.weights, self.fpr, votes.chance.out, shared[target]
            )
            rule = VoteRule(votes.cut, sketch.weights, needed, TO_MEMBER, expected.evidence)
            target_rules.append(per_target_scorer.TargetRule(sketch.cells, rule))
        return per_target_scorer.PerTargetScorer(tuple(target_rules))

    def _shared(self, knowledge: AuxiliaryKnowledge, target: int, law: OutputDistribution) -> float:
        """Return the variance of the number of votes that comes from people who visit several cells."""
        known = 0 if thresholds.same_every_round(knowledge) else thresholds.typical_known(knowledge, target)
        chance = cell_expectations.cell_votes(
            law, knowledge.prior(target, pseudo=0.0), self.cell_fpr, known
        ).chance
        return thresholds.shared_variance(
            knowledge, target, knowledge.sketches[target].weights * chance.steps
        )


@dataclass(frozen=True, eq=False)
class _VoteThresholdLearner:
    """Learns a target's cuts and vote threshold from shadows."""

    attack: Attack
    sketches: tuple[PartialTrace, ...]
    n_shadows: int

    def __call__(
        self, sources: ShadowSource, task: per_target_scorer.TargetTask
    ) -> per_target_scorer.TargetRule:
        sketch = self.sketches[task.target]
        shadows = sources.train(task.target, sketch.cells, self.n_shadows, task.rng)
        rule = VoteRule(_cuts(shadows, self.attack.cell_fpr), sketch.weights, 0.0, TO_MEMBER)
        law = thresholds.NormalScore.of(rule.votes(shadows.rows), shadows.members)
        needed = thresholds.votes_needed(law, sketch.weights, self.attack.fpr)
        return per_target_scorer.TargetRule(sketch.cells, rule.cut_at(needed, law.evidence))


def _cuts(shadows: LabelledShadows, fpr: float | None) -> Reals:
    rows, members = shadows.rows.astype("float64"), shadows.members
    if fpr is not None:
        return cuts_reached_by(fpr, rows[~members])
    return (rows[~members].mean(axis=0) + rows[members].mean(axis=0)) / 2
