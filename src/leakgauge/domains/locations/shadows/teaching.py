"""What a classifier learns a target's membership from: shadows of traces, or earlier releases."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.knowledge import Past
from leakgauge.domains.locations.shadows.simulator import Public, Simulator
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints, Traces
from leakgauge.strategies.lessons import Labelled

Sampling: TypeAlias = Literal["paired", "independent"]

_ENTRIES = 1 << 22  # counts, or people, that are held at once
_ROOM = 2  # times a group's size, to draw it from
_EVERY = 5  # one in so many earlier releases is kept to check by


@dataclass(frozen=True, eq=False)
class Checks:
    """Shadows that nothing is learned from."""

    outputs: Reals
    left: Reals  # beyond the known counts
    members: Bits

    def labelled(self) -> Labelled:
        return Labelled(self.left, self.members)


class Teacher(Protocol):
    """Gives shadows of one target to learn from, and others to check by."""

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> Labelled:
        """Shadows to learn from, in float32: what was published beyond the known counts."""
        ...

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> Checks:
        """Independent shadows to check by."""
        ...


@dataclass(frozen=True, eq=False)
class FromTraces:
    """Draws groups from traces and publishes them; the traces to check by may be other ones."""

    training: Simulator
    checking: Simulator
    sampling: Sampling = "independent"

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        """Of the targets."""
        return self.training.sketches

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> Labelled:
        rows, members = np.empty((n, columns.size), np.float32), np.empty(n, dtype=bool)
        for first, size in _blocks(n, self.training, columns):
            match self.sampling:
                case "paired":
                    shadows = self.training.paired(target, columns, size // 2, rng)
                case _:
                    shadows = self.training.independent(target, columns, size, rng)
            rows[first : first + size], members[first : first + size] = shadows.left, shadows.members
        return Labelled(rows, members)

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> Checks:
        sizes = [size for _, size in _blocks(n, self.checking, columns)]
        parts = [self.checking.independent(target, columns, size, rng) for size in sizes]
        return Checks(
            np.concatenate([part.outputs for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.members for part in parts]),
        )


def _blocks(n: int, simulator: Simulator, columns: Ints) -> list[tuple[int, int]]:
    """Where blocks of shadows begin and how many they are: even numbers, so that both worlds are in each."""
    public = simulator.public
    cells = columns.size if isinstance(public.chain, Chain) else public.map.n_cells
    each = max(cells, public.group_size if simulator.n_known else 1)
    most = max(2, _ENTRIES // each // 2 * 2)
    return [(first, min(most, n - first)) for first in range(0, n, most)]


@dataclass(frozen=True, eq=False)
class FromReleases:
    """Takes earlier releases as shadows; every fifth of each world is kept to check by."""

    past: Past

    def train(self, target: int, columns: Ints, n: int, rng: Generator) -> Labelled:
        taken = np.flatnonzero(~self._kept(target))
        rows = np.empty((taken.size, columns.size), np.float32)
        for row, release in zip(rows, taken, strict=True):
            row[:] = self.past.releases[release, columns]
        return Labelled(rows, self.past.members[taken, target])

    def check(self, target: int, columns: Ints, n: int, rng: Generator) -> Checks:
        kept = self._kept(target)
        outputs = self.past.releases[np.ix_(kept, columns)]
        return Checks(outputs, outputs, self.past.members[kept, target])

    def _kept(self, target: int) -> Bits:
        members = self.past.members[:, target]
        kept = np.zeros(members.size, dtype=bool)
        for world in (members, ~members):
            rows = np.flatnonzero(world)
            if rows.size < 2:
                raise BadInput(
                    f"knowledge 'past': a target was in {members.sum()} of {members.size} earlier releases; "
                    "two with it and two without are the least to learn from; raise knowledge.releases"
                )
            kept[rows[::_EVERY]] = True
        return kept


def by_halves(
    sketches: tuple[Sketch, ...], public: Public, people: Traces, theta: float, rng: Generator
) -> FromTraces:
    """One half of the people to learn by, the other to check by (Liu et al. 2024).

    Groups that take up most of a half would all be alike; where a half is not twice a group, as it is in the
    paper, everybody serves both.
    """
    public, theta = _beyond_known(Simulator(public, Crowd(people), sketches, theta))
    mixed = rng.permutation(people.n_people)
    halves = [np.sort(mixed[start::2]) for start in (0, 1)]
    needed = public.n_company + (public.relation is Relation.REPLACE_ONE)
    if people.n_people // 2 < _ROOM * needed:
        whole = Simulator(public, Crowd(people), sketches, theta)
        return FromTraces(whole, whole)
    training, checking = (Simulator(public, Crowd(people.of(half)), sketches, theta) for half in halves)
    return FromTraces(training, checking)


def refuse_besides_past(attack: str, **numbers: int | None) -> None:
    """Refuse numbers of shadows where earlier releases are the shadows."""
    for name, value in numbers.items():
        if value is not None:
            raise BadInput(
                f"{attack}: {name} = {value}, but with knowledge 'past' the earlier releases take their "
                "place; leave it out and set knowledge.releases"
            )


def _beyond_known(simulator: Simulator) -> tuple[Public, float]:
    """A game of the same law beyond the known counts, without known people, where there is one.

    What is published beyond known counts does not depend on them if the chain neither clamps nor suppresses.
    """
    public, n_known = simulator.public, simulator.n_known
    if n_known and isinstance(public.chain, Chain) and public.chain.shift_free:
        return replace(public, group_size=public.group_size - n_known), 0.0
    return public, simulator.theta
