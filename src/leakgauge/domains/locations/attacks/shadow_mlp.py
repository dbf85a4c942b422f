"""A network with one hidden layer on the target's cells, trained on shadows."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.locations.classifiers.mlp import RuleIndex, ScaledNetwork, fit_mlp, rule_index
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility.simulated_people import SimulatedPeople, known_profile
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.scorers import per_target_scorer
from leakgauge.domains.locations.scorers.thresholds import best_cutoff
from leakgauge.domains.locations.shadows.shadow_sources import (
    SplitPastReleases,
    TrainCheckSource,
    refuse_shadows_with_past,
    split_traces,
)
from leakgauge.domains.locations.shadows.simulator import TrainCheckShadows

SHADOWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Attack(per_target_scorer.LongStudy):
    """Train a network of sigmoid units on the target's cells minus the known counts (Liu et al. 2024).

    ``hidden`` is the number of units: "n" (as many as the target has cells) or a number (100 in Pyrgelis et
    al. 2018). The training ``shadows`` are groups drawn from one half of the traces. The ``validation``
    shadows are drawn from the other half; they determine when training stops, and the threshold. With
    knowledge "past" the earlier releases replace both, four training releases for each validation release.
    With "zero", ``traces`` synthetic people are generated from one earlier release.

    ``scorer.score.target_rules[target].rule.index`` shows how close the trained network is to the one- and
    two-threshold rules.
    """

    accepts: ClassVar[tuple[str, ...]] = ("auxiliary", "informed", "partial", "past", "zero", "friends")

    hidden: Literal["n"] | int = "n"
    shadows: int | None = None
    validation: int | None = None
    traces: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("hidden", 1),
            ("shadows", 20),
            ("validation", 10),
            ("traces", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, int) and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")

    def study(self, knowledge: LocationsKnowledge, rng: Generator) -> Scorer[LocationsView]:
        source, learner = self._shadow_source(knowledge, rng), MlpLearner(self, knowledge.sketches)
        target_rules = per_target_scorer.study_targets(
            learner, source, len(knowledge.sketches), rng, long=True
        )
        return Scorer(
            target_rules, Reading(threshold=0.0, signed=True, event=_describe_learned_rule(target_rules))
        )

    def _shadow_source(self, knowledge: LocationsKnowledge, rng: Generator) -> TrainCheckSource:
        public = knowledge.public
        match knowledge:
            case PastReleasesKnowledge():
                refuse_shadows_with_past("shadow_mlp", shadows=self.shadows, validation=self.validation)
                return SplitPastReleases(knowledge)
            case ZeroKnowledge():
                people = SimulatedPeople(traces=self.traces).people(known_profile(knowledge), public, rng)
                return split_traces(knowledge.sketches, public, people, 0.0, rng)
            case AuxiliaryKnowledge():
                known = knowledge.known_counts
                return split_traces(
                    knowledge.sketches, public, knowledge.reference, knowledge.theta, rng, known
                )


@dataclass(frozen=True, eq=False)
class MlpRule:
    """A network's score minus its threshold, and how close the network is to the threshold rules."""

    learned: ScaledNetwork
    cutoff: float
    index: RuleIndex

    def __call__(self, outputs: Reals) -> Reals:
        return self.learned(outputs) - self.cutoff


@dataclass(frozen=True, eq=False)
class MlpLearner:
    """Trains the network of one target."""

    attack: Attack
    sketches: tuple[PartialTrace, ...]

    def __call__(
        self, source: TrainCheckSource, task: per_target_scorer.TargetTask
    ) -> per_target_scorer.TargetRule:
        cells, n = self.sketches[task.target].cells, self.attack.shadows or SHADOWS
        n_check = self.attack.validation or int(np.clip(n // 4, 100, 20_000))
        train = source.train(task.target, cells, n + n % 2, task.rng)
        shadows = TrainCheckShadows(train, source.check(task.target, cells, n_check, task.rng).labelled())
        hidden = self.attack.hidden
        learned = fit_mlp(shadows, cells.size if hidden == "n" else hidden, task.rng)
        return per_target_scorer.TargetRule(cells, _mlp_rule(learned, shadows))


def _mlp_rule(learned: ScaledNetwork, shadows: TrainCheckShadows) -> MlpRule:
    train, check = shadows.train, shadows.check
    scores = learned(check.rows)
    middles = (train.rows[train.members].mean(axis=0) + train.rows[~train.members].mean(axis=0)) / 2
    votes = (check.rows >= middles).sum(axis=1).astype(np.float64)
    index = rule_index(learned.network.inner, scores, check.rows.sum(axis=1), votes)
    return MlpRule(learned, best_cutoff(scores, check.members), index)


def _describe_learned_rule(target_rules: per_target_scorer.PerTargetScorer) -> str:
    indices = [
        target_rule.rule.index
        for target_rule in target_rules.target_rules
        if isinstance(target_rule.rule, MlpRule)
    ]
    diagonal, one, two = np.mean([[i.diagonal, i.one_threshold, i.two_threshold] for i in indices], axis=0)
    return (
        f"a network with {diagonal:.2f} of its weights on their diagonal, whose scores correlate {one:.2f} "
        f"with the sum of the cells and {two:.2f} with their votes"
    )
