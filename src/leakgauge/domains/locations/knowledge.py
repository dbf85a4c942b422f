"""What an adversary of published counts may know; nothing else reaches an attack."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.core.settings import require
from leakgauge.domains.locations import target_traces
from leakgauge.domains.locations.challenger import SKETCHES, Challenger
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.played import Played, Result
from leakgauge.domains.locations.shadows.company import Company
from leakgauge.domains.locations.shadows.simulator import Public, Simulator
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints, Traces
from leakgauge.strategies.count_ratios import CountPrior


@dataclass(frozen=True, eq=False)
class Seen:
    """What reaches an adversary of a block: what is published, and the counts of people it knows to be in."""

    played: Played
    n_known: int

    @property
    def n_rounds(self) -> int:
        return len(self.played.rounds.members)

    def at(self, columns: Ints) -> Reals:
        """The published counts of some cells, a row for each round."""
        return self.played.at(columns)

    def known(self, columns: Ints) -> Reals:
        """How many of the people it knows are in these cells."""
        return self.played.known(self.n_known, columns).astype(np.float64)

    @property
    def whole(self) -> Reals:
        """Everything published, a row for each round."""
        return self.played.whole

    def once(self, key: Hashable, make: Callable[[Reals], Result]) -> Result:
        """What ``make`` makes of everything published, made once for all adversaries who ask for it."""
        return self.played.once(key, lambda: make(self.whole))


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """Holds traces of other people like those in the group, and of a share ``theta`` of the group."""

    public: Public
    sketches: tuple[Sketch, ...]  # of the targets
    crowd: Crowd  # the reference, without the targets
    theta: float

    @property
    def reference(self) -> Traces:
        return self.crowd.traces

    @property
    def simulator(self) -> Simulator:
        """Plays the game with the reference."""
        return Simulator(self.public, self.crowd, self.sketches, self.theta)

    @cached_property
    def visitors(self) -> Ints:
        """How many of the reference visited each cell."""
        return self.reference.visitors()

    def prior(self, target: int, pseudo: float) -> CountPrior:
        """The law of the others' counts in a target's cells; ``pseudo`` people are spread over all cells."""
        cells = self.sketches[target].cells
        n = self.reference.n_people
        share = self.visitors.sum() / (n * self.public.map.n_cells)
        rates = (self.visitors[cells] + pseudo * share) / (n + pseudo)
        return count_prior(self.public, self.sketches, target, rates, self.simulator.n_known)

    def view(self, played: Played) -> Seen:
        return Seen(played, self.simulator.n_known)


@dataclass(frozen=True, eq=False)
class Past:
    """Holds earlier releases, and knows in which of them each target was (Pyrgelis et al. 2018)."""

    public: Public
    sketches: tuple[Sketch, ...]
    releases: Reals  # one row each, over all cells
    members: Bits  # releases x targets

    def view(self, played: Played) -> Seen:
        return Seen(played, 0)


@dataclass(frozen=True, eq=False)
class Zero:
    """Knows something of the targets and nothing of anybody else: all the rest comes from the release itself.

    ``earlier`` is one release of the same kind, in which nobody's membership is known; for attacks that learn
    once instead of from every release anew (Guan et al. 2024).
    """

    public: Public
    sketches: tuple[Sketch, ...]
    earlier: Reals  # over all cells

    def prior(self, target: int, rates: Reals) -> CountPrior:
        """The law of the others' counts in a target's cells, given the chance of one person to be there."""
        return count_prior(self.public, self.sketches, target, rates, 0)

    def view(self, played: Played) -> Seen:
        return Seen(played, 0)


def count_prior(
    public: Public, all_sketches: tuple[Sketch, ...], target: int, rates: Reals, n_known: int
) -> CountPrior:
    """The others, a chance each to be in a cell; and the other targets seen there, a fair coin each."""
    company = Company.beside(target, all_sketches, public.n_others, public.n_targets, public.relation)
    return company.prior(all_sketches[target], rates, n_known)


NAMES = {
    "informed": "Holds the traces of everybody else in the group.",
    "partial": "Holds the traces of a share theta of the others in the group, and of people like them.",
    "auxiliary": "Holds the traces of other people, like those in the group (Knock-Knock).",
    "past": "Holds earlier releases, and knows in which of them each target was (Knock-Knock).",
    "zero": "Holds a part of the target's trace and sees the release; nothing else.",
    "friends": "Holds traces of the target's friends and of other people, but not of the target (LocMIA).",
}
DEFAULT = "auxiliary"
PRIVATE = ("friends",)


def build(
    name: str, parameters: dict[str, Any], challenger: Challenger, seed: int
) -> Auxiliary | Past | Zero:
    """Give an adversary what it may know of a challenger."""
    require(name, list(NAMES), "knowledge: none")
    table = target_traces.read_table(name, parameters)
    public = Public(
        challenger.chain,
        challenger.setting.group_size,
        challenger.n_targets,
        challenger.setting.relation,
        challenger.traces.map,
    )
    rng = stream(seed, Role.DATA, SKETCHES)
    if name == "zero":
        _, played = challenger.earlier(1)
        earlier = played.whole[0]
        return Zero(public, target_traces.by_release(table, challenger, public, earlier, rng), earlier)
    if name == "past":
        members, played = challenger.earlier(table.releases)
        return Past(public, target_traces.known_parts(table, challenger, rng), played.whole, members)
    if name == "friends":
        found = target_traces.by_friends(table, challenger)
    else:
        found = target_traces.by_reference(table, challenger, challenger.reference.traces, rng)
    theta = {"informed": 1.0, "partial": table.theta}.get(name) or 0.0
    return Auxiliary(public, found, challenger.reference, theta)
