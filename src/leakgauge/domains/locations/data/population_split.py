"""Split the people into targets, the pool that groups are drawn from, and the reference data of attackers."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.data.traces import Traces, find_people
from leakgauge.domains.locations.plan_tables import (
    LocationsChallengerTable,
    LocationsTargetOrder,
    LocationsTargetsTable,
)


@dataclass(frozen=True, eq=False)
class PopulationSplit:
    """Targets, pool and reference. In the sizes of a plan, pool and reference both include the targets.

    The three are disjoint, unless everyone in the data is counted: then the pool is everybody but the
    targets, and the reference is drawn from it. Several splits have the same targets.
    """

    targets: Ints
    pool: Ints
    reference: Ints
    further: tuple[tuple[Ints, Ints], ...] = ()  # pool and reference of the other splits

    @property
    def n_splits(self) -> int:
        return 1 + len(self.further)

    @property
    def pools(self) -> tuple[Ints, ...]:
        """The pools of all splits."""
        return (self.pool, *(pool for pool, _ in self.further))

    @property
    def references(self) -> tuple[Ints, ...]:
        """The references of all splits."""
        return (self.reference, *(reference for _, reference in self.further))

    @property
    def in_pools(self) -> Ints:
        """The people of any pool."""
        return self.pool if self.n_splits == 1 else np.unique(np.concatenate(self.pools))

    def of_split(self, split: int) -> "PopulationSplit":
        """One of the splits only."""
        return replace(self, pool=self.pools[split], reference=self.references[split], further=())


def split_population(traces: Traces, table: LocationsChallengerTable, rng: Generator) -> PopulationSplit:
    """Choose the targets, and divide all other people into pool and reference, as often as wanted.

    Where everyone is counted, all other people are the pool, and each reference is a random part of it.
    """
    targets = _choose_targets(traces, table.targets, rng)
    rest = rng.permutation(np.setdiff1d(np.arange(traces.n_people), targets))
    wanted = table.reference
    n_reference = (
        round(wanted * traces.n_people) if isinstance(wanted, float) and wanted <= 1 else int(wanted)
    )
    if n_reference >= traces.n_people:
        raise BadInput(
            f"challenger.reference = {wanted:g}: the data have only {traces.n_people} people, so nobody is "
            "left to draw groups from; lower challenger.reference (0.5 is usual)"
        )
    n_others = min(max(n_reference - targets.size, 0), rest.size)
    if table.everyone:
        everybody = np.sort(rest)
        splits = [(everybody, np.sort(rng.permutation(rest)[:n_others])) for _ in range(table.n_splits)]
    else:  # the first split is the same, however many there are
        orders = [rest, *(rng.permutation(rest) for _ in range(table.n_splits - 1))]
        splits = [(np.sort(order[n_others:]), np.sort(order[:n_others])) for order in orders]
    people = PopulationSplit(targets, *splits[0], tuple(splits[1:]))
    (_require_reference if table.everyone else _require_room)(people, table)
    return people


def _choose_targets(traces: Traces, wanted: LocationsTargetsTable, rng: Generator) -> Ints:
    if wanted.names:
        return _named_targets(traces, wanted)
    n_visits = traces.n_visits
    eligible = np.flatnonzero(n_visits >= wanted.min_visits)
    if eligible.size < wanted.how_many:
        least = f"{wanted.min_visits} {traces.map.entries}"
        least = least.removesuffix("s") if wanted.min_visits == 1 else least
        raise BadInput(
            f"challenger.targets: {wanted.how_many} wanted, but only {eligible.size:,} people have at least "
            f"{least} after any caps; lower n or min_visits"
        )
    shuffled = rng.permutation(eligible)
    match wanted.choose:
        case LocationsTargetOrder.RANDOM:
            return np.sort(shuffled[: wanted.how_many])
        case LocationsTargetOrder.MOST:
            return np.sort(shuffled[np.argsort(-n_visits[shuffled], kind="stable")[: wanted.how_many]])
        case LocationsTargetOrder.TERCILES:
            thirds = np.array_split(shuffled[np.argsort(n_visits[shuffled], kind="stable")], 3)
            shares = [(wanted.how_many + 2 - i) // 3 for i in range(3)]
            return np.sort(np.concatenate([rng.permutation(third)[:n] for third, n in zip(thirds, shares)]))


def _named_targets(traces: Traces, wanted: LocationsTargetsTable) -> Ints:
    """The targets named in the plan, in that order."""
    names = wanted.names or ()
    people = find_people(names, traces, "challenger.targets.names")
    few = people[traces.n_visits[people] < wanted.min_visits]
    if few.size:
        name = names[int(np.flatnonzero(people == few[0])[0])]
        raise BadInput(
            f"challenger.targets.names: {str(name)!r} has {traces.n_visits[few[0]]} {traces.map.entries} "
            f"after any caps; min_visits = {wanted.min_visits}; remove the name, or lower min_visits"
        )
    return people


def _require_reference(people: PopulationSplit, table: LocationsChallengerTable) -> None:
    """Refuse a reference without anybody but the targets."""
    if not people.reference.size:
        raise BadInput(
            f"challenger.reference = {table.reference:g} holds nobody besides the {people.targets.size} "
            f"targets; the data have {people.pool.size} other people: raise reference, or lower targets.n"
        )


def _require_room(people: PopulationSplit, table: LocationsChallengerTable) -> None:
    """Refuse a group that is too large for the pool, or for the reference that shadows are drawn from."""
    n = people.targets.size
    m = table.n_members(n + people.pool.size)
    if m < n:
        raise BadInput(f"challenger.group_size = {m} is less than the {n} targets; raise group_size")
    replaces = table.relation is Relation.REPLACE_ONE
    why = "replace targets" if replaces else "stand in for other targets in shadows"
    further = {"pool": n if replaces else 0, "reference": n if replaces else (n - 1) // 2}
    sizes = {"pool": people.pool.size, "reference": people.reference.size}
    largest = min(others - further[name] + n for name, others in sizes.items())  # that both have room for
    for name, others in sizes.items():
        if m - n + (more := further[name]) > others:
            needs = f" ({more} of them to {why})" if more else ""
            way_out = f"lower group_size to {largest} or less" if largest >= n else "lower targets.n"
            raise BadInput(
                f"challenger.group_size = {m}: needs {m - n + more} people besides the targets{needs}, but "
                f"the {name} has {others}; {way_out}, change reference, or use data of more people"
            )
