"""Split the people into targets, the pool that groups are drawn from, and the reference data of attackers."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.data.traces import Ints, Traces, find_people
from leakgauge.domains.locations.plan_tables import (
    LocationsChallengerTable,
    LocationsTargetOrder,
    LocationsTargetsTable,
)


@dataclass(frozen=True, eq=False)
class PopulationSplit:
    """Three groups that share nobody; pool and reference, as a plan counts them, both include the targets."""

    targets: Ints
    pool: Ints
    reference: Ints


def split_population(traces: Traces, setting: LocationsChallengerTable, rng: Generator) -> PopulationSplit:
    """Draw the targets, and divide everybody else into pool and reference."""
    targets = _choose_targets(traces, setting.targets, rng)
    rest = rng.permutation(np.setdiff1d(np.arange(traces.n_people), targets))
    wanted = setting.reference
    n_reference = (
        round(wanted * traces.n_people) if isinstance(wanted, float) and wanted <= 1 else int(wanted)
    )
    if n_reference >= traces.n_people:
        raise BadInput(
            f"challenger.reference = {wanted:g}: the data have only {traces.n_people} people, so nobody is "
            "left to draw groups from; lower it (0.5 is usual)"
        )
    n_others = min(max(n_reference - targets.size, 0), rest.size)
    people = PopulationSplit(targets, np.sort(rest[n_others:]), np.sort(rest[:n_others]))
    _require_room(people, setting)
    return people


def _choose_targets(traces: Traces, wanted: LocationsTargetsTable, rng: Generator) -> Ints:
    if wanted.names:
        return _named_targets(traces, wanted)
    n_visits = traces.n_visits
    able = np.flatnonzero(n_visits >= wanted.min_visits)
    if able.size < wanted.how_many:
        raise BadInput(
            f"challenger.targets: {wanted.how_many} wanted, but only {able.size} people have "
            f"{wanted.min_visits} visits or more after any caps; lower n or min_visits"
        )
    mixed = rng.permutation(able)
    match wanted.choose:
        case LocationsTargetOrder.RANDOM:
            return np.sort(mixed[: wanted.how_many])
        case LocationsTargetOrder.MOST:
            return np.sort(mixed[np.argsort(-n_visits[mixed], kind="stable")[: wanted.how_many]])
        case LocationsTargetOrder.TERCILES:
            thirds = np.array_split(mixed[np.argsort(n_visits[mixed], kind="stable")], 3)
            shares = [(wanted.how_many + 2 - i) // 3 for i in range(3)]
            return np.sort(np.concatenate([rng.permutation(third)[:n] for third, n in zip(thirds, shares)]))


def _named_targets(traces: Traces, wanted: LocationsTargetsTable) -> Ints:
    """The people whom the owner of the data has named, in that order."""
    names = wanted.names or ()
    found = find_people(names, traces, "challenger.targets.names")
    few = found[traces.n_visits[found] < wanted.min_visits]
    if few.size:
        name = names[int(np.flatnonzero(found == few[0])[0])]
        raise BadInput(
            f"challenger.targets.names: {str(name)!r} has {traces.n_visits[few[0]]} visits after any caps; "
            f"min_visits = {wanted.min_visits}; leave them out, or lower min_visits"
        )
    return found


def _require_room(people: PopulationSplit, setting: LocationsChallengerTable) -> None:
    """Refuse a group larger than what it, or an attacker's shadow of it, can be drawn from."""
    n, m = people.targets.size, setting.group_size
    if m < n:
        raise BadInput(f"challenger.group_size = {m} is less than the {n} targets; raise it")
    replaces = setting.relation is Relation.REPLACE_ONE
    why = "take the targets' places" if replaces else "stand for other targets in shadows"
    further = {"pool": n if replaces else 0, "reference": n if replaces else (n - 1) // 2}
    for name, others in (("pool", people.pool.size), ("reference", people.reference.size)):
        if m - n + (more := further[name]) > others:
            needs = f" ({more} of them to {why})" if more else ""
            raise BadInput(
                f"challenger.group_size = {m}: needs {m - n + more} people besides the targets{needs}, but "
                f"the {name} has {others}; lower group_size to {others - more + n} or less, change "
                "reference, or bring more people"
            )
