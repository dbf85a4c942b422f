"""Ask whether the target's cells, all added up, hold more than is usual without it."""

from dataclasses import dataclass

from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.chain.cut_laws import ChainCuts
from leakgauge.domains.locations.knowledge import Auxiliary, Seen, Zero
from leakgauge.domains.locations.rules.by_cells import ByCells, Knowledge, Piece, Watch, study_each
from leakgauge.domains.locations.rules.expectations import FromRelease, FromTraces, law_of, settled
from leakgauge.domains.locations.rules.joint_visits import doubt, shared_variance, typical_known
from leakgauge.domains.locations.rules.per_round import SumsPerRound
from leakgauge.domains.locations.shadows.shadow_sources import Source, n_shadows, source
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.strategies import cell_outlooks
from leakgauge.strategies.expected_scores import sum_of
from leakgauge.strategies.normal_scores import NormalScore
from leakgauge.strategies.thresholds import SumRule

KNOWLEDGE = "auxiliary"
ACCEPTS = ("informed", "partial", "auxiliary", "past", "zero", "friends")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Add up what the target's cells hold beyond the known counts, and compare it with a threshold.

    (Liu et al. 2024.) A cell where the target may have been counts by how likely that is. Without ``fpr`` the
    threshold lies midway between the usual sums (algorithm 3), with it where that share of non-members lies
    above (algorithm 6, corrected). It comes from so many ``shadows`` of the adversary's own; with 0 from the
    law of the chain (theorem 2, corrected); left out, from the law where that is known. The law is applied to
    each round anew with zero knowledge, and where known counts are clamped or suppressed. Scores are in units
    of log odds, so that targets can be compared.

    ``fpr`` is kept as far as beliefs are right: from a small reference, or with zero knowledge, the share can
    be several times as large. The one that was reached is 1 - ``tnr``.
    """

    fpr: float | None = None
    shadows: int | None = None

    def __post_init__(self) -> None:
        if self.fpr is not None and not 0 < self.fpr < 1:
            raise BadInput(f"fpr must be in (0, 1), got {self.fpr}; leave it out for the midpoint")

    def study(self, knowledge: Knowledge, rng: Generator) -> Scorer[Seen]:
        reading = Reading(threshold=0.0, signed=self.fpr is None)
        n, law = n_shadows("one_threshold", self.shadows, knowledge), law_of(knowledge)
        if n or law is None:
            learn = _Learn(knowledge.sketches, self.fpr, n)
            sources = source(knowledge, rng)
            return Scorer(study_each(learn, sources, len(knowledge.sketches), rng, long=True), reading)
        assert isinstance(knowledge, Auxiliary | Zero)
        return Scorer(self._computed(knowledge, law), reading)

    def _computed(self, knowledge: Auxiliary | Zero, law: ChainCuts) -> ByCells | SumsPerRound:
        sketches = knowledge.sketches
        if isinstance(knowledge, Zero):
            return SumsPerRound(
                FromRelease.of_moments(knowledge, law), sketches, (0.0,) * len(sketches), self.fpr
            )
        if not settled(knowledge):
            shared = tuple(_shared(knowledge, target, law) for target in range(len(sketches)))
            return SumsPerRound(FromTraces.of(knowledge, law), sketches, shared, self.fpr)
        watches = []
        for target, sketch in enumerate(sketches):
            expected = expected_sum(knowledge, target, law)
            rule = SumRule(sketch.weights, expected.threshold(self.fpr), expected.evidence)
            watches.append(Watch(sketch.cells, rule))
        return ByCells(tuple(watches))


@dataclass(frozen=True, eq=False)
class _Learn:
    """Learns a target's threshold from shadows."""

    sketches: tuple[Sketch, ...]
    fpr: float | None
    n_shadows: int

    def __call__(self, sources: Source, piece: Piece) -> Watch:
        sketch = self.sketches[piece.target]
        shadows = sources.train(piece.target, sketch.cells, self.n_shadows, piece.rng)
        rule = SumRule(sketch.weights, threshold=0.0)
        law = NormalScore.of(rule.sums(shadows.rows), shadows.members)
        return Watch(sketch.cells, rule.cut_at(law.threshold(self.fpr), law.evidence))


def expected_sum(knowledge: Auxiliary, target: int, law: ChainCuts) -> NormalScore:
    """The law of the weighted sum of a target's cells beyond the known counts."""
    moments = cell_outlooks.moments(law, knowledge.prior(target, pseudo=0.0))
    return sum_of(moments, knowledge.sketches[target].weights, _shared(knowledge, target, law))


def _shared(knowledge: Auxiliary, target: int, law: ChainCuts) -> float:
    """Variance beyond that of single cells: what moves several of them, and the doubt about their rates."""
    known = 0 if settled(knowledge) else typical_known(knowledge, target)
    mean = cell_outlooks.moments(law, knowledge.prior(target, pseudo=0.0), known).mean
    steps = knowledge.sketches[target].weights * mean.steps
    return shared_variance(knowledge, target, steps) + doubt(knowledge, target, steps)
