"""An attack of the user's own, a class in a file beside the plan: loaded, checked and watched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals, Scorer
from leakgauge.support.mutation_guard import MutationGuard
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader, error_with_location


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
    kind = loader.load(attack, where)
    if not (isinstance(kind, type) and is_dataclass(kind) and callable(getattr(kind, "study", None))):
        raise BadInput(f"{where}: must be a dataclass with a method study(knowledge, rng)")
    accepts = getattr(kind, "accepts", None)
    if not isinstance(accepts, tuple) or not accepts:
        raise BadInput(
            f'{where}: must state what it can use: accepts: ClassVar[tuple[str, ...]] = ("{known[0]}",)'
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
        guard = MutationGuard(knowledge)
        try:
            scorer = self.attack.study(knowledge, rng)
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(f"{where}: study raised {error_with_location(error)}") from error
        if not isinstance(scorer, Scorer):
            raise BadInput(f"{where}: study must return a Scorer, got {type(scorer).__name__}")
        if guard.broken:
            raise BadInput(f"{where}: study changed its knowledge, which is shared; work on a copy")
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


@dataclass(frozen=True)
class _WatchedScore:
    score: Any
    where: str

    def __call__(self, view: Any, rng: Generator) -> Reals:
        guard = MutationGuard(view)
        try:
            scores = np.asarray(self.score(view, rng), dtype=np.float64)
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(f"{self.where}: the scorer raised {error_with_location(error)}") from error
        if guard.broken:
            raise BadInput(f"{self.where}: the scorer changed the release, which is shared; work on a copy")
        if lost := int((~np.isfinite(scores)).sum()):
            raise BadInput(
                f"{self.where}: {lost:,} of {scores.size:,} scores are NaN or infinite; return a finite "
                "number for each release and target; for certainty a large one: np.clip(scores, -1e6, 1e6)"
            )
        return scores
