"""The `challenger` and `mechanism` tables of a plan about models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.core.settings import read, require
from leakgauge.core.targets import Targets, spelled_out
from leakgauge.domains.models.training.asked import require_trainable
from leakgauge.domains.models.training.batches import Sampling
from leakgauge.domains.models.training.noise import TrainingNoise
from leakgauge.domains.models.training.optimizers import Adam, Optimizer, Sgd

NONE = "none"
TRAINED: Mapping[str, type[Optimizer]] = {"dp_adam": Adam, "dp_sgd": Sgd}
MEANS = ("laplace", "geometric", "gaussian")  # noise on the mean of a feature
TARGETS = 100


class Rules(StrEnum):
    """The experiments of Humphries et al. (2023), a group that is fixed, and a model that is given."""

    STRONG = "strong"
    IID = "iid"
    EXCHANGEABLE = "exchangeable"
    MIXTURE = "mixture"
    GROUP = "group"
    GIVEN = "given"


DEPENDENT = (Rules.MIXTURE, Rules.GROUP)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Who is trained on, whose membership is in question, and how a model is trained.

    ``members`` are the rows of a training; ``reference`` is how many rows the adversary has, or as a fraction
    the share of all rows (game "group": of those that are left over). ``mislabel`` gives targets a wrong
    label: such canaries are learned by heart or not at all.
    """

    game: Rules = Rules.EXCHANGEABLE
    members: int | None = None
    others: int | None = None
    targets: Targets | None = None
    reference: int | float = 0.5
    dependence: dict[str, Any] = field(default_factory=dict)
    control: bool = False
    validation: int = 0
    mislabel: bool = False
    epochs: int = 100
    batch: int | None = None
    hidden: tuple[int, ...] = (256, 256)
    rate: float = 0.01
    sampling: Sampling = Sampling.POISSON

    def __post_init__(self) -> None:
        for name, least in (("members", 2), ("others", 1), ("validation", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")
        require_trainable(self)
        if not 0 <= self.reference < float("inf"):
            raise BadInput(f"reference must be >= 0, got {self.reference}; 0.5 is usual")
        if isinstance(self.reference, float) and self.reference >= 1:
            raise BadInput(
                f"reference = {self.reference}: a share is below 1, a number of rows a whole number"
            )
        if self.targets is not None and self.targets.names is not None:
            raise BadInput("targets.names: rows of a table have no names; say n")
        if self.dependence and self.game not in DEPENDENT:
            raise BadInput(
                f"dependence is for game = 'mixture' or 'group', not {self.game.value!r}; leave it out"
            )
        if not self.dependence and self.game in DEPENDENT:
            ways = '"source"' if self.game is Rules.MIXTURE else '"source", "bias"'
            raise BadInput(
                f"game = {self.game.value!r} needs to know what members have in common: add dependence = "
                f'{{ name = "clusters" }} (or {ways})'
            )
        for name in ("others", "control", "validation"):
            if getattr(self, name) and self.game is not Rules.GROUP:
                raise BadInput(f"{name} is for game = 'group', not {self.game.value!r}; leave it out")
        if self.mislabel and self.game in DEPENDENT:
            raise BadInput(
                f"mislabel is for targets that are fixed, not for {self.game.value!r}; leave it out"
            )
        if self.game is Rules.STRONG and self.targets is not None and self.targets.how_many != 1:
            raise BadInput(f"targets: game 'strong' is about one target, got {self.targets.how_many}")

    def how_many(self, members: int = 2 * TARGETS) -> int:
        """Records in question in a round, of a model with so many members."""
        return min(TARGETS, members // 2) if self.targets is None else self.targets.how_many


def read_setting(table: Mapping[str, Any]) -> Setting:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read(Setting, spelled_out(table), "challenger")


@dataclass(frozen=True, kw_only=True)
class Learner:
    """How weights move, the noise on the way, and which tables are neighbours."""

    optimizer: Optimizer
    noise: TrainingNoise | None
    relation: Relation


@dataclass(frozen=True, kw_only=True)
class _NoNoise:
    """What training without noise has to say: which optimizer, and what an absent target leaves behind."""

    optimizer: str = "adam"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        require(self.optimizer, ["adam", "sgd"], "optimizer: none")


def read_learner(table: Mapping[str, Any], rate: float) -> Learner:
    """Read the mechanism of a training."""
    said = dict(table)
    name = said.pop("name", None)
    if name is None:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join((*TRAINED, NONE, *MEANS))}")
    require(name, [*TRAINED, NONE, *MEANS], "mechanism: none")
    if name == NONE:
        plain = read(_NoNoise, said, "mechanism 'none'")
        kind = Adam if plain.optimizer == "adam" else Sgd
        return Learner(optimizer=kind(rate=rate), noise=None, relation=plain.relation)
    noise = read(TrainingNoise, said, f"mechanism {name!r}")
    return Learner(optimizer=TRAINED[name](rate=rate), noise=noise, relation=noise.relation)  # type: ignore[call-arg]
