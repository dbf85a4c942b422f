"""The `data`, `challenger` and `mechanism` tables of a plan about models."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.data import dataset, preprocessing
from leakgauge.domains.models.training import noise_calibration, optimizers, schedule
from leakgauge.domains.models.training.trainer import DEFAULT_TRAINER, Trainer, find_trainer, read_trainer
from leakgauge.domains.models.user_model.plan_tables import OutputKind
from leakgauge.mechanisms import mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.tabular import TextFormat
from leakgauge.support.target_choice import TargetChoice, expand_targets

NO_NOISE = "none"
TRAINING_MECHANISMS: Mapping[str, optimizers.OptimizerName] = {"dp_adam": "adam", "dp_sgd": "sgd"}
MEANS_TRAINER = "noisy_mean"
DEFAULT_TARGETS = 100
EXPOSURE_SHADOWS = 64
MOST_VALUES = 10**9  # of generated rows
TRAINER_KEYS = ("epochs", "batch", "hidden", "rate", "sampling")  # parameters of a trainer


@dataclass(frozen=True, kw_only=True)
class ModelsSyntheticDataTable:
    """Rows of a mixture of Gaussians: each component has a centre and a rule of its own for the classes.

    Centres are at ``distance`` from the origin, in units of the noise. The class of a row is the largest of
    ``classes`` linear scores; the scores of all components add up to zero, so two components have opposite
    rules. A share ``flip`` of the labels is drawn at random.
    """

    rows: int = 4_000
    features: int = 20
    components: int = 2
    classes: int = 2
    distance: float = 2.0
    flip: float = 0.1

    def __post_init__(self) -> None:
        for name, minimum in (("rows", 20), ("features", 2), ("components", 1), ("classes", 2)):
            if not getattr(self, name) >= minimum:
                raise BadInput(f"{name} must be >= {minimum}, got {getattr(self, name)}")
        if not self.rows * self.features <= MOST_VALUES:
            raise BadInput(
                f"{self.rows} rows of {self.features} features are more than {MOST_VALUES} values; lower one"
            )
        if not self.components * self.classes <= self.rows:
            raise BadInput(f"rows = {self.rows} are too few for each class of each component; raise it")
        if not 0 <= self.distance < math.inf:
            raise BadInput(f"distance must be >= 0 and finite, got {self.distance}")
        if not 0 <= self.flip <= 1:
            raise BadInput(f"flip must be in [0, 1], got {self.flip}")


@dataclass(frozen=True, kw_only=True)
class ModelsConstantsDataTable:
    """A number of components; every record of component k of K is the value k / (K - 1).

    Whoever knows the component of the members knows all their values: noise that hides one of n records does
    not hide n (the example of Humphries et al. 2023, section III-C).
    """

    components: int = 2
    rows: int | None = None  # of each component; None: as many as the game needs

    def __post_init__(self) -> None:
        if not self.components >= 2:
            raise BadInput(f"components must be >= 2, got {self.components}")
        if self.rows is not None and not self.rows >= 2:
            raise BadInput(f"rows must be >= 2, got {self.rows}")


@dataclass(frozen=True, kw_only=True)
class ModelsCodeDataTable:
    """Records that code of the user makes ("module:name"); ``group`` is a column of its data frame."""

    group: str | None = None


@dataclass(frozen=True, kw_only=True)
class LabelRule:
    """A label that a rule makes of a column of numbers: whether it is at least so much."""

    column: str
    at_least: float


@dataclass(frozen=True, kw_only=True)
class ModelsFileDataTable(TextFormat):
    """A CSV or Parquet file: its label, its groups, columns to drop, and the words for missing values.

    ``categories`` are columns of numbers that are codes; ``impute`` allows missing values to be imputed. A
    ``label`` is a column, or a rule about a column of numbers: { column = "grade", at_least = 10 }. ``name``
    is the column that identifies a record, for its owner alone; no feature.
    """

    source: str
    label: str | LabelRule = "label"
    group: str | tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    impute: bool = False
    duplicates: preprocessing.DuplicatePolicy = "remove"
    name: str | None = None

    def __post_init__(self) -> None:
        if self.name in (self.label_column, *dataset.as_tuple(self.group), *self.drop):
            raise BadInput(
                f"name: {self.name!r} is the label, a group or dropped; it identifies records only"
            )
        for name in dataset.as_tuple(self.group):
            if name == self.label_column:
                raise BadInput(f"group: {name!r} is the label; members and others would differ by class")
        for name in self.drop:
            if name in (self.label_column, *dataset.as_tuple(self.group)):
                raise BadInput(
                    f"drop: {name!r} is the label or a group, which are never features; leave it out"
                )

    @property
    def label_column(self) -> str:
        """The column that holds the label, or that it is made from."""
        return self.label if isinstance(self.label, str) else self.label.column


class ModelsGame(StrEnum):
    """The experiments of Humphries et al. (2023), a fixed group of members, and a finished model."""

    STRONG = "strong"
    IID = "iid"
    EXCHANGEABLE = "exchangeable"
    MIXTURE = "mixture"
    GROUP = "group"
    GIVEN = "given"


DEPENDENT_GAMES = (ModelsGame.MIXTURE, ModelsGame.GROUP)


@dataclass(frozen=True, kw_only=True)
class ModelsChallengerTable:
    """The training rows, the records whose membership is in question, and how a model is trained.

    ``members`` are the rows of a training; ``reference`` is how many rows the attacker has, or as a fraction
    the share of all rows (game "group": of those that are left over). ``mislabel`` gives targets a wrong
    label: such canaries are memorised or not learned at all.

    ``trainer`` is the kind of model: a name, or a table with a name and parameters. The parameters of a
    network may also be given here: ``epochs``, ``batch``, ``hidden``, ``rate``, ``sampling``. Instead of it,
    ``train`` names training code of the user; ``output`` says what its models return, and its trainings are
    kept in a ``cache``.

    ``exposure_shadows`` is how many shadow models ``leakgauge expose`` trains; ``dependent_records`` how many
    records may depend on one another, such as those of one person: their promise is then stated too.
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
    trainer: str | dict[str, Any] = DEFAULT_TRAINER
    epochs: int | None = None
    batch: int | None = None
    hidden: tuple[int, ...] | None = None
    rate: float | None = None
    sampling: schedule.BatchSampling | None = None
    exposure_shadows: int = EXPOSURE_SHADOWS
    dependent_records: int | None = None
    train: str | dict[str, Any] | None = None
    output: OutputKind | None = None
    cache: bool = True

    def __post_init__(self) -> None:
        for name, minimum in (("members", 2), ("others", 1), ("validation", 0), ("dependent_records", 2)):
            value = getattr(self, name)
            if value is not None and not value >= minimum:
                raise BadInput(f"{name} must be >= {minimum}, got {value}")
        if not 0 <= self.reference < math.inf:
            raise BadInput(f"reference must be >= 0, got {self.reference}; 0.5 is usual")
        if isinstance(self.reference, float) and self.reference >= 1:
            raise BadInput(
                f"reference = {self.reference}: a share must be below 1, a number of rows a whole number"
            )
        if self.targets is not None and self.targets.names is not None and self.game in DEPENDENT_GAMES:
            raise BadInput(
                f"targets.names: game = {self.game.value!r} draws its targets in each round; use n"
            )
        if self.dependence and self.game not in DEPENDENT_GAMES:
            raise BadInput(
                f"dependence is for game = 'mixture' or 'group', not {self.game.value!r}; leave it out"
            )
        if not self.dependence and self.game in DEPENDENT_GAMES:
            ways = '"source"' if self.game is ModelsGame.MIXTURE else '"source", "bias"'
            raise BadInput(
                f"game = {self.game.value!r} needs what members have in common: add dependence = "
                f'{{ name = "clusters" }} (or {ways})'
            )
        for name in ("others", "control", "validation"):
            if getattr(self, name) and self.game is not ModelsGame.GROUP:
                raise BadInput(f"{name} is for game = 'group', not {self.game.value!r}; leave it out")
        if self.mislabel and self.game in DEPENDENT_GAMES:
            raise BadInput(
                f"mislabel is for fixed targets, and game = {self.game.value!r} draws them in each round; "
                "leave it out"
            )
        if self.train is not None:
            named = [
                key for key in ("trainer", *TRAINER_KEYS) if getattr(self, key) not in (None, DEFAULT_TRAINER)
            ]
            if named:
                raise BadInput(f"{named[0]}: train says how models are trained; leave out one of the two")
        if self.output is not None and self.train is None:
            raise BadInput(
                "output is about what the models of your own training (train) return; leave it out"
            )
        if self.game is ModelsGame.STRONG and self.targets is not None and self.targets.how_many != 1:
            raise BadInput(f"targets: game 'strong' is about one target, got {self.targets.how_many}")

    def read_trainer(self) -> Trainer:
        """Read how models are trained, from ``trainer`` and the parameters beside it."""
        table = {"name": self.trainer} if isinstance(self.trainer, str) else dict(self.trainer)
        name = table.setdefault("name", DEFAULT_TRAINER)
        where = "challenger.trainer" if len(table) > 1 else "challenger"
        known = [field.name for field in fields(find_trainer(name, "challenger.trainer"))]
        for key in TRAINER_KEYS:
            if (value := getattr(self, key)) is None:
                continue
            if key not in known:
                raise BadInput(f"challenger.{key}: trainer {name!r} has no such parameter; leave it out")
            if key in table:
                raise BadInput(
                    f"challenger.{key}: it is also given in challenger.trainer; leave out one of the two"
                )
            table[key] = value
        return read_trainer(table, where)

    def how_many(self, members: int = 2 * DEFAULT_TARGETS) -> int:
        """The number of records in question in a round of a model with ``members``."""
        return min(DEFAULT_TARGETS, members // 2) if self.targets is None else self.targets.how_many


def trains_means(options: ModelsChallengerTable) -> bool:
    """Whether the trainer computes means of rows, whose sums can have noise."""
    trainer = options.trainer
    return (trainer if isinstance(trainer, str) else trainer.get("name")) == MEANS_TRAINER


def trains_user_code(challenger: Mapping[str, Any]) -> bool:
    """Whether the challenger's table names training code of the user."""
    return challenger.get("train") is not None


def read_challenger_table(table: Mapping[str, Any]) -> ModelsChallengerTable:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read_dataclass(ModelsChallengerTable, expand_targets(table), "challenger")


@dataclass(frozen=True, kw_only=True)
class NoNoiseTable:
    """The options of training without noise: the optimizer, and what an absent target leaves behind."""

    optimizer: optimizers.OptimizerName | None = None
    relation: Relation = Relation.REPLACE_ONE


def mean_mechanisms() -> list[str]:
    """Name the noise that the mean of a feature can have: all mechanisms that add noise."""
    return mechanism_names(adds_noise)


def mechanism_lines() -> dict[str, str | None]:
    """Name the mechanisms of a plan, with a line where a mechanism has no file of its own."""
    return {
        "dp_adam": "Gaussian noise on clipped gradients, Adam (Abadi et al. 2016).",
        "dp_sgd": "Gaussian noise on clipped gradients, plain descent (Abadi et al. 2016).",
        NO_NOISE: "Training without noise; nothing is promised.",
        **dict.fromkeys(mean_mechanisms()),
    }


def read_training_mechanism(mechanism: Mapping[str, Any]) -> noise_calibration.TrainingMechanism:
    """Read the mechanism of a training."""
    parameters = dict(mechanism)
    name = parameters.pop("name", None)
    known = list(mechanism_lines())
    if name is None:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join(known)}")
    require_known(name, known, "mechanism: none")
    if name == NO_NOISE:
        plain = read_dataclass(NoNoiseTable, parameters, "mechanism 'none'")
        return noise_calibration.TrainingMechanism(
            name=name, noise=None, relation=plain.relation, optimizer=plain.optimizer
        )
    noise = read_dataclass(noise_calibration.DpTraining, parameters, f"mechanism {name!r}")
    return noise_calibration.TrainingMechanism(
        name=name, noise=noise, relation=noise.relation, optimizer=TRAINING_MECHANISMS[name]
    )
