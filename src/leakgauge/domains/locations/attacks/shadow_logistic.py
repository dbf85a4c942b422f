"""A straight classifier of whole releases, learned from shadows with and without the target (Knock-Knock)."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Reals, Scorer
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.habits.activity import Activity, log_variance
from leakgauge.domains.locations.habits.imagining import Imagination, Marginals
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Seen, Zero
from leakgauge.domains.locations.rules.by_cells import ByCells, Piece, Watch, study_each
from leakgauge.domains.locations.shadows.contradiction import Front, applies, nobody_there
from leakgauge.domains.locations.shadows.simulator import Public, Simulator
from leakgauge.domains.locations.shadows.teaching import (
    FromReleases,
    FromTraces,
    Sampling,
    Teacher,
    refuse_besides_past,
)
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.strategies.cutoffs import best_cutoff
from leakgauge.strategies.l1_logistic import Line, learn

KNOWLEDGE = "auxiliary"
ACCEPTS = ("auxiliary", "past", "zero", "friends", "partial", "informed")

Knowledge: TypeAlias = Auxiliary | Past | Zero

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

    sampling: Sampling = "paired"
    shadows: int | None = None
    validation: int | None = None
    strength: float = 1.0
    rule: bool = True
    reuse: bool = True
    marginals: Marginals = "deconvolution"
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

    def study(self, knowledge: Knowledge, rng: Generator) -> Scorer[Seen]:
        reading = Reading(threshold=0.0, signed=True)
        pupil = Pupil(self, knowledge.public, knowledge.sketches)
        if isinstance(knowledge, Zero) and not self.reuse:
            return Scorer(OncePerRelease(pupil), reading)
        watches = study_each(pupil, self._teacher(knowledge, rng), len(knowledge.sketches), rng, long=True)
        return Scorer(OnceForAll(watches, pupil.front), reading)

    def _teacher(self, knowledge: Knowledge, rng: Generator) -> Teacher:
        match knowledge:
            case Past():
                refuse_besides_past("shadow_logistic", shadows=self.shadows, validation=self.validation)
                return FromReleases(knowledge)
            case Zero():
                return self.taught_by(knowledge.earlier, knowledge.public, knowledge.sketches, rng)
            case Auxiliary():
                simulator = knowledge.simulator
                return FromTraces(simulator, simulator, self.sampling)

    def taught_by(
        self, release: Reals, public: Public, sketches: tuple[Sketch, ...], rng: Generator
    ) -> FromTraces:
        """Shadows of people who move as a release says."""
        imagination = Imagination(
            traces=self.traces, marginals=self.marginals, activity=self.activity, skew=self.skew
        )
        people = imagination.people(imagination.habits(release, public), public, rng)
        simulator = Simulator(public, Crowd(people), sketches)
        return FromTraces(simulator, simulator, self.sampling)


@dataclass(frozen=True, eq=False)
class Cut:
    """A line, less the threshold."""

    line: Line
    cutoff: float

    def __call__(self, outputs: Reals) -> Reals:
        return self.line(outputs) - self.cutoff


@dataclass(frozen=True, eq=False)
class Pupil:
    """Learns to classify one target."""

    attack: Attack
    public: Public
    sketches: tuple[Sketch, ...]

    @property
    def front(self) -> Front | None:
        """The rule to ask before the classifier, if any."""
        return Front(self.public, self.sketches) if self.attack.rule else None

    def __call__(self, teacher: Teacher, piece: Piece) -> Watch:
        n = self.attack.shadows or SHADOWS
        everywhere = np.arange(self.public.map.n_cells)
        shadows = teacher.train(piece.target, everywhere, n + n % 2, piece.rng)
        line = learn(shadows, strength=self.attack.strength)
        return Watch(line.columns, Cut(line, self._cutoff(line, teacher, piece)))

    def _cutoff(self, line: Line, teacher: Teacher, piece: Piece) -> float:
        """The threshold that does best on shadows which nothing was learned from, and which pass the rule."""
        own = self.sketches[piece.target].cells
        columns = np.union1d(line.columns, own)
        shadows = teacher.check(piece.target, columns, self.attack.validation or VALIDATION, piece.rng)
        passed = np.ones(shadows.members.size, dtype=bool)
        if self.attack.rule and applies(self.public, self.sketches[piece.target]):
            passed = ~nobody_there(shadows.outputs[:, np.searchsorted(columns, own)])
        scores = line(shadows.left[:, np.searchsorted(columns, line.columns)])
        return best_cutoff(scores[passed], shadows.members[passed])


@dataclass(frozen=True, eq=False)
class OnceForAll:
    """Scores all releases by one classifier for each target."""

    watches: ByCells
    front: Front | None

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        scores = self.watches(seen, rng)
        return scores if self.front is None else self.front(seen, scores)


@dataclass(frozen=True, eq=False)
class OncePerRelease:
    """Scores each release by classifiers that learned from it alone (Guan et al. 2024)."""

    pupil: Pupil

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        whole = seen.whole
        scores = np.array([self._score(release, own) for release, own in zip(whole, rng.spawn(len(whole)))])
        return scores if self.pupil.front is None else self.pupil.front(seen, scores)

    def _score(self, release: Reals, rng: Generator) -> list[float]:
        pupil = self.pupil
        teacher = pupil.attack.taught_by(release, pupil.public, pupil.sketches, rng)
        pieces = [Piece(target, own) for target, own in enumerate(rng.spawn(len(pupil.sketches)))]
        watches = [pupil(teacher, piece) for piece in pieces]
        return [float(watch.rule(release[None, watch.cells])[0]) for watch in watches]
