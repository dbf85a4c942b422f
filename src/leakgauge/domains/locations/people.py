"""Who is a target, who may be in a group, and whose traces adversaries may hold."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.naming import people_called
from leakgauge.domains.locations.tables import Choose, Setting, Targets
from leakgauge.domains.locations.traces import Ints, Traces


@dataclass(frozen=True, eq=False)
class People:
    """Three groups that share nobody; pool and reference, as a plan counts them, both include the targets."""

    targets: Ints
    pool: Ints
    reference: Ints


def divide(traces: Traces, setting: Setting, rng: Generator) -> People:
    """Draw the targets, and divide everybody else into pool and reference."""
    targets = _choose(traces, setting.targets, rng)
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
    people = People(targets, np.sort(rest[n_others:]), np.sort(rest[:n_others]))
    _require_room(people, setting)
    return people


def _choose(traces: Traces, wanted: Targets, rng: Generator) -> Ints:
    if wanted.names:
        return _named(traces, wanted)
    n_visits = traces.n_visits
    able = np.flatnonzero(n_visits >= wanted.min_visits)
    if able.size < wanted.how_many:
        raise BadInput(
            f"challenger.targets: {wanted.how_many} wanted, but only {able.size} people have "
            f"{wanted.min_visits} visits or more after any caps; lower n or min_visits"
        )
    mixed = rng.permutation(able)
    match wanted.choose:
        case Choose.RANDOM:
            return np.sort(mixed[: wanted.how_many])
        case Choose.MOST:
            return np.sort(mixed[np.argsort(-n_visits[mixed], kind="stable")[: wanted.how_many]])
        case Choose.TERCILES:
            thirds = np.array_split(mixed[np.argsort(n_visits[mixed], kind="stable")], 3)
            shares = [(wanted.how_many + 2 - i) // 3 for i in range(3)]
            return np.sort(np.concatenate([rng.permutation(third)[:n] for third, n in zip(thirds, shares)]))


def _named(traces: Traces, wanted: Targets) -> Ints:
    """The people whom the owner of the data has named, in that order."""
    names = wanted.names or ()
    found = people_called(names, traces, "challenger.targets.names")
    few = found[traces.n_visits[found] < wanted.min_visits]
    if few.size:
        name = names[int(np.flatnonzero(found == few[0])[0])]
        raise BadInput(
            f"challenger.targets.names: {str(name)!r} has {traces.n_visits[few[0]]} visits after any caps; "
            f"min_visits = {wanted.min_visits}; leave them out, or lower min_visits"
        )
    return found


def _require_room(people: People, setting: Setting) -> None:
    """Refuse a group larger than what it, or an adversary's shadow of it, can be drawn from."""
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
