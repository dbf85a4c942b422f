"""The kinds of knowledge of an attacker of published counts; attacks receive nothing else."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, KnowledgeBySplit, Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN, target_knowledge
from leakgauge.domains.locations.challenger import PARTIAL_TRACES, Challenger
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.plan_tables import read_knowledge_table
from leakgauge.domains.locations.release import LocationsBlock, LocationsView
from leakgauge.domains.locations.shadows.simulator import (
    OtherMembers,
    PublicParameters,
    ShadowCounts,
    ShadowSimulator,
)
from leakgauge.support.table_reader import require_known
from leakgauge.support.work_count import sampled_work


@dataclass(frozen=True, eq=False)
class AuxiliaryKnowledge:
    """Knows the traces of similar people, and of a share ``theta`` of the other group members."""

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]  # of the targets
    crowd: Crowd  # the reference, without the targets
    theta: float
    known_counts: ShadowCounts | None = None  # of the known members, where they are the same in every round

    @property
    def reference(self) -> Traces:
        return self.crowd.traces

    @property
    def simulator(self) -> ShadowSimulator:
        """Simulates releases with groups drawn from the reference."""
        return ShadowSimulator(self.public, self.crowd, self.sketches, self.theta, self.known_counts)

    @cached_property
    def visitors(self) -> Ints:
        """How many people of the reference visited each cell."""
        return self.reference.visitors()

    def prior(self, target: int, pseudo: float) -> CountPrior:
        """The distribution of the others' counts in a target's cells.

        ``pseudo`` people are spread evenly over all cells.
        """
        cells = self.sketches[target].cells
        n = self.reference.n_people * self.public.map.max_value
        share = self.visitors.sum() / (n * self.public.map.n_cells)
        rates = (self.visitors[cells] + pseudo * share) / (n + pseudo)
        return count_prior(self.public, self.sketches, target, rates, self.simulator.n_known)

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, self.simulator.n_known)


@dataclass(frozen=True, eq=False)
class PastReleasesKnowledge:
    """Knows earlier releases, and in which of them each target was a member (Pyrgelis et al. 2018)."""

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]
    releases: Reals  # one row each, over all cells
    members: Bits  # releases x targets

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, 0)


@dataclass(frozen=True, eq=False)
class ZeroKnowledge:
    """Knows parts of the targets' traces and no data of other people; the rest is estimated from the release.

    ``earlier`` is one release of the same kind with unknown members, for attacks that estimate once instead
    of from every release (Guan et al. 2024).
    """

    public: PublicParameters
    sketches: tuple[PartialTrace, ...]
    earlier: Reals  # over all cells

    def prior(self, target: int, rates: Reals) -> CountPrior:
        """The distribution of the others' counts in a target's cells.

        ``rates`` are the probabilities that one person visits each cell.
        """
        return count_prior(self.public, self.sketches, target, rates, 0)

    def view(self, block: LocationsBlock) -> LocationsView:
        return LocationsView(block, 0)


BY_REFERENCE = ("partial", "auxiliary", "friends")  # depends on the reference even if everyone is counted

LocationsKnowledge: TypeAlias = AuxiliaryKnowledge | PastReleasesKnowledge | ZeroKnowledge


def count_prior(
    public: PublicParameters, all_sketches: tuple[PartialTrace, ...], target: int, rates: Reals, n_known: int
) -> CountPrior:
    """Others visit a cell with probability ``rates``; other targets known to visit it count with 1/2 each."""
    others = OtherMembers.beside(target, all_sketches, public.n_others, public.n_targets, public.relation)
    on = public.map
    return others.prior(all_sketches[target], rates, n_known, on.max_value, dense=not on.timed)


def build(
    name: str, parameters: dict[str, Any], challenger: Challenger, seed: int
) -> LocationsKnowledge | KnowledgeBySplit[LocationsBlock, LocationsView]:
    """Build the knowledge that a plan grants an attacker: for each split of the people, if several.

    Where work is sampled, as for an estimate of its cost, all splits get the knowledge of one or two of them.
    """
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    depends = name in BY_REFERENCE or not challenger.table.everyone
    if depends and challenger.n_splits > 1:
        one_split, kind = partial(_build, name, parameters, seed=seed), object()
        return KnowledgeBySplit(
            tuple(sampled_work(kind, partial(one_split, one)) for one in challenger.by_split)
        )
    return _build(name, parameters, challenger, seed)


def public_parameters(challenger: Challenger) -> PublicParameters:
    """What of a challenger is public."""
    return PublicParameters(
        challenger.chain,
        challenger.group_size,
        challenger.n_targets,
        challenger.table.relation,
        challenger.traces.map,
        challenger.table.everyone,
    )


def _build(name: str, parameters: dict[str, Any], challenger: Challenger, seed: int) -> LocationsKnowledge:
    table = read_knowledge_table(name, parameters)
    public = public_parameters(challenger)
    rng = stream(seed, Role.DATA, PARTIAL_TRACES)
    if name == "zero":
        _, block = challenger.earlier(1)
        earlier = block.whole[0]
        return ZeroKnowledge(
            public, target_knowledge.traces_from_release(table, challenger, public, earlier, rng), earlier
        )
    if name == "past":
        if challenger.table.everyone:
            raise BadInput(
                "knowledge 'past' needs earlier releases of other groups, and with group_size = \"everyone\" "
                "all releases count the same people; leave this attacker out, or write a number as group_size"
            )
        members, block = challenger.earlier(table.releases)
        return PastReleasesKnowledge(
            public, target_knowledge.known_trace_parts(table, challenger, rng), block.whole, members
        )
    if name == "friends":
        if challenger.invented:
            raise BadInput(
                "the trace of the control's target is invented, and nobody's friends have one like it"
            )
        sketches = target_knowledge.traces_from_friends(table, challenger)
    else:
        sketches = target_knowledge.traces_from_reference(table, challenger, challenger.reference.traces, rng)
    theta = {"informed": 1.0, "partial": table.theta}.get(name) or 0.0
    knowledge = AuxiliaryKnowledge(public, sketches, challenger.reference, theta)
    if challenger.table.everyone and theta:
        return replace(knowledge, known_counts=challenger.others.first(knowledge.simulator.n_known))
    return knowledge
