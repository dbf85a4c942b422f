"""The `challenger` and `mechanism` tables of a plan that audits a Python function or a named mechanism."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.blackbox.guarantee import guarantee_for_pair
from leakgauge.domains.blackbox.own_law import LogProbability
from leakgauge.domains.blackbox.release import MechanismRelease, ReleaseFunction
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader, error_with_location
from leakgauge.theory.stated_promise import StatedPromise

OWN_RELEASE = "own"


@dataclass(frozen=True, kw_only=True)
class BlackboxSetup:
    """What the tables of a plan describe: function, pair of inputs, promise and source texts."""

    function: ReleaseFunction
    pair: tuple[Any, Any]
    guarantee: Guarantee | None
    sources: tuple[str, ...]
    law: LogProbability | None = None  # of your own function


@dataclass(frozen=True, kw_only=True)
class BlackboxChallengerTable:
    """The two inputs, the user's own function if there is one, and what it promises.

    ``promise`` is a claim in numbers; for your own function, epsilon and delta may stand here as well.
    """

    pair: Any
    release: str | None = None
    promise: StatedPromise | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


@dataclass(frozen=True, kw_only=True)
class BlackboxMechanismTable:
    """What the user's own function promises; a named mechanism has its own parameters.

    ``law`` names its noise distribution: a function of an output and an input, to a log probability.
    """

    name: str = OWN_RELEASE
    law: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: Relation | None = None
    unit: Unit | None = None


def read_plan_tables(challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path) -> BlackboxSetup:
    """Load the function, the pair and the promise that the two tables of a plan describe."""
    table = read_dataclass(BlackboxChallengerTable, challenger, "challenger")
    loader = UserCodeLoader(folder)
    law: LogProbability | None = None
    if table.promise is not None:
        _refuse_two_claims(table)
    if table.release is not None:
        function = _load_function(loader, table.release, "challenger.release")
        if mechanism.get("name", OWN_RELEASE) != OWN_RELEASE:
            raise BadInput(
                f"mechanism.name = {mechanism['name']!r} and challenger.release = {table.release!r} exclude "
                'each other; leave out one of them, or write name = "own"'
            )
        own = read_dataclass(BlackboxMechanismTable, mechanism, "mechanism")
        guarantee = _stated_guarantee(table, own)
        pair = _read_pair(table.pair, loader)
        law = None if own.law is None else _load_function(loader, own.law, "mechanism.law")
    else:
        noise = _read_mechanism(mechanism)
        function = MechanismRelease(noise)
        pair = _pair_values(_read_pair(table.pair, loader))
        _require_range(noise, pair)
        guarantee = _mechanism_guarantee(table, noise, mechanism, pair)
    sources = tuple(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    text = _release_text(function, table) if law is None else f"{table.release} {mechanism['law']}"
    return BlackboxSetup(function=function, pair=pair, guarantee=guarantee, sources=(*sources, text), law=law)


def _load_function(loader: UserCodeLoader, reference: str, where: str) -> Any:
    function = loader.load(reference, where)
    if not callable(function):
        raise BadInput(
            f"{where}: {reference!r} is no function, but of type {type(function).__name__}; name a function"
        )
    return function


def _refuse_two_claims(table: BlackboxChallengerTable) -> None:
    for name in ("epsilon", "delta"):
        if getattr(table, name) is not None:
            raise BadInput(f"challenger.{name} and challenger.promise state two claims; leave out {name}")


def _release_text(function: ReleaseFunction, table: BlackboxChallengerTable) -> str:
    return repr(function.mechanism) if isinstance(function, MechanismRelease) else str(table.release)


def _stated_guarantee(table: BlackboxChallengerTable, own: BlackboxMechanismTable) -> Guarantee | None:
    """Return the promise for your own release, written in either table."""
    agreed = {
        name: _same_in_both(name, getattr(table, name), getattr(own, name))
        for name in ("epsilon", "delta", "relation", "unit")
    }
    if table.promise is not None:
        agreed |= {
            name: _same_in_both(name, getattr(table.promise, name), agreed[name])
            for name in ("epsilon", "delta")
        }
    if agreed["epsilon"] is None:
        if agreed["delta"] is not None:
            raise BadInput(f"delta = {agreed['delta']} needs an epsilon; add epsilon = ...")
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
            "mechanism.name: 'opendp' is not available here; audit an OpenDP measurement as your own "
            'release: challenger.release = "module:function", '
            "where function = leakgauge.mechanisms.opendp.release_of(measurement)"
        )
    require_known(name, names, "mechanism: none")
    noise: Mechanism = read_dataclass(
        mechanism_class(name), {key: table[key] for key in table if key != "name"}, f"mechanism {name!r}"
    )
    return noise


def _mechanism_guarantee(
    table: BlackboxChallengerTable, mechanism: Any, mechanism_table: dict[str, Any], pair: tuple[Any, Any]
) -> Guarantee:
    """Return the promise of a named mechanism to the target that moves these values.

    An epsilon in the challenger table is a promise for the pair as a whole, and so is ``promise``, which may
    differ from the mechanism's own epsilon; the epsilon that follows from the noise distribution is then kept
    as the exact one.
    """
    for name in ("epsilon", "delta", "relation", "unit"):
        _same_in_both(name, getattr(table, name), mechanism_table.get(name))
    exact = guarantee_for_pair(mechanism, *pair)
    exact = replace(exact, relation=table.relation or exact.relation, unit=table.unit or exact.unit)
    if table.promise is not None:
        return table.promise.beside(exact)
    if table.epsilon is None or table.epsilon == mechanism_table.get("epsilon"):
        return exact
    return replace(exact, epsilon=table.epsilon, nominal_epsilon=None, curve=None)


def _require_range(mechanism: Any, pair: tuple[Any, Any]) -> None:
    """Refuse values that a mechanism for a range of numbers would cut off."""
    if hasattr(mechanism, "require_range"):
        try:
            mechanism.require_range(np.stack(pair))
        except BadInput as error:
            raise BadInput(f"challenger.pair: {error}") from None


def _same_in_both(name: str, first: Any, second: Any) -> Any:
    if first is not None and second is not None and first != second:
        raise BadInput(f"{name}: {first} in challenger, {second} in mechanism; leave out one of them")
    return second if first is None else first


def _read_pair(pair: Any, loader: UserCodeLoader) -> tuple[Any, Any]:
    """Return the two inputs: named in a module, made by a function there, or written in the plan."""
    rule = "the input without the target, then the one with it"
    if isinstance(pair, str):
        pair = loader.load(pair, "challenger.pair")
        if callable(pair):
            try:
                pair = pair()
            except (Exception, SystemExit) as error:
                raise BadInput(
                    f"challenger.pair: the function raised {error_with_location(error)}"
                ) from error
    elif isinstance(pair, list):
        try:
            pair = [np.array(item) if _is_vector(item) else item for item in pair]
        except ValueError:
            raise BadInput(
                "challenger.pair: a list in an input has lists of different lengths; make them equally long"
            ) from None
    if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
        raise BadInput(f"challenger.pair: must hold two inputs ({rule}), got {type(pair).__name__}")
    return pair[0], pair[1]


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
