"""What an attacker of published counts may know; nothing else reaches an attack."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from leakgauge.core.game import Bits, Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN, target_knowledge
from leakgauge.domains.locations.challenger import PARTIAL_TRACES, Challenger
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.plan_tables import read_knowledge_table
from leakgauge.domains.locations.release import LocationsBlock, LocationsView
from leakgauge.domains.locations.shadows.simulator import OtherMembers, PublicParameters, ShadowSimulator
from leakgauge.support.table_reader import require_known


@dataclass(frozen=True, eq=False)
class AuxiliaryKnowledge:
    """Holds traces of other people like those in the group, and of a share ``theta`` of the group."""

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]  # of the targets
    crowd: Crowd  # the reference, without the targets
    theta: float

    @property
    def reference(self) -> Traces:
        return self.crowd.traces

    @property
    def simulator(self) -> ShadowSimulator:
        """Plays the game with the reference."""
        return ShadowSimulator(self.public, self.crowd, self.sketches, self.theta)

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

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, self.simulator.n_known)


@dataclass(frozen=True, eq=False)
class PastReleasesKnowledge:
    """Holds earlier releases, and knows in which of them each target was (Pyrgelis et al. 2018)."""

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]
    releases: Reals  # one row each, over all cells
    members: Bits  # releases x targets

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, 0)


@dataclass(frozen=True, eq=False)
class ZeroKnowledge:
    """Knows something of the targets and nothing of anybody else: all the rest comes from the release itself.

    ``earlier`` is one release of the same kind, in which nobody's membership is known; for attacks that learn
    once instead of from every release again (Guan et al. 2024).
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]
    earlier: Reals  # over all cells

    def prior(self, target: int, rates: Reals) -> CountPrior:
        """The law of the others' counts in a target's cells, given the chance of one person to be there."""
        return count_prior(self.public, self.sketches, target, rates, 0)

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, 0)


LocationsKnowledge: TypeAlias = AuxiliaryKnowledge | PastReleasesKnowledge | ZeroKnowledge


def count_prior(
    public: PublicParameters, all_sketches: tuple[PartialTrace, ...], target: int, rates: Reals, n_known: int
) -> CountPrior:
    """The others, a chance each to be in a cell; and the other targets seen there, a fair coin each."""
    company = OtherMembers.beside(target, all_sketches, public.n_others, public.n_targets, public.relation)
    return company.prior(all_sketches[target], rates, n_known)


def build(name: str, parameters: dict[str, Any], challenger: Challenger, seed: int) -> LocationsKnowledge:
    """Give an attacker what it may know of a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    table = read_knowledge_table(name, parameters)
    public = PublicParameters(
        challenger.chain,
        challenger.setting.group_size,
        challenger.n_targets,
        challenger.setting.relation,
        challenger.traces.map,
    )
    rng = stream(seed, Role.DATA, PARTIAL_TRACES)
    if name == "zero":
        _, block = challenger.earlier(1)
        earlier = block.whole[0]
        return ZeroKnowledge(
            public, target_knowledge.traces_from_release(table, challenger, public, earlier, rng), earlier
        )
    if name == "past":
        members, block = challenger.earlier(table.releases)
        return PastReleasesKnowledge(
            public, target_knowledge.known_trace_parts(table, challenger, rng), block.whole, members
        )
    if name == "friends":
        found = target_knowledge.traces_from_friends(table, challenger)
    else:
        found = target_knowledge.traces_from_reference(table, challenger, challenger.reference.traces, rng)
    theta = {"informed": 1.0, "partial": table.theta}.get(name) or 0.0
    return AuxiliaryKnowledge(public, found, challenger.reference, theta)
