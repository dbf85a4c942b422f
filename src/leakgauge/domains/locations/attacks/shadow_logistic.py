"""L1 logistic regression on whole releases, trained on shadows with and without the target (Knock-Knock)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.classifiers.l1_logistic import SparseLinearModel, fit_l1_logistic
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility import simulated_people, synthetic_traces
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.scorers import per_target_scorer
from leakgauge.domains.locations.scorers.thresholds import best_cutoff
from leakgauge.domains.locations.shadows import shadow_sources
from leakgauge.domains.locations.shadows.simulator import PublicParameters, ShadowSimulator

CERTAIN = 1e6  # the score of a certain decision, on the scale of a log-likelihood ratio
SHADOWS, VALIDATION = 400, 100  # Pyrgelis et al. (2018), Guan et al. (2024)


def contradiction_applies(public: PublicParameters, sketch: PartialTrace) -> bool:
    """Whether raw counts are published and the target's whole trace is known with certainty."""
    chain = public.chain
    raw = isinstance(chain, ReleaseChain) and chain.noise is None and chain.suppress == 0
    return raw and sketch.complete and sketch.certain


def any_cell_empty(outputs: Reals, added: Ints | int = 1) -> Bits:
    """Whether any cell of the target lacks what it adds, for each release: releases x target cells.

    >>> any_cell_empty(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [False, True]
    """
    return np.asarray((outputs < added).any(axis=1))


@dataclass(frozen=True, eq=False)
class ContradictionRule:
    """Marks targets whose membership the release contradicts as non-members (Guan et al. 2024, section 6.1).

    The paper's rule looks for empty cells of the target. A cell that the target did not visit contradicts its
    membership too if its count is the size of the whole group; more generally, if it is too large for what
    the target adds.
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    def __call__(self, view: LocationsView, scores: Reals) -> Reals:
        """Set the scores of contradicted memberships to -CERTAIN; scores are rounds x targets."""
        usable = [contradiction_applies(self.public, sketch) for sketch in self.sketches]
        if not any(usable):
            return scores
        most = self.public.map.max_value
        others_at_most = most * (self.public.group_size - 1)
        rounds, cells = np.nonzero(view.whole > others_at_most)
        adjusted = scores.copy()
        for target in np.flatnonzero(usable):
            own, values = self.sketches[target].cells, self.sketches[target].added
            out = any_cell_empty(view.at(own), values)
            added = np.zeros(view.whole.shape[1])
            added[own] = values
            out[rounds[view.whole[rounds, cells] > others_at_most + added[cells]]] = True
            adjusted[out, target] = -CERTAIN
        return adjusted


@dataclass(frozen=True, kw_only=True)
class Attack(per_target_scorer.LongStudy):
    """Train an L1 logistic regression on all cells for each target, and set its threshold on other shadows.

    Knock-Knock (Pyrgelis et al. 2018); with zero knowledge, the attack of Guan et al. (2024). The training
    ``shadows`` are sampled ``paired`` (with and without the target, otherwise equal, noise included) or
    ``independent``. The ``validation`` shadows, always independent, determine the threshold. With knowledge
    "past" the earlier releases replace both, four training releases for each validation release.
    ``strength`` is the weight of the data relative to the penalty.

    With zero knowledge, shadows are groups of synthetic people. ``traces`` is how many people are generated,
    ``marginals`` how their movements are estimated from a release, and ``activity`` and ``skew`` how the
    number of visits varies between people. One classifier per target is trained on one
    earlier release and used in all rounds; the paper trains new ones for every release.

    With ``rule``, raw counts that contradict a membership decide without the classifier.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "past", "zero", "friends", "partial", "informed")

    sampling: shadow_sources.ShadowSampling = "paired"
    shadows: int | None = None
    validation: int | None = None
    strength: float = 1.0
    rule: bool = True
    marginals: simulated_people.MarginalsChoice = "deconvolution"
    traces: int | None = None
    activity: synthetic_traces.Activity = synthetic_traces.Activity.EXPONENTIAL
    skew: float = 6.0

    def __post_init__(self) -> None:
        for name, least in (("shadows", 4), ("validation", 2), ("traces", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")
        if not 0 < self.strength < np.inf:
            raise BadInput(f"strength must be > 0 and finite, got {self.strength}")
        synthetic_traces.log_variance(self.skew)

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        reading = Reading(threshold=0.0, signed=True)
        learner = LogisticLearner(self, knowledge.public, knowledge.sketches)
        target_rules = per_target_scorer.study_targets(
            learner, self._shadow_source(knowledge, rng), len(knowledge.sketches), rng, long=True
        )
        return Scorer(SharedLogisticScorer(target_rules, learner.contradiction_rule), reading)

    def _shadow_source(
        self, knowledge: LocationsKnowledge, rng: Generator
    ) -> shadow_sources.TrainCheckSource:
        match knowledge:
            case PastReleasesKnowledge():
                shadow_sources.refuse_shadows_with_past(
                    "shadow_logistic", shadows=self.shadows, validation=self.validation
                )
                return shadow_sources.SplitPastReleases(knowledge)
            case ZeroKnowledge():
                return self._shadows_from_release(knowledge, rng)
            case AuxiliaryKnowledge():
                simulator = knowledge.simulator
                return shadow_sources.TraceShadowSource(simulator, simulator, self.sampling)

    def _shadows_from_release(
        self, knowledge: ZeroKnowledge, rng: Generator
    ) -> shadow_sources.TraceShadowSource:
        """Return shadows of synthetic people whose movements are estimated from an earlier release."""
        public = knowledge.public
        simulated = simulated_people.SimulatedPeople(
            traces=self.traces, marginals=self.marginals, activity=self.activity, skew=self.skew
        )
        people = simulated.people(simulated.habits(knowledge.earlier, public), public, rng)
        simulator = ShadowSimulator(public, Crowd(people), knowledge.sketches)
        return shadow_sources.TraceShadowSource(simulator, simulator, self.sampling)


@dataclass(frozen=True, eq=False)
class LogisticRule:
    """A linear score minus its threshold."""

    line: SparseLinearModel
    cutoff: float

    def __call__(self, outputs: Reals) -> Reals:
        return self.line(outputs) - self.cutoff


@dataclass(frozen=True, eq=False)
class LogisticLearner:
    """Trains the classifier of one target."""

    attack: Attack
    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    @property
    def contradiction_rule(self) -> ContradictionRule | None:
        """The rule applied before the classifier, if any."""
        return ContradictionRule(self.public, self.sketches) if self.attack.rule else None

    def __call__(
        self, source: shadow_sources.TrainCheckSource, task: per_target_scorer.TargetTask
    ) -> per_target_scorer.TargetRule:
        n = self.attack.shadows or SHADOWS
        everywhere = np.arange(self.public.map.n_cells)
        shadows = source.train(task.target, everywhere, n + n % 2, task.rng)
        line = fit_l1_logistic(shadows, strength=self.attack.strength)
        return per_target_scorer.TargetRule(
            line.columns, LogisticRule(line, self._cutoff(line, source, task))
        )

    def _cutoff(
        self,
        line: SparseLinearModel,
        source: shadow_sources.TrainCheckSource,
        task: per_target_scorer.TargetTask,
    ) -> float:
        """Return the best threshold on validation shadows that do not contradict the membership."""
        own = self.sketches[task.target].cells
        columns = np.union1d(line.columns, own)
        shadows = source.check(task.target, columns, self.attack.validation or VALIDATION, task.rng)
        passed = np.ones(shadows.members.size, dtype=bool)
        if self.attack.rule and contradiction_applies(self.public, self.sketches[task.target]):
            cells, added = np.searchsorted(columns, own), self.sketches[task.target].added
            passed = ~any_cell_empty(shadows.outputs[:, cells], added)
        scores = line(shadows.left[:, np.searchsorted(columns, line.columns)])
        return best_cutoff(scores[passed], shadows.members[passed])


@dataclass(frozen=True, eq=False)
class SharedLogisticScorer:
    """Scores all releases with one classifier per target."""

    target_rules: per_target_scorer.PerTargetScorer
    contradiction_rule: ContradictionRule | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = self.target_rules(view, rng)
        return scores if self.contradiction_rule is None else self.contradiction_rule(view, scores)
