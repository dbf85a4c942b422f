"""The tables of a plan about a finished model: the file, its columns, the model and the promise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.data.dataset import as_tuple
from leakgauge.domains.models.training.schedule import BatchSampling
from leakgauge.domains.models.training.trainer import DEFAULT_TRAINER, Trainer, read_trainer
from leakgauge.support.table_reader import read_dataclass
from leakgauge.support.tabular import TextFormat
from leakgauge.support.target_choice import TargetChoice, expand_targets

LossKind: TypeAlias = Literal["cross_entropy", "other"]
OutputKind: TypeAlias = Literal["probabilities", "logits"]
_NO_NOISE: tuple[dict[str, Any], ...] = ({}, {"name": "none"})


def comparable_class(name: Any) -> float | str:
    """A class in a form that can be compared: numbers as floats, anything else as text."""
    if isinstance(name, (bool, np.bool_)):
        return str(bool(name)).lower()
    if isinstance(name, (int, float, np.integer, np.floating)):
        return float(name)
    return str(name)


@dataclass(frozen=True, kw_only=True)
class UserModelDataTable(TextFormat):
    """A file with a row for each record: whether it is a member, and answers of the model or features for it.

    Without a model the file holds its answers: the ``loss`` of each record, or the ``probability`` of its
    true class, or the ``probabilities`` of all classes and the ``label``; or the ``losses`` at checkpoints of
    its training, one column each, of which the last one is the model. With a model it holds ``features``,
    which are all columns of numbers unless they are named, and the ``label``. A loss is a cross-entropy,
    unless ``loss_kind`` is "other" or some losses are negative. ``name`` identifies a record, for its owner
    alone. ``group`` names columns by which exposure is shown, and within which a control splits records;
    neither is a feature unless ``features`` names it.
    """

    source: str
    member: str = "member"
    loss: str | None = None
    losses: tuple[str, ...] | None = None
    probability: str | None = None
    probabilities: tuple[str, ...] | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    loss_kind: LossKind | None = None
    name: str | None = None
    group: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key, names in (
            ("probabilities", self.probabilities),
            ("features", self.features),
            ("losses", self.losses),
        ):
            if names is not None and not names:
                raise BadInput(f"{key} is empty; name columns, or leave it out")
        if self.loss_kind is not None and self.loss is None and self.losses is None:
            raise BadInput("loss_kind is about a column of losses; name it (loss), or leave it out")
        if self.probabilities is not None and len(self.probabilities) < 2:
            raise BadInput(
                "probabilities needs the columns of at least two classes; for the true class alone "
                f'write probability = "{self.probabilities[0]}"'
            )
        for name in (
            *(self.features or ()),
            *(self.probabilities or ()),
            self.label,
            *self.groups,
            self.name,
        ):
            if name == self.member:
                raise BadInput(f"{name!r} is the column of membership; it cannot be used for anything else")

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns of groups."""
        return as_tuple(self.group)

    @property
    def answer_columns(self) -> list[str]:
        """The keys given for columns that hold answers of the model."""
        keys = ("loss", "losses", "probability", "probabilities")
        return [name for name in keys if getattr(self, name) is not None]


@dataclass(frozen=True, kw_only=True)
class UserModelChallengerTable:
    """Which model, how to read its outputs, how members were chosen, and what they were promised.

    ``randomised`` states that each record was put in or left out by an independent fair coin. The ``recipe``
    says how shadow models are trained: the ``name`` of a trainer, which is a network unless it is given, and
    its parameters. The closer to the training of the model, the stronger the attack: ``train`` is the user's
    own training code, whose trainings are kept in a ``cache``. ``shadows`` is a file of predictions of models
    that were trained elsewhere. ``accuracy_check`` refuses a model whose columns are in another order.

    ``targets`` are the records whose exposure is stated, by name (all unless they are given). With
    ``control``, members and others are pooled and split anew in each round, and a model is trained on the new
    members: the same records without whatever distinguishes members from others.
    """

    game: Literal["given"] = "given"
    model: str | None = None
    output: OutputKind | None = None
    randomised: bool = False
    epsilon: float | None = None
    delta: float = 0.0
    relation: Relation = Relation.ADD_REMOVE
    recipe: dict[str, Any] | None = None
    train: str | dict[str, Any] | None = None
    cache: bool = True
    shadows: str | None = None
    accuracy_check: bool = True
    exposure_shadows: int = 64
    targets: TargetChoice | None = None
    control: bool = False

    def __post_init__(self) -> None:
        given = [name for name in ("recipe", "train", "shadows") if getattr(self, name) is not None]
        if len(given) > 1:
            raise BadInput(f"{given[0]}: shadow models also come from {given[1]}; leave out one of the two")
        if self.train is not None and self.model is None:
            raise BadInput(
                "train: shadow models are trained on features; name a model and give rows, or leave it out"
            )
        if self.targets is not None and self.targets.names is None:
            raise BadInput(
                "targets: all records of a finished model are in question; use names, or leave it out"
            )
        if self.control and (self.train is None and self.recipe is None):
            raise BadInput(
                "control: models are trained on members that are drawn anew; say how: train (your own code) "
                "or recipe"
            )
        if self.control and self.randomised:
            raise BadInput(
                "control: membership was randomised, so nothing else distinguishes members; leave it out"
            )
        if self.epsilon is not None and not self.randomised:
            raise BadInput(
                "epsilon: a promise can be tested on one model only if each record was put in or left out "
                "at random, with probability one half; add randomised = true if so, or leave epsilon out"
            )
        if self.guarantee is None and self.delta:
            raise BadInput(f"delta = {self.delta} needs an epsilon; add epsilon = ...")
        if self.output is not None and self.model is None:
            raise BadInput("output is about what a model returns; name the model, or leave it out")
        if self.recipe is not None and self.model is None:
            raise BadInput(
                "recipe: shadow models are trained on features; name a model and give rows, or leave it out"
            )

    def shadow_trainer(self) -> Trainer | None:
        """How shadow models are trained, without noise; None where the plan has no recipe."""
        if self.recipe is None:
            return None
        table = {"name": DEFAULT_TRAINER, **self.recipe}
        if table["name"] == DEFAULT_TRAINER:
            table.setdefault("sampling", BatchSampling.SHUFFLED.value)
        return read_trainer(table, "challenger.recipe")

    @property
    def guarantee(self) -> Guarantee | None:
        """The stated promise to each record."""
        if self.epsilon is None:
            return None
        return Guarantee(epsilon=self.epsilon, delta=self.delta, relation=self.relation, unit=Unit.RECORD)


def read_user_model_tables(
    data: Mapping[str, Any], challenger: Mapping[str, Any], mechanism: Mapping[str, Any]
) -> tuple[UserModelDataTable, UserModelChallengerTable]:
    """Read the tables of a plan, and refuse what does not go together."""
    owner = read_dataclass(UserModelChallengerTable, expand_targets(challenger), "challenger")
    owner.shadow_trainer()  # refuse a recipe with mistakes before the file is read
    file = read_dataclass(UserModelDataTable, data, "data")
    if dict(mechanism) not in _NO_NOISE:
        raise BadInput(
            "mechanism: the model is already trained; leave this table out, and state what was "
            "promised as challenger.epsilon"
        )
    if owner.model is None:
        if len(file.answer_columns) != 1:
            raise BadInput(
                "data: name the column of the model's answers: one of loss, losses (at checkpoints), "
                "probability (of the true class) or probabilities (of all classes); got "
                f"{' and '.join(file.answer_columns) or 'none'}. Or name a model to query: challenger.model"
            )
        if file.features is not None:
            raise BadInput("data.features: without challenger.model features are not used; leave it out")
        if (file.label is None) != (file.probabilities is None):
            raise BadInput("data.label: it is for probabilities, and names the true class of each record")
    else:
        if file.answer_columns:
            raise BadInput(
                f"data.{file.answer_columns[0]}: challenger.model gives the answers; leave out one of the two"
            )
        if file.label is None:
            raise BadInput('data.label is missing: add label = "..." to name the column of the true class')
    return file, owner
