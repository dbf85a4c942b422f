"""What of the targets' traces an adversary knows, as a plan says: a part, places alone, or friends' ones."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.settings import read, require
from leakgauge.domains.locations import sketches
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.naming import people_called
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints, Traces

GIVEN = "given"

_TAKES = {
    "informed": ("trace", "observations"),
    "partial": ("trace", "observations", "theta"),
    "auxiliary": ("trace", "observations", "places", "spread"),
    "past": ("trace", "observations", "releases"),
    "zero": ("trace", "observations", "places", "spread"),
    "friends": ("friends",),
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """How much of the target's trace is known; ``friends``: the most similar people, or those given."""

    trace: float = 1.0
    observations: int | None = None
    places: int | Literal["all"] | None = None
    spread: Literal["weighed", "greedy", "random"] = "weighed"
    theta: float | None = None
    releases: int = 400  # earlier ones
    friends: int | str | tuple[int | str, ...] = 5

    def __post_init__(self) -> None:
        if not 0 < self.trace <= 1:
            raise BadInput(f"trace must be in (0, 1], got {self.trace}: the share of the target's visits")
        for name in ("observations", "releases", "friends"):
            value = getattr(self, name)
            if isinstance(value, int) and not value >= 1:
                raise BadInput(f"{name} must be >= 1, got {value}")
        if isinstance(self.places, int) and not self.places >= 1:
            raise BadInput(f'places must be >= 1 or "all", got {self.places}')
        if sum([self.trace < 1, self.observations is not None, self.places is not None]) > 1:
            raise BadInput(
                "trace, observations and places each say what is known of the target; keep one of them"
            )
        if self.theta is not None and not 0 <= self.theta <= 1:
            raise BadInput(
                f"theta must be in [0, 1], got {self.theta}: the share of the others that is known"
            )
        if (isinstance(self.friends, str) and self.friends != GIVEN) or self.friends == ():
            raise BadInput(
                f"friends = {self.friends!r}: say how many of the most similar people, list friends by name, "
                f'or say "{GIVEN}" and name a CSV file of friends in data.friends'
            )


def read_table(name: str, parameters: dict[str, Any]) -> Table:
    """Read what a plan says about one kind of knowledge."""
    for key in parameters:
        require(key, list(_TAKES[name]), f"knowledge {name!r}: no key")
    table = read(Table, parameters, f"knowledge {name!r}")
    if "spread" in parameters and table.places is None:
        raise BadInput(
            f"knowledge {name!r}: spread = {table.spread!r} says how visits are spread over known places, "
            'and none are known; add places = ... (how many, or "all"), or leave out spread'
        )
    if name == "partial" and table.theta is None:
        raise BadInput(
            "knowledge 'partial': 'theta' is missing; add theta = ... (1 is informed, 0 is auxiliary)"
        )
    return table


def by_reference(
    table: Table, challenger: Challenger, reference: Traces, rng: Generator
) -> tuple[Sketch, ...]:
    """Sketches of those who have a reference to tell when people move."""
    if table.places is None:
        return known_parts(table, challenger, rng)
    return _at_places(table, challenger, *_habits(reference), rng)


def by_release(
    table: Table, challenger: Challenger, public: Public, earlier: Reals, rng: Generator
) -> tuple[Sketch, ...]:
    """Sketches of those who have a release to tell when people move."""
    if table.places is None:
        return known_parts(table, challenger, rng)
    from leakgauge.domains.locations.habits.estimates import from_release

    estimate = from_release(earlier, public)
    return _at_places(table, challenger, estimate.mean, estimate.time, rng)


def known_parts(table: Table, challenger: Challenger, rng: Generator) -> tuple[Sketch, ...]:
    """Sketches of visits that are known for sure."""
    found = []
    for person, own in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        cells = challenger.traces.cells(person)
        if table.observations is not None:
            found.append(sketches.some(cells, table.observations, own))
        else:
            found.append(sketches.part(cells, table.trace, own))
    return tuple(found)


def by_friends(table: Table, challenger: Challenger) -> tuple[Sketch, ...]:
    """Sketches made of friends' traces; the adversary has those, not the target's (LocMIA).

    All friends are people of the reference. Unless they are given, who moves most like a target stands for
    them: only that choice looks at the target's trace, and no real friends could tell more.
    """
    said, traces, people = table.friends, challenger.traces, challenger.people
    if isinstance(said, int):
        chosen = [sketches.most_similar(traces, int(one), people.reference, said) for one in people.targets]
    elif isinstance(said, str):
        chosen = [_given(challenger, int(person)) for person in people.targets]
    elif people.targets.size == 1:
        chosen = [
            _held(people_called(said, traces, "knowledge 'friends'"), challenger, int(people.targets[0]))
        ]
    else:
        raise BadInput(
            f"knowledge 'friends': a list of friends is for one target, and there are {people.targets.size}; "
            f'name a CSV file of friends in data.friends and say friends = "{GIVEN}"'
        )
    return tuple(sketches.like_friends(traces.of(friends)) for friends in chosen)


def _given(challenger: Challenger, person: int) -> Ints:
    if challenger.friends is None:
        raise BadInput(
            f"knowledge 'friends': friends = \"{GIVEN}\" needs data.friends, a CSV file with columns target "
            "and friend; add it, or say how many of the most similar people"
        )
    friends = challenger.friends.of(person)
    if not friends.size:
        raise BadInput(
            "knowledge 'friends': the file of data.friends has no row for target "
            f"{_name(challenger, person)!r}; add their friends, choose other targets, or say how many of the "
            "most similar people"
        )
    return _held(friends, challenger, person)


def _name(challenger: Challenger, person: int) -> str:
    names = challenger.traces.names
    return str(person if names is None else names[person])


def _held(friends: Ints, challenger: Challenger, person: int) -> Ints:
    """Those of a target's friends whose traces an adversary may hold: the ones in the reference."""
    if person in friends:
        raise BadInput("knowledge 'friends': the target is among their own friends; remove them")
    held = np.intersect1d(friends, challenger.people.reference)
    if not held.size:
        raise BadInput(
            f"knowledge 'friends': none of the {friends.size} friends of target "
            f"{_name(challenger, person)!r} is in the reference, whose traces adversaries may hold; raise "
            "challenger.reference, or name more"
        )
    return held


def _at_places(
    table: Table, challenger: Challenger, mean: float, time: Reals, rng: Generator
) -> tuple[Sketch, ...]:
    """Sketches of those who know places without times; how often and when people move is given."""
    found = []
    n = None if table.places == "all" else table.places
    for person, own in zip(challenger.people.targets, rng.spawn(challenger.n_targets), strict=True):
        places = sketches.top_places(challenger.traces.cells(person), challenger.traces.map, n)
        match table.spread:
            case "greedy":
                found.append(sketches.everywhere(places, challenger.traces.map))
            case "random":
                found.append(sketches.sampled(places, challenger.traces.map, mean, time, own))
            case _:
                found.append(sketches.weighed(places, challenger.traces.map, mean, time))
    return tuple(found)


def _habits(reference: Traces) -> tuple[float, Reals]:
    """The mean number of visits of a person, and the share of each epoch."""
    epochs = reference.map.epochs(reference.visits.indices.astype(np.int64))
    visits = np.bincount(epochs, minlength=reference.map.n_epochs).astype(np.float64)
    return float(visits.sum() / reference.n_people), visits / max(visits.sum(), 1.0)
