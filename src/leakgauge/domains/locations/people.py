"""Who is a target, who may be in a group, and whose traces adversaries may hold."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
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
    targets = _choose(traces.n_visits, setting.targets, rng)
    rest = rng.permutation(np.setdiff1d(np.arange(traces.n_people), targets))
    wanted = setting.reference
    n_reference = (
        round(wanted * traces.n_people) if isinstance(wanted, float) and wanted <= 1 else int(wanted)
    )
    n_others = min(max(n_reference - targets.size, 0), rest.size)
    people = People(targets, np.sort(rest[n_others:]), np.sort(rest[:n_others]))
    _require_room(people, setting)
    return people


def _choose(n_visits: Ints, wanted: Targets, rng: Generator) -> Ints:
    able = np.flatnonzero(n_visits >= wanted.min_visits)
    if able.size < wanted.n:
        raise BadInput(
            f"challenger.targets: {wanted.n} wanted, but only {able.size} people have {wanted.min_visits} "
            "visits or more after any caps; lower n or min_visits"
        )
    mixed = rng.permutation(able)
    match wanted.choose:
        case Choose.RANDOM:
            return np.sort(mixed[: wanted.n])
        case Choose.MOST:
            return np.sort(mixed[np.argsort(-n_visits[mixed], kind="stable")[: wanted.n]])
        case Choose.TERCILES:
            thirds = np.array_split(mixed[np.argsort(n_visits[mixed], kind="stable")], 3)
            shares = [(wanted.n + 2 - i) // 3 for i in range(3)]
            return np.sort(np.concatenate([rng.permutation(third)[:n] for third, n in zip(thirds, shares)]))


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
