"""The `challenger` and `mechanism` tables of a plan about models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.training.noise_calibration import DpTrainingTable
from leakgauge.domains.models.training.optimizers import Adam, Optimizer, Sgd
from leakgauge.domains.models.training.schedule import BatchSampling, require_valid_training
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.target_choice import TargetChoice, expand_targets

NO_NOISE = "none"
TRAINING_MECHANISMS: Mapping[str, type[Optimizer]] = {"dp_adam": Adam, "dp_sgd": Sgd}
MEAN_MECHANISMS = ("laplace", "geometric", "gaussian")  # noise on the mean of a feature
DEFAULT_TARGETS = 100


class ModelsGame(StrEnum):
    """The experiments of Humphries et al. (2023), a group that is fixed, and a model that is given."""

    STRONG = "strong"
    IID = "iid"
    EXCHANGEABLE = "exchangeable"
    MIXTURE = "mixture"
    GROUP = "group"
    GIVEN = "given"


DEPENDENT_GAMES = (ModelsGame.MIXTURE, ModelsGame.GROUP)


@dataclass(frozen=True, kw_only=True)
class ModelsChallengerTable:
    """Who is trained on, whose membership is in question, and how a model is trained.

    ``members`` are the rows of a training; ``reference`` is how many rows the adversary has, or as a fraction
    the share of all rows (game "group": of those that are left over). ``mislabel`` gives targets a wrong
    label: such canaries are learned by heart or not at all.
    """

    game: ModelsGame = ModelsGame.EXCHANGEABLE
    members: int | None = None
    others: int | None = None
    targets: TargetChoice | None = None
    reference: int | float = 0.5
    dependence: dict[str, Any] = field(default_factory=dict)
    control: bool = False
    validation: int = 0
    mislabel: bool = False
    epochs: int = 100
    batch: int | None = None
    hidden: tuple[int, ...] = (256, 256)
    rate: float = 0.01
    sampling: BatchSampling = BatchSampling.POISSON

    def __post_init__(self) -> None:
        for name, least in (("members", 2), ("others", 1), ("validation", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise BadInput(f"{name} must be >= {least}, got {value}")
        require_valid_training(self)
        if not 0 <= self.reference < float("inf"):
            raise BadInput(f"reference must be >= 0, got {self.reference}; 0.5 is usual")
        if isinstance(self.reference, float) and self.reference >= 1:
            raise BadInput(
                f"reference = {self.reference}: a share is below 1, a number of rows a whole number"
            )
        if self.targets is not None and self.targets.names is not None:
            raise BadInput("targets.names: rows of a table have no names; say n")
        if self.dependence and self.game not in DEPENDENT_GAMES:
            raise BadInput(
                f"dependence is for game = 'mixture' or 'group', not {self.game.value!r}; leave it out"
            )
        if not self.dependence and self.game in DEPENDENT_GAMES:
            ways = '"source"' if self.game is ModelsGame.MIXTURE else '"source", "bias"'
            raise BadInput(
                f"game = {self.game.value!r} needs to know what members have in common: add dependence = "
                f'{{ name = "clusters" }} (or {ways})'
            )
        for name in ("others", "control", "validation"):
            if getattr(self, name) and self.game is not ModelsGame.GROUP:
                raise BadInput(f"{name} is for game = 'group', not {self.game.value!r}; leave it out")
        if self.mislabel and self.game in DEPENDENT_GAMES:
            raise BadInput(
                f"mislabel is for targets that are fixed, not for {self.game.value!r}; leave it out"
            )
        if self.game is ModelsGame.STRONG and self.targets is not None and self.targets.how_many != 1:
            raise BadInput(f"targets: game 'strong' is about one target, got {self.targets.how_many}")

    def how_many(self, members: int = 2 * DEFAULT_TARGETS) -> int:
        """Records in question in a round, of a model with so many members."""
        return min(DEFAULT_TARGETS, members // 2) if self.targets is None else self.targets.how_many


def read_challenger_table(table: Mapping[str, Any]) -> ModelsChallengerTable:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read_dataclass(ModelsChallengerTable, expand_targets(table), "challenger")


@dataclass(frozen=True, kw_only=True)
class TrainingMechanism:
    """How weights move, the noise on the way, and which tables are neighbours."""

    optimizer: Optimizer
    noise: DpTrainingTable | None
    relation: Relation


@dataclass(frozen=True, kw_only=True)
class _NoNoiseTable:
    """What training without noise has to say: which optimizer, and what an absent target leaves behind."""

    optimizer: str = "adam"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        require_known(self.optimizer, ["adam", "sgd"], "optimizer: none")


def read_training_mechanism(table: Mapping[str, Any], rate: float) -> TrainingMechanism:
    """Read the mechanism of a training."""
    said = dict(table)
    name = said.pop("name", None)
    if name is None:
        raise BadInput(
            f"mechanism: 'name' is missing; one of {', '.join((*TRAINING_MECHANISMS, NO_NOISE, *MEAN_MECHANISMS))}"
        )
    require_known(name, [*TRAINING_MECHANISMS, NO_NOISE, *MEAN_MECHANISMS], "mechanism: none")
    if name == NO_NOISE:
        plain = read_dataclass(_NoNoiseTable, said, "mechanism 'none'")
        kind = Adam if plain.optimizer == "adam" else Sgd
        return TrainingMechanism(optimizer=kind(rate=rate), noise=None, relation=plain.relation)
    noise = read_dataclass(DpTrainingTable, said, f"mechanism {name!r}")
    optimizer = TRAINING_MECHANISMS[name](rate=rate)  # type: ignore[call-arg]
    return TrainingMechanism(optimizer=optimizer, noise=noise, relation=noise.relation)
