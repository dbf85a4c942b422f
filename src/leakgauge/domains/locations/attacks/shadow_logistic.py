"""A straight classifier of whole releases, learned from shadows with and without the target (Knock-Knock)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.locations.classifiers.l1_logistic import SparseLinearModel, fit_l1_logistic
from leakgauge.domains.locations.counts.score_thresholds import best_cutoff
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility.simulated_people import MarginalsChoice, SimulatedPeople
from leakgauge.domains.locations.mobility.synthetic_traces import Activity, log_variance
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.scorers.contradiction_rule import (
    ContradictionRule,
    any_cell_empty,
    contradiction_applies,
)
from leakgauge.domains.locations.scorers.per_target_scorer import (
    PerTargetScorer,
    TargetRule,
    TargetTask,
    study_targets,
)
from leakgauge.domains.locations.shadows.shadow_sources import (
    ShadowSampling,
    SplitPastReleases,
    TraceShadowSource,
    TrainCheckSource,
    refuse_shadows_with_past,
)
from leakgauge.domains.locations.shadows.simulator import PublicParameters, ShadowSimulator

SHADOWS, VALIDATION = 400, 100  # Pyrgelis et al. (2018), Guan et al. (2024)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Learn an L1 logistic regression of all cells for each target, and cut it where other shadows say.

    (Knock-Knock, Pyrgelis et al. 2018; with zero knowledge, Guan et al. 2024.) ``shadows`` to learn from are
    ``paired``: with and without the target, alike in everything else, noise included; or ``independent``.
    ``validation`` shadows, always independent, choose the threshold. With knowledge "past" the earlier
    releases take the place of both, four to one. ``strength`` is the weight of the data against the penalty.

    With zero knowledge, shadows are groups of people made up (``traces`` of them) who move as a release says,
    by the ``marginals`` that are estimated from it, and are as unevenly active as ``activity`` and ``skew``
    say. ``reuse``: one earlier release teaches one classifier for all rounds; otherwise every release teaches
    its own, as in the paper, which takes very long.

    ``rule``: where raw counts contradict a membership, no classifier is asked.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "past", "zero", "friends", "partial", "informed")

    sampling: ShadowSampling = "paired"
    shadows: int | None = None
    validation: int | None = None
    strength: float = 1.0
    rule: bool = True
    reuse: bool = True
    marginals: MarginalsChoice = "deconvolution"
    traces: int | None = None
    activity: Activity = Activity.EXPONENTIAL
    skew: float = 6.0

    def __post_init__(self) -> None:
        for name, least in (("shadows", 4), ("validation", 2), ("traces", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")
        if not 0 < self.strength < np.inf:
            raise BadInput(f"strength must be > 0 and finite, got {self.strength}")
        log_variance(self.skew)

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        reading = Reading(threshold=0.0, signed=True)
        pupil = LogisticLearner(self, knowledge.public, knowledge.sketches)
        if isinstance(knowledge, ZeroKnowledge) and not self.reuse:
            return Scorer(PerReleaseLogisticScorer(pupil), reading)
        watches = study_targets(
            pupil, self._shadow_source(knowledge, rng), len(knowledge.sketches), rng, long=True
        )
        return Scorer(SharedLogisticScorer(watches, pupil.front), reading)

    def _shadow_source(self, knowledge: LocationsKnowledge, rng: Generator) -> TrainCheckSource:
        match knowledge:
            case PastReleasesKnowledge():
                refuse_shadows_with_past("shadow_logistic", shadows=self.shadows, validation=self.validation)
                return SplitPastReleases(knowledge)
            case ZeroKnowledge():
                return self.shadows_from_release(knowledge.earlier, knowledge.public, knowledge.sketches, rng)
            case AuxiliaryKnowledge():
                simulator = knowledge.simulator
                return TraceShadowSource(simulator, simulator, self.sampling)

    def shadows_from_release(
        self, release: Reals, public: PublicParameters, sketches: tuple[PartialTrace, ...], rng: Generator
    ) -> TraceShadowSource:
        """Shadows of people who move as a release says."""
        imagination = SimulatedPeople(
            traces=self.traces, marginals=self.marginals, activity=self.activity, skew=self.skew
        )
        people = imagination.people(imagination.habits(release, public), public, rng)
        simulator = ShadowSimulator(public, Crowd(people), sketches)
        return TraceShadowSource(simulator, simulator, self.sampling)


@dataclass(frozen=True, eq=False)
class LogisticRule:
    """A line, less the threshold."""

    line: SparseLinearModel
    cutoff: float

    def __call__(self, outputs: Reals) -> Reals:
        return self.line(outputs) - self.cutoff


@dataclass(frozen=True, eq=False)
class LogisticLearner:
    """Learns to classify one target."""

    attack: Attack
    public: PublicParameters
    sketches: tuple[PartialTrace, ...]

    @property
    def front(self) -> ContradictionRule | None:
        """The rule to ask before the classifier, if any."""
        return ContradictionRule(self.public, self.sketches) if self.attack.rule else None

    def __call__(self, teacher: TrainCheckSource, piece: TargetTask) -> TargetRule:
        n = self.attack.shadows or SHADOWS
        everywhere = np.arange(self.public.map.n_cells)
        shadows = teacher.train(piece.target, everywhere, n + n % 2, piece.rng)
        line = fit_l1_logistic(shadows, strength=self.attack.strength)
        return TargetRule(line.columns, LogisticRule(line, self._cutoff(line, teacher, piece)))

    def _cutoff(self, line: SparseLinearModel, teacher: TrainCheckSource, piece: TargetTask) -> float:
        """The threshold that does best on shadows which nothing was learned from, and which pass the rule."""
        own = self.sketches[piece.target].cells
        columns = np.union1d(line.columns, own)
        shadows = teacher.check(piece.target, columns, self.attack.validation or VALIDATION, piece.rng)
        passed = np.ones(shadows.members.size, dtype=bool)
        if self.attack.rule and contradiction_applies(self.public, self.sketches[piece.target]):
            passed = ~any_cell_empty(shadows.outputs[:, np.searchsorted(columns, own)])
        scores = line(shadows.left[:, np.searchsorted(columns, line.columns)])
        return best_cutoff(scores[passed], shadows.members[passed])


@dataclass(frozen=True, eq=False)
class SharedLogisticScorer:
    """Scores all releases by one classifier for each target."""

    watches: PerTargetScorer
    front: ContradictionRule | None

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        scores = self.watches(view, rng)
        return scores if self.front is None else self.front(view, scores)


@dataclass(frozen=True, eq=False)
class PerReleaseLogisticScorer:
    """Scores each release by classifiers that learned from it alone (Guan et al. 2024)."""

    pupil: LogisticLearner

    def __call__(self, view: LocationsView, rng: Generator) -> Reals:
        whole = view.whole
        scores = np.array([self._score(release, own) for release, own in zip(whole, rng.spawn(len(whole)))])
        return scores if self.pupil.front is None else self.pupil.front(view, scores)

    def _score(self, release: Reals, rng: Generator) -> list[float]:
        pupil = self.pupil
        teacher = pupil.attack.shadows_from_release(release, pupil.public, pupil.sketches, rng)
        pieces = [TargetTask(target, own) for target, own in enumerate(rng.spawn(len(pupil.sketches)))]
        watches = [pupil(teacher, piece) for piece in pieces]
        return [float(watch.rule(release[None, watch.cells])[0]) for watch in watches]
