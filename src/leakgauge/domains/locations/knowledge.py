"""What an attacker of published counts knows: of other people, and of the targets' own traces.

Attacks receive nothing else.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import KnowledgeBySplit
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN, partial_traces
from leakgauge.domains.locations.challenger import PARTIAL_TRACES, Challenger
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.data.traces import Traces, find_people
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.plan_tables import (
    FRIENDS_FROM_FILE,
    LocationsKnowledgeTable,
    read_knowledge_table,
)
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

    Where work is sampled, as for an estimate of its cost, all splits get the knowledge of one of them.
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
        return ZeroKnowledge(public, _traces_from_release(table, challenger, public, earlier, rng), earlier)
    if name == "past":
        if challenger.table.everyone:
            raise BadInput(
                "knowledge 'past' needs earlier releases of other groups, and with group_size = \"everyone\" "
                "all releases count the same people; leave this attacker out, or write a number as group_size"
            )
        members, block = challenger.earlier(table.releases)
        return PastReleasesKnowledge(public, _known_trace_parts(table, challenger, rng), block.whole, members)
    if name == "friends":
        if challenger.invented:
            raise BadInput(
                "the trace of the control's target is invented, and nobody's friends have one like it"
            )
        sketches = _traces_from_friends(table, challenger)
    else:
        sketches = _traces_from_reference(table, challenger, challenger.reference.traces, rng)
    theta = {"informed": 1.0, "partial": table.theta}.get(name) or 0.0
    knowledge = AuxiliaryKnowledge(public, sketches, challenger.reference, theta)
    if challenger.table.everyone and theta:
        return replace(knowledge, known_counts=challenger.others.first(knowledge.simulator.n_known))
    return knowledge


def _traces_from_reference(
    table: LocationsKnowledgeTable, challenger: Challenger, reference: Traces, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Partial traces for an attacker with reference data, which give times if only places are known."""
    if table.places is None:
        return _known_trace_parts(table, challenger, rng)
    return _traces_at_places(table, challenger, *_visit_rates(reference), rng)


def _traces_from_release(
    table: LocationsKnowledgeTable,
    challenger: Challenger,
    public: PublicParameters,
    earlier: Reals,
    rng: Generator,
) -> tuple[PartialTrace, ...]:
    """Partial traces for an attacker with an earlier release, which gives times if only places are known."""
    if table.places is None:
        return _known_trace_parts(table, challenger, rng)
    from leakgauge.domains.locations.mobility.deconvolution import profile_from_release

    estimate = profile_from_release(earlier, public)
    return _traces_at_places(table, challenger, estimate.mean, estimate.time, rng)


def _known_trace_parts(
    table: LocationsKnowledgeTable, challenger: Challenger, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Partial traces of visits that are certain: a share of a trace, or a number of observations."""
    sketches = []
    for person, target_rng in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        cells, values = challenger.traces.cells(person), challenger.traces.values(person)
        if table.observations is not None:
            part = partial_traces.random_observations(cells, table.observations, target_rng)
        else:
            part = partial_traces.random_fraction(cells, table.trace, target_rng)
        sketches.append(part.with_values_of(cells, values))
    return tuple(sketches)


def _traces_from_friends(table: LocationsKnowledgeTable, challenger: Challenger) -> tuple[PartialTrace, ...]:
    """Partial traces made of friends' traces; the attacker does not know the target's own trace (LocMIA).

    All friends are people of the reference. Unless the plan names friends, the people most similar to the
    target are used. This choice looks at the target's trace, so it is the worst case of real friends.
    """
    wanted, traces, people = table.friends, challenger.traces, challenger.people
    if traces.map.max_value > 1:
        raise BadInput(
            "knowledge 'friends': friends say which cells a target has, not with which value, and this table "
            'has values above 1; use knowledge = "auxiliary", or leave out data.columns.value'
        )
    if isinstance(wanted, int):
        chosen = [
            partial_traces.most_similar(traces, int(target), people.reference, wanted)
            for target in people.targets
        ]
    elif isinstance(wanted, str):
        chosen = [_friends_in_file(challenger, int(person)) for person in people.targets]
    elif people.targets.size == 1:
        chosen = [
            _friends_in_reference(
                find_people(wanted, traces, "knowledge 'friends'"), challenger, int(people.targets[0])
            )
        ]
    else:
        raise BadInput(
            f"knowledge 'friends': a list of friends is for one target, and there are {people.targets.size}; "
            f'name a CSV file of friends in data.friends and set friends = "{FRIENDS_FROM_FILE}"'
        )
    return tuple(partial_traces.average_of_friends(traces.of(friends)) for friends in chosen)


def _friends_in_file(challenger: Challenger, person: int) -> Ints:
    if challenger.friends is None:
        raise BadInput(
            f"knowledge 'friends': friends = \"{FRIENDS_FROM_FILE}\" needs data.friends, a CSV file "
            "with columns target and friend; add it, or give the number of most similar people"
        )
    friends = challenger.friends.of(person)
    if not friends.size:
        raise BadInput(
            "knowledge 'friends': the file of data.friends has no row for one of the targets; add friends of "
            "every target, choose other targets, or give the number of most similar people"
        )
    return _friends_in_reference(friends, challenger, person)


def _friends_in_reference(friends: Ints, challenger: Challenger, person: int) -> Ints:
    """The friends of a target whose traces an attacker may hold: those in the reference."""
    if person in friends:
        raise BadInput("knowledge 'friends': the target is among their own friends; remove the target")
    held = np.intersect1d(friends, challenger.people.reference)
    if not held.size:
        raise BadInput(
            f"knowledge 'friends': none of the {friends.size} friends of one target is in the reference, "
            "whose traces attackers may hold; raise challenger.reference, or name more"
        )
    return held


def _traces_at_places(
    table: LocationsKnowledgeTable, challenger: Challenger, mean: float, time: Reals, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Partial traces from known places, the mean visits per person and the share of each epoch (``time``)."""
    if not challenger.traces.map.timed:
        raise BadInput(
            f"knowledge: places = {table.places!r} is for visits to places in epochs, and this table has "
            "cells without times; leave it out, or give the known share as trace"
        )
    sketches = []
    n = None if table.places == "all" else table.places
    for person, target_rng in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        places = partial_traces.top_places(challenger.traces.cells(person), challenger.traces.map, n)
        match table.spread:
            case "greedy":
                sketches.append(partial_traces.every_epoch(places, challenger.traces.map))
            case "random":
                sketches.append(
                    partial_traces.sampled_epochs(places, challenger.traces.map, mean, time, target_rng)
                )
            case _:
                sketches.append(partial_traces.weighted_epochs(places, challenger.traces.map, mean, time))
    return tuple(sketches)


def _visit_rates(reference: Traces) -> tuple[float, Reals]:
    """The mean number of visits per person, and the share of visits in each epoch."""
    by_place = reference.visitors().reshape(reference.map.n_places, reference.map.n_epochs)
    visits = by_place.sum(axis=0).astype(np.float64)
    return float(visits.sum() / reference.n_people), visits / max(visits.sum(), 1.0)
