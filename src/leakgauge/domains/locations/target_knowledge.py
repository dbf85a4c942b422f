"""What an attacker knows of the targets' traces: a part of them, places only, or traces of friends."""

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations import partial_traces
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.traces import Ints, Traces, find_people
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.plan_tables import FRIENDS_FROM_FILE, LocationsKnowledgeTable
from leakgauge.domains.locations.shadows.simulator import PublicParameters


def traces_from_reference(
    table: LocationsKnowledgeTable, challenger: Challenger, reference: Traces, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Sketches of those who have a reference to tell when people move."""
    if table.places is None:
        return known_trace_parts(table, challenger, rng)
    return _traces_at_places(table, challenger, *_visit_rates(reference), rng)


def traces_from_release(
    table: LocationsKnowledgeTable,
    challenger: Challenger,
    public: PublicParameters,
    earlier: Reals,
    rng: Generator,
) -> tuple[PartialTrace, ...]:
    """Sketches of those who have a release to tell when people move."""
    if table.places is None:
        return known_trace_parts(table, challenger, rng)
    from leakgauge.domains.locations.mobility.deconvolution import profile_from_release

    estimate = profile_from_release(earlier, public)
    return _traces_at_places(table, challenger, estimate.mean, estimate.time, rng)


def known_trace_parts(
    table: LocationsKnowledgeTable, challenger: Challenger, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Sketches of visits that are known for sure."""
    found = []
    for person, own in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        cells = challenger.traces.cells(person)
        if table.observations is not None:
            found.append(partial_traces.random_observations(cells, table.observations, own))
        else:
            found.append(partial_traces.random_fraction(cells, table.trace, own))
    return tuple(found)


def traces_from_friends(table: LocationsKnowledgeTable, challenger: Challenger) -> tuple[PartialTrace, ...]:
    """Sketches made of friends' traces; the attacker has those, not the target's (LocMIA).

    All friends are people of the reference. Unless they are given, who moves most like a target stands for
    them: only that choice looks at the target's trace, and no real friends could tell more.
    """
    said, traces, people = table.friends, challenger.traces, challenger.people
    if isinstance(said, int):
        chosen = [
            partial_traces.most_similar(traces, int(one), people.reference, said) for one in people.targets
        ]
    elif isinstance(said, str):
        chosen = [_friends_in_file(challenger, int(person)) for person in people.targets]
    elif people.targets.size == 1:
        chosen = [
            _friends_in_reference(
                find_people(said, traces, "knowledge 'friends'"), challenger, int(people.targets[0])
            )
        ]
    else:
        raise BadInput(
            f"knowledge 'friends': a list of friends is for one target, and there are {people.targets.size}; "
            f'name a CSV file of friends in data.friends and say friends = "{FRIENDS_FROM_FILE}"'
        )
    return tuple(partial_traces.average_of_friends(traces.of(friends)) for friends in chosen)


def _friends_in_file(challenger: Challenger, person: int) -> Ints:
    if challenger.friends is None:
        raise BadInput(
            f"knowledge 'friends': friends = \"{FRIENDS_FROM_FILE}\" needs data.friends, a CSV file "
            "with columns target "
            "and friend; add it, or say how many of the most similar people"
        )
    friends = challenger.friends.of(person)
    if not friends.size:
        raise BadInput(
            "knowledge 'friends': the file of data.friends has no row for target "
            f"{_name(challenger, person)!r}; add their friends, choose other targets, or say how many of the "
            "most similar people"
        )
    return _friends_in_reference(friends, challenger, person)


def _name(challenger: Challenger, person: int) -> str:
    names = challenger.traces.names
    return str(person if names is None else names[person])


def _friends_in_reference(friends: Ints, challenger: Challenger, person: int) -> Ints:
    """Those of a target's friends whose traces an attacker may hold: the ones in the reference."""
    if person in friends:
        raise BadInput("knowledge 'friends': the target is among their own friends; remove them")
    held = np.intersect1d(friends, challenger.people.reference)
    if not held.size:
        raise BadInput(
            f"knowledge 'friends': none of the {friends.size} friends of target "
            f"{_name(challenger, person)!r} is in the reference, whose traces attackers may hold; raise "
            "challenger.reference, or name more"
        )
    return held


def _traces_at_places(
    table: LocationsKnowledgeTable, challenger: Challenger, mean: float, time: Reals, rng: Generator
) -> tuple[PartialTrace, ...]:
    """Sketches of those who know places without times; how often and when people move is given."""
    found = []
    n = None if table.places == "all" else table.places
    for person, own in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        places = partial_traces.top_places(challenger.traces.cells(person), challenger.traces.map, n)
        match table.spread:
            case "greedy":
                found.append(partial_traces.every_epoch(places, challenger.traces.map))
            case "random":
                found.append(partial_traces.sampled_epochs(places, challenger.traces.map, mean, time, own))
            case _:
                found.append(partial_traces.weighted_epochs(places, challenger.traces.map, mean, time))
    return tuple(found)


def _visit_rates(reference: Traces) -> tuple[float, Reals]:
    """The mean number of visits of a person, and the share of each epoch."""
    epochs = reference.map.epochs(reference.visits.indices.astype(np.int64))
    visits = np.bincount(epochs, minlength=reference.map.n_epochs).astype(np.float64)
    return float(visits.sum() / reference.n_people), visits / max(visits.sum(), 1.0)
