"""The words of a plan about a black box: which release, which pair, which promise."""

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from leakgauge import mechanisms
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.core.loading import Loader
from leakgauge.core.settings import read, require
from leakgauge.domains.blackbox.box import Noise, Release
from leakgauge.domains.blackbox.promises import promise_for_pair

OWN = "own"


@dataclass(frozen=True, kw_only=True)
class Words:
    """What was said, looked up."""

    function: Release
    pair: tuple[Any, Any]
    guarantee: Guarantee | None
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _ChallengerTable:
    pair: Any
    release: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


@dataclass(frozen=True, kw_only=True)
class _OwnTable:
    name: str = OWN
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


def read_words(challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path) -> Words:
    """Look up what the two tables of a plan say."""
    said = read(_ChallengerTable, challenger, "challenger")
    loader = Loader(folder)
    if said.release is not None:
        function = loader.load(said.release, "challenger.release")
        if not callable(function):
            raise BadInput(
                f"challenger.release: {said.release!r} is a {type(function).__name__}, not callable"
            )
        if mechanism.get("name", OWN) != OWN:
            raise BadInput(
                f"mechanism.name: {mechanism['name']!r} beside challenger.release = {said.release!r}; leave "
                'out one of them, or write name = "own"'
            )
        guarantee = _own_promise(said, read(_OwnTable, mechanism, "mechanism"))
        pair = _pair(said.pair, loader)
    else:
        noise = _named(mechanism)
        function = Noise(noise)
        pair = _values(_pair(said.pair, loader))
        guarantee = _promise(said, noise, mechanism, pair)
    sources = tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    return Words(
        function=function, pair=pair, guarantee=guarantee, sources=(*sources, _described(function, said))
    )


def _described(function: Release, said: _ChallengerTable) -> str:
    return repr(function.mechanism) if isinstance(function, Noise) else str(said.release)


def _own_promise(said: _ChallengerTable, own: _OwnTable) -> Guarantee | None:
    """Return the promise for one's own release, written in either table."""
    agreed = {
        name: _agreed(name, getattr(said, name), getattr(own, name))
        for name in ("epsilon", "delta", "relation", "unit")
    }
    if agreed["epsilon"] is None:
        if agreed["delta"] is not None:
            raise BadInput(f"delta = {agreed['delta']} without epsilon is no promise; add epsilon = ...")
        return None
    return Guarantee(**{name: value for name, value in agreed.items() if value is not None})


def _named(table: dict[str, Any]) -> Mechanism:
    names = [module.name for module in iter_modules(mechanisms.__path__) if not module.name.startswith("_")]
    if table.get("name", OWN) == OWN:
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
    require(name, names, "mechanism: none")
    kind = import_module(f"{mechanisms.__name__}.{name}").Mechanism
    found: Mechanism = read(kind, {key: table[key] for key in table if key != "name"}, f"mechanism {name!r}")
    return found


def _promise(
    said: _ChallengerTable, mechanism: Any, table: dict[str, Any], pair: tuple[Any, Any]
) -> Guarantee:
    """Return the promise of a named mechanism to the target that moves these values.

    An epsilon in the challenger's table is a promise made for the pair as a whole; the law then stands
    beside it as the exact one.
    """
    for name in ("epsilon", "delta", "relation", "unit"):
        _agreed(name, getattr(said, name), table.get(name))
    lawful = promise_for_pair(mechanism, *pair)
    lawful = replace(lawful, relation=said.relation or lawful.relation, unit=said.unit or lawful.unit)
    if said.epsilon is None or said.epsilon == table.get("epsilon"):
        return lawful
    return replace(lawful, epsilon=said.epsilon, nominal_epsilon=None, curve=None)


def _agreed(name: str, first: Any, second: Any) -> Any:
    if first is not None and second is not None and first != second:
        raise BadInput(f"{name}: challenger says {first}, mechanism says {second}; say it once")
    return second if first is None else first


def _pair(said: Any, loader: Loader) -> tuple[Any, Any]:
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


def _values(pair: tuple[Any, Any]) -> tuple[Any, Any]:
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
