"""The words of a plan about a black box: which release, which pair, which promise."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.blackbox.guarantee import guarantee_for_pair
from leakgauge.domains.blackbox.release import MechanismRelease, ReleaseFunction
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader

OWN_RELEASE = "own"


@dataclass(frozen=True, kw_only=True)
class BlackboxSetup:
    """What was said, looked up."""

    function: ReleaseFunction
    pair: tuple[Any, Any]
    guarantee: Guarantee | None
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class BlackboxChallengerTable:
    """The two inputs, a function of the user's own where there is one, and what it promises."""

    pair: Any
    release: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


@dataclass(frozen=True, kw_only=True)
class BlackboxMechanismTable:
    """What a function of the user's own promises; a named mechanism has parameters of its own."""

    name: str = OWN_RELEASE
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


def read_plan_tables(challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path) -> BlackboxSetup:
    """Look up what the two tables of a plan say."""
    said = read_dataclass(BlackboxChallengerTable, challenger, "challenger")
    loader = UserCodeLoader(folder)
    if said.release is not None:
        function = loader.load(said.release, "challenger.release")
        if not callable(function):
            raise BadInput(
                f"challenger.release: {said.release!r} is a {type(function).__name__}, not callable"
            )
        if mechanism.get("name", OWN_RELEASE) != OWN_RELEASE:
            raise BadInput(
                f"mechanism.name: {mechanism['name']!r} beside challenger.release = {said.release!r}; leave "
                'out one of them, or write name = "own"'
            )
        guarantee = _stated_guarantee(said, read_dataclass(BlackboxMechanismTable, mechanism, "mechanism"))
        pair = _read_pair(said.pair, loader)
    else:
        noise = _read_mechanism(mechanism)
        function = MechanismRelease(noise)
        pair = _pair_values(_read_pair(said.pair, loader))
        guarantee = _mechanism_guarantee(said, noise, mechanism, pair)
    sources = tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    return BlackboxSetup(
        function=function, pair=pair, guarantee=guarantee, sources=(*sources, _release_text(function, said))
    )


def _release_text(function: ReleaseFunction, said: BlackboxChallengerTable) -> str:
    return repr(function.mechanism) if isinstance(function, MechanismRelease) else str(said.release)


def _stated_guarantee(said: BlackboxChallengerTable, own: BlackboxMechanismTable) -> Guarantee | None:
    """Return the promise for your own release, written in either table."""
    agreed = {
        name: _same_in_both(name, getattr(said, name), getattr(own, name))
        for name in ("epsilon", "delta", "relation", "unit")
    }
    if agreed["epsilon"] is None:
        if agreed["delta"] is not None:
            raise BadInput(f"delta = {agreed['delta']} without epsilon is no promise; add epsilon = ...")
        return None
    return Guarantee(**{name: value for name, value in agreed.items() if value is not None})


def _read_mechanism(table: dict[str, Any]) -> Mechanism:
    names = mechanism_names()
    if table.get("name", OWN_RELEASE) == OWN_RELEASE:
        raise BadInput(
            'challenger.release is missing: name your function (release = "module:function"), or a mechanism '
            f"(mechanism.name = one of {', '.join(names)})"
        )
    name = table["name"]
    if name == "opendp":
        raise BadInput(
            "mechanism.name: an OpenDP measurement is a release of its own here: challenger.release = "
            '"module:function", where function = leakgauge.mechanisms.opendp.release_of(measurement)'
        )
    require_known(name, names, "mechanism: none")
    found: Mechanism = read_dataclass(
        mechanism_class(name), {key: table[key] for key in table if key != "name"}, f"mechanism {name!r}"
    )
    return found


def _mechanism_guarantee(
    said: BlackboxChallengerTable, mechanism: Any, table: dict[str, Any], pair: tuple[Any, Any]
) -> Guarantee:
    """Return the promise of a named mechanism to the target that moves these values.

    An epsilon in the challenger's table is a promise made for the pair as a whole; the law then stands
    beside it as the exact one.
    """
    for name in ("epsilon", "delta", "relation", "unit"):
        _same_in_both(name, getattr(said, name), table.get(name))
    lawful = guarantee_for_pair(mechanism, *pair)
    lawful = replace(lawful, relation=said.relation or lawful.relation, unit=said.unit or lawful.unit)
    if said.epsilon is None or said.epsilon == table.get("epsilon"):
        return lawful
    return replace(lawful, epsilon=said.epsilon, nominal_epsilon=None, curve=None)


def _same_in_both(name: str, first: Any, second: Any) -> Any:
    if first is not None and second is not None and first != second:
        raise BadInput(f"{name}: challenger says {first}, mechanism says {second}; say it once")
    return second if first is None else first


def _read_pair(said: Any, loader: UserCodeLoader) -> tuple[Any, Any]:
    """Return the two inputs: named in a module, made by a function there, or written in the plan."""
    rule = "the input without the target, then the one with it"
    if isinstance(said, str):
        said = loader.load(said, "challenger.pair")
        if callable(said):
            try:
                said = said()
            except Exception as error:
                text = " ".join(str(error).split())
                raise BadInput(
                    f"challenger.pair: the function raised {type(error).__name__}: {text}"
                ) from error
    elif isinstance(said, list):
        said = [np.array(item) if _is_vector(item) else item for item in said]
    if not isinstance(said, (tuple, list, np.ndarray)) or len(said) != 2:
        raise BadInput(f"challenger.pair: must hold two inputs ({rule}), got {type(said).__name__}")
    return said[0], said[1]


def _is_vector(item: Any) -> bool:
    return isinstance(item, list) and all(type(part) in (int, float) or _is_vector(part) for part in item)


def _pair_values(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the two inputs of a named mechanism as arrays of numbers."""
    try:
        low, high = (np.asarray(values, dtype=np.float64) for values in pair)
    except (TypeError, ValueError):
        raise BadInput(
            "challenger.pair: a named mechanism takes two numbers or two lists of numbers"
        ) from None
    if low.shape != high.shape:
        raise BadInput(
            f"challenger.pair: the two inputs have shapes {low.shape} and {high.shape}; make them equal"
        )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise BadInput("challenger.pair: the values must be finite numbers")
    return low, high
