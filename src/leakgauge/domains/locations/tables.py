"""The tables of a plan about a release of counts, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from leakgauge.core import targets
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.core.settings import read, require
from leakgauge.core.targets import spelled_out
from leakgauge.domains.locations.chain.chain import Chain

NOISES = ("laplace", "gaussian", "geometric")
RAW, OWN = "raw", "own"
UNITS = (Unit.EVENT, Unit.USER_DAY, Unit.USER)


class Choose(StrEnum):
    """Which people become targets, of those with enough visits."""

    RANDOM = "random"
    MOST = "most"  # those with the most visits
    TERCILES = "terciles"  # a third each of those with few, some and many visits (Pyrgelis et al. 2018)


@dataclass(frozen=True, kw_only=True)
class Targets(targets.Targets):
    """People with enough visits, after any caps."""

    min_visits: int = 1
    choose: Choose = Choose.RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names and self.choose is not Choose.RANDOM:
            raise BadInput("names say who the targets are; leave out choose")
        if not self.min_visits >= 1:
            raise BadInput(
                f"min_visits must be >= 1, got {self.min_visits}: who has no visits cannot be found"
            )


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The group behind a release, the people kept for adversaries, and the caps on visits.

    ``group_size`` counts everybody, with all targets in. ``reference`` is a share of the people, or how many;
    the targets are among them.
    """

    group_size: int
    relation: Relation = Relation.ADD_REMOVE
    reference: float | int = 0.5
    per_epoch: int | None = None
    per_day: int | None = None
    per_user: int | None = None
    targets: Targets = Targets()

    def __post_init__(self) -> None:
        if not self.group_size >= 1:
            raise BadInput(f"group_size must be >= 1, got {self.group_size}; an empty group has no counts")
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


def read_setting(table: Mapping[str, Any]) -> Setting:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read(Setting, spelled_out(table), "challenger")


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """What follows the noise."""

    round: bool = False
    clamp: bool = False
    suppress: int = 0


@dataclass(frozen=True, kw_only=True)
class Own:
    """A pipeline of one's own, and what it promises."""

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
                raise BadInput(f"delta = {self.delta} without epsilon is no promise; add epsilon = ...")
            return None
        return Guarantee(epsilon=self.epsilon, delta=self.delta, unit=self.unit)


def read_mechanism(table: Mapping[str, Any], setting: Setting) -> Chain | Own:
    """Read the mechanism's table: noise with its unit, and the steps after it."""
    said = dict(table)
    if "name" not in said:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join((*NOISES, RAW, OWN))}")
    name = said.pop("name")
    require(name, [*NOISES, RAW, OWN], "mechanism: none")
    if name == OWN:
        own = read(Own, said, "mechanism 'own'")
        _require_unit(own.unit)
        return own
    steps = read(
        _Steps, {key: said.pop(key) for key in ("round", "clamp", "suppress") if key in said}, "mechanism"
    )
    if name == RAW:
        if said:
            raise BadInput(f"mechanism 'raw': adds no noise, and takes no {', '.join(sorted(said))}")
        noise = None
    else:
        noise = _noise(name, said, setting)
    return Chain(noise=noise, group_size=setting.group_size, **vars(steps))


def _noise(name: str, said: dict[str, Any], setting: Setting) -> Any:
    """Build the noise; what one unit can move follows from the caps."""
    if "sensitivity" in said:
        raise BadInput(
            f"mechanism {name!r}: sensitivity follows from the unit and the caps; leave it out, or give scale"
        )
    if "relation" in said:
        raise BadInput(f"mechanism {name!r}: relation belongs to the challenger; move it there")
    unit = said.get("unit", Unit.EVENT.value)
    require(unit, [known.value for known in UNITS], f"mechanism {name!r}.unit: no unit of counts")
    visits = _most_visits(Unit(unit), setting)
    said |= {"unit": unit, "sensitivity": visits**0.5 if name == "gaussian" else float(visits)}
    return read(import_module(f"leakgauge.mechanisms.{name}").Mechanism, said, f"mechanism {name!r}")


def _most_visits(unit: Unit, setting: Setting) -> int:
    """How many cells one unit can move by one when it is added or removed.

    Noise is scaled by that under ``replace_one`` too, as publishers do; the promise says what it is worth.
    """
    if unit is Unit.EVENT:
        return 1
    name = "per_day" if unit is Unit.USER_DAY else "per_user"
    cap = getattr(setting, name)
    if cap is None:
        raise BadInput(
            f"mechanism.unit = {unit.value!r} needs a cap on what one such unit can move; "
            f"add challenger.{name} = ..."
        )
    return int(cap)


def _require_unit(unit: Unit) -> None:
    require(unit.value, [known.value for known in UNITS], "mechanism 'own'.unit: no unit of counts")
