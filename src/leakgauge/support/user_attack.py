"""An attack of the user's own, a class in a file beside the plan: loaded, checked and watched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Scorer
from leakgauge.support.mutation_guard import MutationGuard
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader, error_with_location, short_path


def is_user_attack(attack: str) -> bool:
    """Whether a plan names an attack as "module:name", a class of the user's own.

    >>> is_user_attack("mine:Attack"), is_user_attack("likelihood")
    (True, False)
    """
    return ":" in attack


def load_user_attack(attack: str, known: Sequence[str], folder: Path) -> tuple[Any, str]:
    """Load the class of an attack, and a digest of the files it comes from.

    ``known`` names what attackers of the domain may know.
    """
    loader, where = UserCodeLoader(folder), f"attack {attack!r}"
    kind: Any = loader.load(attack, where)
    study = getattr(kind, "study", None)
    if not (isinstance(kind, type) and is_dataclass(kind) and callable(study)):
        raise BadInput(f"{where}: must be a dataclass with a method study(knowledge, rng)")
    _require_call(study, "study", ("self", "knowledge", "rng"), where)
    accepts = getattr(kind, "accepts", None)
    if not isinstance(accepts, tuple) or not accepts:
        name = accepts if isinstance(accepts, str) else known[0]
        raise BadInput(
            f'{where}: must state what it can use: accepts: ClassVar[tuple[str, ...]] = ("{name}",)'
        )
    for name in accepts:
        require_known(name, known, f"{where}: accepts: no knowledge")
    texts = "\n".join(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    return kind, sha256(texts.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class UserAttack:
    """An attack of the user's own; what it raises or returns wrongly becomes one line with its file and line.

    Like every attack it is given a knowledge value and, of each block, the view of that knowledge. It may
    change neither: other attackers face the same releases.
    """

    attack: Any
    name: str
    accepts: tuple[str, ...]

    def study(self, knowledge: Any, rng: Generator) -> Scorer[Any]:
        where = f"attack {self.name!r}"
        guards = _guards(knowledge)
        try:
            scorer = self.attack.study(knowledge, rng)
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(f"{where}: study raised {error_with_location(error)}") from error
        if not isinstance(scorer, Scorer):
            name = getattr(scorer, "__name__", "")
            returned = name if name.isidentifier() else "score"  # not that of a lambda
            raise BadInput(
                f"{where}: study must return a Scorer, got {type(scorer).__name__}; write: return "
                f"Scorer({returned})"
            )
        if any(guard.broken for guard in guards):
            raise BadInput(f"{where}: study changed its knowledge, which is shared; work on a copy")
        _require_call(scorer.score, "score", ("view", "rng"), where)
        return replace(scorer, score=_WatchedScore(scorer.score, where))


def build_user_attack(kind: Any, name: str, parameters: Mapping[str, Any]) -> UserAttack:
    """Build an attack from its class and the parameters in the plan."""
    where = f"attack {name!r}"
    try:
        return UserAttack(read_dataclass(kind, parameters, where), name, kind.accepts)
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"{where}: building it raised {error_with_location(error)}") from error


def _require_call(function: Any, name: str, arguments: tuple[str, ...], where: str) -> None:
    """Refuse a function that cannot be called with so many arguments."""
    try:
        signature(function).bind(*arguments)
    except TypeError:
        line = f"def {name}({', '.join(arguments)}):"
        takes = f"{_place(function, name)} takes {signature(function)}"
        raise BadInput(f"{where}: {takes}; write: {line}") from None
    except ValueError:  # a function without a signature, as of a compiled library
        return


def _place(function: Any, name: str) -> str:
    """A function by its name in messages, with the file and line of its definition where these are known."""
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({short_path(code.co_filename)}, line {code.co_firstlineno})"


def _real_numbers(returned: Any, where: str) -> Reals:
    """Refuse scores that are not an array of real numbers."""
    try:
        scores = np.asarray(returned)
    except Exception:  # whatever an object of the user raises
        scores = np.asarray(None)
    if scores.dtype.kind in "biuf":
        return scores.astype(np.float64)
    kind = type(returned).__name__ + (f" of {scores.dtype}" if isinstance(returned, np.ndarray) else "")
    raise BadInput(
        f"{where}: the scorer returned {kind}, which is no array of real numbers; return one number for each "
        "release (row) and target (column)"
    )


def _guards(value: Any) -> list[MutationGuard]:
    """Guards of all data that an attack is shown.

    Of our own types these are the fields without an underscore. The others hold what is computed or asked for
    when it is first used, which changes them; an attack gets only copies or read-only arrays from there.
    Functions are no data.
    """
    if is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in fields(value) if not field.name.startswith("_")]
        return [guard for name in shown for guard in _guards(getattr(value, name))]
    return [] if callable(value) else [MutationGuard(value)]


@dataclass(frozen=True)
class _WatchedScore:
    score: Any
    where: str

    def __call__(self, view: Any, rng: Generator) -> Reals:
        guards = _guards(view)
        try:
            returned = self.score(view, rng)
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(f"{self.where}: the scorer raised {error_with_location(error)}") from error
        scores = _real_numbers(returned, self.where)
        if any(guard.broken for guard in guards):
            raise BadInput(f"{self.where}: the scorer changed the release, which is shared; work on a copy")
        if lost := int((~np.isfinite(scores)).sum()):
            raise BadInput(
                f"{self.where}: {lost:,} of {scores.size:,} scores are NaN or infinite; return a finite "
                "number for each release and target; for certainty a large one: np.clip(scores, -1e6, 1e6)"
            )
        return scores
