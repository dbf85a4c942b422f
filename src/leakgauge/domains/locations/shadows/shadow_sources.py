"""Where an attacker gets simulated releases to learn from: traces, earlier releases, or synthetic people."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.group_sampling.subset_sampler import Counts
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility.simulated_people import (
    SimulatedPeople,
    known_profile,
    refuse_values,
)
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.scorers.thresholds import known_tail_distribution
from leakgauge.domains.locations.shadows.simulator import LabelledShadows, PublicParameters, ShadowSimulator

ShadowSampling: TypeAlias = Literal["paired", "independent"]

DEFAULT_N_SHADOWS = 2_000  # as in Liu et al. (2024)
MIN_N_SHADOWS = 10

_MAX_ENTRIES = 1 << 22  # counts, or people, held in memory at once
_MIN_GROUPS_PER_HALF = 2  # traces are split if each half has at least this many times the group's size
_CHECK_EVERY = 5  # every fifth earlier release is kept for validation


@dataclass(frozen=True, eq=False)
class CheckShadows:
    """Shadows for validation; nothing is trained on them."""

    outputs: Reals
    left: Reals  # outputs minus the known counts
    members: Bits

    def labelled(self) -> LabelledShadows:
        return LabelledShadows(self.left, self.members)


class TrainCheckSource(Protocol):
    """Provides shadows of one target for training, and others for validation."""

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> LabelledShadows:
        """Return training shadows, in float32: outputs minus the known counts."""
        ...

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> CheckShadows:
        """Return independent shadows for validation."""
        ...


@dataclass(frozen=True, eq=False)
class TraceShadowSource:
    """Simulates releases of groups drawn from traces; training and validation may use different traces."""

    training: ShadowSimulator
    checking: ShadowSimulator
    sampling: ShadowSampling = "independent"

    @property
    def sketches(self) -> tuple[PartialTrace, ...]:
        """The partial traces of the targets."""
        return self.training.sketches

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> LabelledShadows:
        rows, members = np.empty((n, columns.size), np.float32), np.empty(n, dtype=bool)
        for first, size in _shadow_blocks(n, self.training, columns):
            match self.sampling:
                case "paired":
                    shadows = self.training.paired(target, columns, size // 2, rng)
                case _:
                    shadows = self.training.independent(target, columns, size, rng)
            rows[first : first + size], members[first : first + size] = shadows.left, shadows.members
        return LabelledShadows(rows, members)

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> CheckShadows:
        sizes = [size for _, size in _shadow_blocks(n, self.checking, columns)]
        parts = [self.checking.independent(target, columns, size, rng) for size in sizes]
        return CheckShadows(
            np.concatenate([part.outputs for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.members for part in parts]),
        )


def _shadow_blocks(n: int, simulator: ShadowSimulator, columns: Ints) -> list[tuple[int, int]]:
    """Return start and size of each block of shadows; sizes are even, so that half of each are members."""
    public = simulator.public
    cells = columns.size if isinstance(public.chain, ReleaseChain) else public.map.n_cells
    each = max(cells, public.group_size if simulator.n_known else 1)
    most = max(2, _MAX_ENTRIES // each // 2 * 2)
    return [(first, min(most, n - first)) for first in range(0, n, most)]


@dataclass(frozen=True, eq=False)
class SplitPastReleases:
    """Uses earlier releases as shadows; every fifth with and without the target is kept for validation."""

    past: PastReleasesKnowledge

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> LabelledShadows:
        taken = np.flatnonzero(~self._kept(target))
        rows = np.empty((taken.size, columns.size), np.float32)
        for row, release in zip(rows, taken, strict=True):
            row[:] = self.past.releases[release, columns]
        return LabelledShadows(rows, self.past.members[taken, target])

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> CheckShadows:
        kept = self._kept(target)
        outputs = self.past.releases[np.ix_(kept, columns)]
        return CheckShadows(outputs, outputs, self.past.members[kept, target])

    def _kept(self, target: int) -> Bits:
        members = self.past.members[:, target]
        kept = np.zeros(members.size, dtype=bool)
        for world in (members, ~members):
            rows = np.flatnonzero(world)
            if rows.size < 2:
                raise BadInput(
                    f"knowledge 'past': a target was in {members.sum()} of {members.size} earlier releases; "
                    "training needs at least two with it and two without; raise knowledge.releases"
                )
            kept[rows[::_CHECK_EVERY]] = True
        return kept


def split_traces(
    sketches: tuple[PartialTrace, ...],
    public: PublicParameters,
    people: Traces,
    theta: float,
    rng: Generator,
    known_counts: Counts | None = None,
) -> TraceShadowSource:
    """Train on one half of the people and validate on the other (Liu et al. 2024).

    Groups that take up most of a half would all be alike. If a half has fewer than twice the people of a
    group (the ratio in the paper), everybody is used for both.
    """
    public, theta = _beyond_known(ShadowSimulator(public, Crowd(people), sketches, theta))
    simulator = ShadowSimulator(public, Crowd(people), sketches, theta, known_counts)
    mixed = rng.permutation(people.n_people)
    halves = [np.sort(mixed[start::2]) for start in (0, 1)]
    needed = public.n_expected_others + (public.relation is Relation.REPLACE_ONE)
    if people.n_people // 2 < _MIN_GROUPS_PER_HALF * needed:
        return TraceShadowSource(simulator, simulator)
    training, checking = (replace(simulator, crowd=Crowd(people.of(half))) for half in halves)
    return TraceShadowSource(training, checking)


def refuse_shadows_with_past(attack: str, **numbers: int | None) -> None:
    """Refuse a number of shadows with knowledge 'past', where the earlier releases are the shadows."""
    for name, value in numbers.items():
        if value is not None:
            raise BadInput(
                f"{attack}: {name} = {value}, but with knowledge 'past' the earlier releases take their "
                "place; leave it out and set knowledge.releases"
            )


def _beyond_known(simulator: ShadowSimulator) -> tuple[PublicParameters, float]:
    """Return an equivalent game without known people, if there is one, else the same game.

    Outputs minus known counts do not depend on the known counts if the chain neither clamps nor suppresses.
    """
    public, n_known = simulator.public, simulator.n_known
    if n_known and isinstance(public.chain, ReleaseChain) and public.chain.shift_free:
        return replace(public, group_size=public.group_size - n_known), 0.0
    return public, simulator.theta


class ShadowSource(Protocol):
    """Provides shadows of one target (outputs minus known counts); it is a member in about half of them."""

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> LabelledShadows: ...


@dataclass(frozen=True, eq=False)
class AllPastReleases:
    """Uses all earlier releases as shadows."""

    past: PastReleasesKnowledge

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> LabelledShadows:
        members = self.past.members[:, target]
        if not 2 <= members.sum() <= members.size - 2:
            raise BadInput(
                f"knowledge 'past': a target was in {members.sum()} of {members.size} earlier releases; "
                "a threshold needs at least two with it and two without; raise knowledge.releases"
            )
        return LabelledShadows(self.past.releases[:, columns], members)


def shadow_source(knowledge: LocationsKnowledge, rng: Generator) -> ShadowSource:
    """Return the source of shadows for the attacker's knowledge."""
    match knowledge:
        case PastReleasesKnowledge():
            return AllPastReleases(knowledge)
        case ZeroKnowledge():
            crowd = Crowd(people_to_sample(knowledge, rng))
            simulator = ShadowSimulator(knowledge.public, crowd, knowledge.sketches)
        case AuxiliaryKnowledge():
            simulator = knowledge.simulator
    return TraceShadowSource(simulator, simulator)


def people_to_sample(knowledge: AuxiliaryKnowledge | ZeroKnowledge, rng: Generator) -> Traces:
    """Return people to draw groups from: the reference, or synthetic people estimated from a release."""
    if isinstance(knowledge, AuxiliaryKnowledge):
        return knowledge.reference
    refuse_values(knowledge.public.map)
    return SimulatedPeople().people(known_profile(knowledge), knowledge.public, rng)


def n_shadows(attack: str, wanted: int | None, knowledge: LocationsKnowledge) -> int:
    """Return the number of shadows to learn a threshold from; 0 to compute it from the noise distribution."""
    if isinstance(knowledge, PastReleasesKnowledge):
        refuse_shadows_with_past(attack, shadows=wanted)
        return len(knowledge.releases)
    if wanted is None:
        return 0 if known_tail_distribution(knowledge) is not None else DEFAULT_N_SHADOWS
    if wanted == 0 and known_tail_distribution(knowledge) is None:
        why = "that of your own pipeline is not known"
        if isinstance(knowledge.public.chain, ReleaseChain):
            why = "computes with values 0 and 1 only, and this table has values above 1"
        raise BadInput(
            f"{attack}: shadows = 0 needs a known noise distribution, and {why}; "
            f"set shadows to {MIN_N_SHADOWS} or more"
        )
    if wanted != 0 and not wanted >= MIN_N_SHADOWS:
        raise BadInput(f"{attack}: shadows must be 0 or >= {MIN_N_SHADOWS}, got {wanted}")
    return wanted + wanted % 2
