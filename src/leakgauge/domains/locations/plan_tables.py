"""The tables of a plan about counts per place and hour: `data`, `challenger` and `mechanism`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.locations.data.visit_files.plausibility import CHECK_NAMES
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import mechanism_class, mechanism_fits, mechanism_names
from leakgauge.mechanisms._additive import Norm, adds_noise
from leakgauge.support import target_choice
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.target_choice import expand_targets

RAW, OWN = "raw", "own"
DEFAULT_SPLITS = 12  # random divisions of the people into pool and reference
UNITS = (Unit.EVENT, Unit.USER_DAY, Unit.USER)
FRIENDS_FROM_FILE = "given"

# The keys of each kind of knowledge.
ALLOWED_KEYS = {
    "informed": ("trace", "observations"),
    "partial": ("trace", "observations", "theta"),
    "auxiliary": ("trace", "observations", "places", "spread"),
    "past": ("trace", "observations", "releases"),
    "zero": ("trace", "observations", "places", "spread"),
    "friends": ("friends",),
}
KNOWLEDGE = tuple(ALLOWED_KEYS)


class PublishedFormat(StrEnum):
    """Public data sets that are read in their published format."""

    FOURSQUARE = "foursquare"  # New York and Tokyo check-ins (Yang et al. 2015)
    CABSPOTTING = "cabspotting"  # San Francisco cabs (Piorkowski et al. 2009)
    MILANO = "milano"  # Social Pulse Milano (Barlacchi et al. 2015)


@dataclass(frozen=True, kw_only=True)
class LocationsColumnsTable:
    """Column names of a visit; ``lat``, ``lon`` and ``place`` only where they are used."""

    user: str = "user"
    time: str = "time"
    date: str | None = None  # where ``time`` is only the time of day
    lat: str | None = None
    lon: str | None = None
    place: str | None = None

    def __post_init__(self) -> None:
        names = [name for name in vars(self).values() if name is not None]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(
                f"{repeated[0]!r} is named twice; name a different column for each part of a visit"
            )
        if (self.lat is None) != (self.lon is None):
            raise BadInput(f"lat = {self.lat!r} and lon = {self.lon!r}: name both or neither")


@dataclass(frozen=True, kw_only=True)
class LocationsPlacesTable:
    """A CSV or Parquet file with the coordinates of places."""

    source: str
    place: str = "place"
    lat: str = "lat"
    lon: str = "lon"


@dataclass(frozen=True, kw_only=True)
class LocationsDataTable:
    """The file of visits, the meaning of its columns, and how visits are mapped to cells."""

    source: str
    format: PublishedFormat | None = None
    columns: LocationsColumnsTable = field(default_factory=LocationsColumnsTable)
    header: tuple[str, ...] | None = None
    encoding: Literal["utf-8", "utf-16", "latin-1"] = "utf-8"
    decimal: Literal[".", ","] = "."
    timezone: str | None = None
    clock: Literal["local", "utc"] = "local"
    time_unit: Literal["s", "ms", "us", "min", "h", "d"] = "s"
    time_format: str | None = None
    origin: Any = None
    scale: float = 1.0
    grid: tuple[int, int] | None = None
    cell: float | None = None
    box: tuple[float, float, float, float] | str | None = None
    places: LocationsPlacesTable | str | None = None
    top: int | None = None
    epoch: str = "1h"
    window: tuple[Any, Any] | None = None
    fold: bool = False
    min_visits: int = 1
    bad_share: float = 0.01
    accept: tuple[str, ...] = ()  # names of checks of plausibility that are turned off

    def __post_init__(self) -> None:
        for name in self.accept:
            if name not in CHECK_NAMES:
                raise BadInput(
                    f"accept: no check is called {name!r}; the checks are {', '.join(CHECK_NAMES)}"
                )
        if self.format is not None and self.columns != LocationsColumnsTable():
            raise BadInput(
                f"columns and format = {self.format.value!r} exclude each other; leave out columns"
            )
        if not 0 < self.scale < math.inf:
            raise BadInput(
                f"scale must be > 0 and finite, got {self.scale}; for degrees times 1e5 use scale = 1e-5"
            )
        if not 0 <= self.bad_share <= 1:
            raise BadInput(f"bad_share must be in [0, 1], got {self.bad_share}; 0.01 is usual")
        for name in ("top", "min_visits"):
            number = getattr(self, name)
            if number is not None and not number >= 1:
                raise BadInput(f"{name} must be >= 1, got {number}; leave it out to keep all")
        self._require_one_map()

    def _require_one_map(self) -> None:
        if self.grid is not None and self.cell is not None:
            raise BadInput(f"grid = {list(self.grid)} and cell = {self.cell}: set only one of them")
        if self.grid is not None and not min(self.grid) >= 1:
            raise BadInput(f"grid must be [rows, columns], both >= 1, got {list(self.grid)}")
        if self.cell is not None and not 0 < self.cell < math.inf:
            raise BadInput(f"cell must be a length in metres > 0, got {self.cell}")
        if self.gridded:
            for name, value in (
                ("columns.place", self.columns.place),
                ("places", self.places),
                ("top", self.top),
            ):
                if value is not None:
                    raise BadInput(
                        f"{name} with a grid: places are either grid cells or named places; leave out one"
                    )
        elif self.format in (PublishedFormat.CABSPOTTING, PublishedFormat.MILANO):
            raise BadInput(
                f"format = {self.format.value!r} has points and no places; "
                "add grid = [rows, columns] or cell = metres"
            )
        elif self.box is not None:
            raise BadInput("box without a grid; add grid = [rows, columns] or cell = metres")
        elif self.columns.place is None and self.columns.lat is not None:
            raise BadInput(
                "coordinates without a grid; add grid = [rows, columns] or cell = metres, or columns.place"
            )

    @property
    def gridded(self) -> bool:
        """Whether places are the cells of a grid."""
        return self.grid is not None or self.cell is not None


class LocationsTargetOrder(StrEnum):
    """Which of the people with enough visits become targets."""

    RANDOM = "random"
    MOST = "most"  # those with the most visits
    TERCILES = "terciles"  # one third each with few, medium and many visits (Pyrgelis et al. 2018)


@dataclass(frozen=True, kw_only=True)
class LocationsTargetsTable(target_choice.TargetChoice):
    """The choice of targets among people with enough visits, after any caps."""

    min_visits: int = 1
    choose: LocationsTargetOrder = LocationsTargetOrder.RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names and self.choose is not LocationsTargetOrder.RANDOM:
            raise BadInput("names and choose exclude each other; leave out choose")
        if not self.min_visits >= 1:
            raise BadInput(
                f"min_visits must be >= 1, got {self.min_visits}; a person without visits cannot be found"
            )


@dataclass(frozen=True, kw_only=True)
class LocationsChallengerTable:
    """The group behind a release, the people known to attackers, and the caps on visits.

    ``group_size`` counts all members, with all targets in; "everyone" counts all people of the data in every
    round. ``reference`` is a share of the people, or a number of people; it includes the targets. ``splits``
    is how often the people are divided into those that groups are drawn from and the reference; with
    "everyone", how many references are drawn.
    """

    group_size: int | Literal["everyone"]
    relation: Relation = Relation.ADD_REMOVE
    reference: float | int = 0.5
    per_epoch: int | None = None
    per_day: int | None = None
    per_user: int | None = None
    targets: LocationsTargetsTable = LocationsTargetsTable()
    splits: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.group_size, int) and not self.group_size >= 1:
            raise BadInput(f"group_size must be >= 1, got {self.group_size}; an empty group has no counts")
        if self.everyone and self.relation is not Relation.ADD_REMOVE:
            raise BadInput(
                f'group_size = "everyone" and relation = "{self.relation.value}" exclude each other: with '
                "everyone in the table nobody is left to replace a target; "
                'write relation = "add_remove", or a number as group_size'
            )
        if self.splits is not None and not self.splits >= 1:
            raise BadInput(f"splits must be >= 1, got {self.splits}; {DEFAULT_SPLITS} is usual")
        if not self.reference > 0:
            raise BadInput(f"reference must be > 0, got {self.reference}; 0.5 is usual")
        if not (self.reference < 1 or (self.reference > 1 and float(self.reference).is_integer())):
            raise BadInput(
                f"reference must be a share below 1, or a whole number of people, got {self.reference:g}; "
                "with a share of 1 nobody is left to draw groups from; 0.5 is usual"
            )
        for name in ("per_epoch", "per_day", "per_user"):
            cap = getattr(self, name)
            if cap is not None and not cap >= 1:
                raise BadInput(f"{name} must be >= 1, got {cap}; leave it out for no cap")

    @property
    def everyone(self) -> bool:
        """Whether all people of the data are counted in every round."""
        return self.group_size == "everyone"

    @property
    def n_splits(self) -> int:
        """How often the people are divided into pool and reference."""
        return self.splits or DEFAULT_SPLITS

    def n_members(self, n_people: int) -> int:
        """The size of the group, with all targets in, in data of ``n_people``."""
        return self.group_size if isinstance(self.group_size, int) else n_people


def read_challenger_table(table: Mapping[str, Any]) -> LocationsChallengerTable:
    """Read the `challenger` table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    size = table.get("group_size", "everyone")
    if isinstance(size, str) and size != "everyone":
        raise BadInput(
            f'challenger.group_size: must be a whole number of people, or "everyone" to count all people of '
            f"the data, got {size!r}"
        )
    return read_dataclass(LocationsChallengerTable, expand_targets(table), "challenger")


@dataclass(frozen=True, kw_only=True)
class PostProcessingTable:
    """The post-processing after the noise."""

    round: bool = False
    clamp: bool = False
    suppress: int = 0


@dataclass(frozen=True, kw_only=True)
class LocationsUserMechanismTable:
    """Your own pipeline, and its stated guarantee."""

    release: str
    law: str | None = None
    whole: bool = True
    epsilon: float | None = None
    delta: float = 0.0
    unit: Unit = Unit.USER

    @property
    def stated(self) -> Guarantee | None:
        if self.epsilon is None:
            if self.delta:
                raise BadInput(f"delta = {self.delta} needs an epsilon; add epsilon = ...")
            return None
        return Guarantee(epsilon=self.epsilon, delta=self.delta, unit=self.unit)


def mechanism_lines() -> dict[str, str | None]:
    """The mechanisms that a plan may name: all that add noise, and two of this domain."""
    return dict.fromkeys(mechanism_names(adds_noise)) | {
        RAW: "No noise: true counts, perhaps rounded, clamped or suppressed.",
        OWN: 'Your own pipeline: release = "module:function", from counts and a generator to counts.',
    }


def read_mechanism_table(
    table: Mapping[str, Any], challenger: LocationsChallengerTable, max_value: int = 1
) -> ReleaseChain | LocationsUserMechanismTable:
    """Read the `mechanism` table: noise with its unit, and the steps after it.

    ``max_value`` is the most that a person adds to the count of one cell. A chain that counts everyone gets
    the size of the group when the data are read (``with_group_size``).
    """
    parameters = dict(table)
    if "name" not in parameters:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join(mechanism_lines())}")
    name = parameters.pop("name")
    if name not in (RAW, OWN) and not mechanism_fits(name, adds_noise):
        require_known(name, list(mechanism_lines()), "mechanism: none")
    if name == OWN:
        own = read_dataclass(LocationsUserMechanismTable, parameters, "mechanism 'own'")
        _require_unit(own.unit)
        return own
    steps = read_dataclass(
        PostProcessingTable,
        {key: parameters.pop(key) for key in ("round", "clamp", "suppress") if key in parameters},
        "mechanism",
    )
    if name == RAW:
        if parameters:
            raise BadInput(f"mechanism 'raw': adds no noise; leave out {', '.join(sorted(parameters))}")
        noise = None
    else:
        noise = _read_noise(name, parameters, challenger, max_value)
    return ReleaseChain(noise=noise, group_size=challenger.n_members(n_people=1), **vars(steps))


def with_group_size(
    steps: ReleaseChain | LocationsUserMechanismTable, group_size: int
) -> ReleaseChain | LocationsUserMechanismTable:
    """The same release for counts up to a size; your own pipeline does not depend on it."""
    return replace(steps, group_size=group_size) if isinstance(steps, ReleaseChain) else steps


def _read_noise(
    name: str, parameters: dict[str, Any], challenger: LocationsChallengerTable, max_value: int
) -> Any:
    """Build the noise; its sensitivity follows from the unit and the caps."""
    if "sensitivity" in parameters:
        raise BadInput(
            f"mechanism {name!r}: sensitivity follows from the unit and the caps; leave it out, or give scale"
        )
    if "relation" in parameters:
        raise BadInput(f"mechanism {name!r}: relation belongs to the challenger; move it there")
    unit = parameters.get("unit", Unit.EVENT.value)
    require_known(unit, [known.value for known in UNITS], f"mechanism {name!r}.unit: no unit of counts")
    l1, squares = _unit_sensitivity(Unit(unit), challenger, max_value)
    kind = mechanism_class(name)
    parameters |= {"unit": unit, "sensitivity": squares**0.5 if kind.norm is Norm.L2 else float(l1)}
    return read_dataclass(kind, parameters, f"mechanism {name!r}")


def _unit_sensitivity(unit: Unit, challenger: LocationsChallengerTable, max_value: int) -> tuple[int, int]:
    """By how much counts change when one unit is added or removed: the sum of changes, and of their squares.

    An event is one cell of one person, so its value may be up to ``max_value``. The caps of days and people
    are on the sum of values; squares are largest where as few cells as possible have large values.

    Noise is scaled by this under ``replace_one`` too, as publishers do; the guarantee of the challenger
    accounts for the replacement.
    """
    if unit is Unit.EVENT:
        return max_value, max_value**2
    name = "per_day" if unit is Unit.USER_DAY else "per_user"
    cap = getattr(challenger, name)
    if cap is None:
        raise BadInput(
            f"mechanism.unit = {unit.value!r} needs a cap on what is counted of one such unit; "
            f"add challenger.{name} = ..."
        )
    return int(cap), int(cap) // max_value * max_value**2 + (int(cap) % max_value) ** 2


def _require_unit(unit: Unit) -> None:
    require_known(unit.value, [known.value for known in UNITS], "mechanism 'own'.unit: no unit of counts")


@dataclass(frozen=True, kw_only=True)
class LocationsKnowledgeTable:
    """Which part of a target's trace is known; ``friends``: a number of similar people, or names."""

    trace: float = 1.0
    observations: int | None = None
    places: int | Literal["all"] | None = None
    spread: Literal["weighed", "greedy", "random"] = "weighed"
    theta: float | None = None
    releases: int = 400  # earlier ones
    friends: int | str | tuple[int | str, ...] = 5

    def __post_init__(self) -> None:
        if not 0 < self.trace <= 1:
            raise BadInput(
                f"trace must be in (0, 1], got {self.trace}; it is the share of the target's visits"
            )
        for name in ("observations", "releases", "friends"):
            value = getattr(self, name)
            if isinstance(value, int) and not value >= 1:
                raise BadInput(f"{name} must be >= 1, got {value}")
        if isinstance(self.places, int) and not self.places >= 1:
            raise BadInput(f'places must be >= 1 or "all", got {self.places}')
        if sum([self.trace < 1, self.observations is not None, self.places is not None]) > 1:
            raise BadInput("trace, observations and places exclude each other; keep one of them")
        if self.theta is not None and not 0 <= self.theta <= 1:
            raise BadInput(f"theta must be in [0, 1], got {self.theta}; it is the known share of the others")
        if (isinstance(self.friends, str) and self.friends != FRIENDS_FROM_FILE) or self.friends == ():
            raise BadInput(
                f"friends = {self.friends!r}: give the number of most similar people, list friends by name, "
                f'or set "{FRIENDS_FROM_FILE}" and name a CSV file of friends in data.friends'
            )


def read_knowledge_table(name: str, parameters: dict[str, Any]) -> LocationsKnowledgeTable:
    """Read the table of one kind of knowledge."""
    for key in parameters:
        require_known(key, list(ALLOWED_KEYS[name]), f"knowledge {name!r}: no key")
    table = read_dataclass(LocationsKnowledgeTable, parameters, f"knowledge {name!r}")
    if "spread" in parameters and table.places is None:
        raise BadInput(
            f"knowledge {name!r}: spread = {table.spread!r} needs known places; "
            'add places = ... (how many, or "all"), or leave out spread'
        )
    if name == "partial" and table.theta is None:
        raise BadInput(
            "knowledge 'partial': 'theta' is missing; add theta = ... (1 is informed, 0 is auxiliary)"
        )
    return table
