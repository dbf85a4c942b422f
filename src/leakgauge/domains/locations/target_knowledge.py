"""What an attacker knows of the targets' traces: a part of them, places only, or traces of friends."""

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations import partial_traces
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.traces import Ints, Traces, find_people
from leakgauge.domains.locations.plan_tables import FRIENDS_FROM_FILE, LocationsKnowledgeTable
from leakgauge.domains.locations.shadows.simulator import PublicParameters


def traces_from_reference(
    table: LocationsKnowledgeTable, challenger: Challenger, reference: Traces, rng: Generator
) -> tuple[partial_traces.PartialTrace, ...]:
    """Partial traces for an attacker with reference data, which give times if only places are known."""
    if table.places is None:
        return known_trace_parts(table, challenger, rng)
    return _traces_at_places(table, challenger, *_visit_rates(reference), rng)


def traces_from_release(
    table: LocationsKnowledgeTable,
    challenger: Challenger,
    public: PublicParameters,
    earlier: Reals,
    rng: Generator,
) -> tuple[partial_traces.PartialTrace, ...]:
    """Partial traces for an attacker with an earlier release, which gives times if only places are known."""
    if table.places is None:
        return known_trace_parts(table, challenger, rng)
    from leakgauge.domains.locations.mobility.deconvolution import profile_from_release

    estimate = profile_from_release(earlier, public)
    return _traces_at_places(table, challenger, estimate.mean, estimate.time, rng)


def known_trace_parts(
    table: LocationsKnowledgeTable, challenger: Challenger, rng: Generator
) -> tuple[partial_traces.PartialTrace, ...]:
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


def traces_from_friends(
    table: LocationsKnowledgeTable, challenger: Challenger
) -> tuple[partial_traces.PartialTrace, ...]:
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
) -> tuple[partial_traces.PartialTrace, ...]:
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
