"""A network with one hidden layer that learns to read a target's cells from shadows."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.locations.classifiers.mlp import ScaledNetwork, fit_mlp
from leakgauge.domains.locations.classifiers.sigmoid_network import RuleIndex, rule_index
from leakgauge.domains.locations.counts.score_thresholds import best_cutoff
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility.simulated_people import (
    SimulatedPeople,
    known_profile,
    people_of_other_city,
    stand_in_target,
)
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.scorers.per_target_scorer import (
    PerTargetScorer,
    TargetRule,
    TargetTask,
    study_targets,
)
from leakgauge.domains.locations.shadows.shadow_releases import TrainCheckShadows
from leakgauge.domains.locations.shadows.shadow_sources import (
    SplitPastReleases,
    TraceShadowSource,
    TrainCheckSource,
    refuse_shadows_with_past,
    split_traces,
)

SHADOWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Learn a network of sigmoid units on what a target's cells hold beyond known counts (Liu et al. 2024).

    ``hidden`` units: "n", as many as the target has cells, or a number (100 in Pyrgelis et al. 2018).
    ``shadows`` to learn from are groups of one half of the traces, ``validation`` shadows groups of the other
    half: they say when to stop, and choose the threshold. With knowledge "past" the earlier releases take the
    place of both, four to one; with "zero" people are imagined from one earlier release.

    ``pretrain``: learn from so many ``pretrain_shadows`` first, of "public" people, of a generated city, or
    of "synthetic" ones, who move as the people do whom the attacker knows of. Which rule was learned is
    said by the index of each network: ``scorer.score.watches[target].rule.index``.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    hidden: Literal["n"] | int = "n"
    shadows: int | None = None
    validation: int | None = None
    pretrain: Literal["public", "synthetic"] | None = None
    pretrain_shadows: int = 200_000
    traces: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("hidden", 1),
            ("shadows", 20),
            ("validation", 10),
            ("pretrain_shadows", 20),
            ("traces", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, int) and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        teachers = PretrainSources(self._shadow_source(knowledge, rng), self._before(knowledge, rng))
        pupil = MlpLearner(self, knowledge.sketches)
        watches = study_targets(pupil, teachers, len(knowledge.sketches), rng, long=True)
        return Scorer(watches, Reading(threshold=0.0, signed=True, event=_describe_learned_rule(watches)))

    def _shadow_source(self, knowledge: LocationsKnowledge, rng: Generator) -> TrainCheckSource:
        public = knowledge.public
        match knowledge:
            case PastReleasesKnowledge():
                refuse_shadows_with_past("shadow_mlp", shadows=self.shadows, validation=self.validation)
                return SplitPastReleases(knowledge)
            case ZeroKnowledge():
                people = self._simulated_people.people(known_profile(knowledge), public, rng)
                return split_traces(knowledge.sketches, public, people, 0.0, rng)
            case AuxiliaryKnowledge():
                return split_traces(knowledge.sketches, public, knowledge.reference, knowledge.theta, rng)

    @property
    def _simulated_people(self) -> SimulatedPeople:
        return SimulatedPeople(traces=self.traces)

    def _before(self, knowledge: LocationsKnowledge, rng: Generator) -> TraceShadowSource | None:
        """What to learn from beforehand."""
        public = knowledge.public
        theta = knowledge.theta if isinstance(knowledge, AuxiliaryKnowledge) else 0.0
        match self.pretrain:
            case "public":
                people = people_of_other_city(public.map, self._simulated_people.n_people(public), rng)
                others = tuple(stand_in_target(people, sketch, rng) for sketch in knowledge.sketches)
                return split_traces(others, public, people, theta, rng)
            case "synthetic":
                people = self._simulated_people.people(known_profile(knowledge), public, rng)
                return split_traces(knowledge.sketches, public, people, theta, rng)
            case _:
                return None


@dataclass(frozen=True, eq=False)
class PretrainSources:
    """Who gives the shadows, and who gave some before."""

    main: TrainCheckSource
    before: TraceShadowSource | None


@dataclass(frozen=True, eq=False)
class MlpRule:
    """A network, less its threshold, and what is seen of the rule it learned."""

    learned: ScaledNetwork
    cutoff: float
    index: RuleIndex

    def __call__(self, outputs: Reals) -> Reals:
        return self.learned(outputs) - self.cutoff


@dataclass(frozen=True, eq=False)
class MlpLearner:
    """Learns to classify one target."""

    attack: Attack
    sketches: tuple[PartialTrace, ...]

    def __call__(self, teachers: PretrainSources, piece: TargetTask) -> TargetRule:
        sketch = self.sketches[piece.target]
        lessons = [self._lesson(teachers.main, sketch, piece, self.attack.shadows or SHADOWS)]
        if (before := teachers.before) is not None:
            other = before.sketches[piece.target]
            lessons.insert(0, self._lesson(before, other, piece, self.attack.pretrain_shadows))
        hidden = self.attack.hidden
        learned = fit_mlp(lessons, sketch.cells.size if hidden == "n" else hidden, piece.rng)
        return TargetRule(sketch.cells, _mlp_rule(learned, lessons[-1]))

    def _lesson(
        self, teacher: TrainCheckSource, sketch: PartialTrace, piece: TargetTask, n: int
    ) -> TrainCheckShadows:
        n_check = self.attack.validation or int(np.clip(n // 4, 100, 20_000))
        train = teacher.train(piece.target, sketch.cells, n + n % 2, piece.rng)
        check = teacher.check(piece.target, sketch.cells, n_check, piece.rng)
        return TrainCheckShadows(train, check.labelled())


def _mlp_rule(learned: ScaledNetwork, lesson: TrainCheckShadows) -> MlpRule:
    train, check = lesson.train, lesson.check
    scores = learned(check.rows)
    middles = (train.rows[train.members].mean(axis=0) + train.rows[~train.members].mean(axis=0)) / 2
    votes = (check.rows >= middles).sum(axis=1).astype(np.float64)
    index = rule_index(learned.network.inner, scores, check.rows.sum(axis=1), votes)
    return MlpRule(learned, best_cutoff(scores, check.members), index)


def _describe_learned_rule(watches: PerTargetScorer) -> str:
    indices = [watch.rule.index for watch in watches.watches if isinstance(watch.rule, MlpRule)]
    diagonal, one, two = np.mean([[i.diagonal, i.one_threshold, i.two_threshold] for i in indices], axis=0)
    return (
        f"a network with {diagonal:.2f} of its weights on their diagonal, whose scores correlate {one:.2f} "
        f"with the sum of the cells and {two:.2f} with their votes"
    )
