"""Trainers: what a kind of model provides, and how one is found by the name of its file in ``trainers/``."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.training import noise_calibration, trainers
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.progress import ProgressListener
from leakgauge.support.table_reader import read_dataclass, require_known

DEFAULT_TRAINER = "network"


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled rows: features are scaled to [0, 1], labels are 0..classes-1."""

    rows: Floats
    labels: Ints
    classes: int

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.labels.shape != self.rows.shape[:1]:
            raise BadInput(
                f"training needs a label for each row, got {self.labels.shape} for {self.rows.shape}"
            )
        if not np.isfinite(self.rows).all():
            raise BadInput("training: a feature is not a finite number; impute or drop it")
        if not ((self.labels >= 0) & (self.labels < self.classes)).all():
            raise BadInput(f"training: labels must be in 0..{self.classes - 1}")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Ints) -> "Examples":
        """Some of them, by position."""
        return Examples(self.rows[rows], self.labels[rows], self.classes)

    def present(self, present: Bits | None) -> "Examples":
        """Those that are not marked as absent."""
        return self if present is None else self.take(np.flatnonzero(present))


def concatenate_examples(*parts: Examples) -> Examples:
    """The rows of all parts, one after the other."""
    return Examples(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.labels for part in parts]),
        parts[0].classes,
    )


class Classifier(Protocol):
    """A fitted model that can be queried."""

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes: logarithms of probabilities that add up to 1 in each row."""
        ...


def cross_entropy(model: Classifier, records: Examples) -> Reals:
    """The cross-entropy loss of each record."""
    log_probabilities = model.log_probabilities(records.rows)
    return -np.take_along_axis(log_probabilities, records.labels[:, None], axis=1)[:, 0]


def accuracy(model: Classifier, records: Examples) -> float:
    """The share of records whose most probable class is the right one; the first class wins a tie."""
    return float(np.mean(model.log_probabilities(records.rows).argmax(axis=1) == records.labels))


class PreparedTrainer(Protocol):
    """A training that is fully specified: the challenger releases its models, attackers train shadows by it.

    It is a frozen value: equal trainers fit the same model from the same rows and stream, so that attacks
    share shadow models. It must survive pickling, because shadows are trained by worker processes.
    """

    @property
    def guarantee(self) -> Guarantee | None:
        """The promise to one row of the training data; None where nothing is promised."""
        ...

    @property
    def group_guarantee(self) -> Guarantee | None:
        """The promise to all rows of the training data together; None where nothing is promised."""
        ...

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> Classifier:
        """Train on any number of rows, with the noise that was prepared; the examples stay unchanged.

        ``watch`` receives messages about progress. Rows that are not ``present`` are empty slots: they count
        as rows of the training (batches are drawn as if they were there), but nothing is learned from them.
        """
        ...

    def without_noise(self) -> "PreparedTrainer":
        """The same training without noise, which promises nothing."""
        ...


def training_kind(trainer: PreparedTrainer, examples: Examples) -> Hashable:
    """What trainings have in common that take about as long, on rows of the same form."""
    return trainer, examples.rows.shape[1], examples.classes, len(examples).bit_length()


class Trainer(Protocol):
    """The class ``Trainer`` of a file in ``trainers/``: a frozen dataclass of the parameters of a plan.

    Every parameter has a default and is checked in ``__post_init__``. A kind of model that needs no
    preparation returns itself from ``prepare``.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def prepare(self, mechanism: noise_calibration.TrainingMechanism, n_rows: int) -> PreparedTrainer:
        """Set up the training of ``n_rows`` rows with the noise that the mechanism asks for.

        A trainer that cannot add this noise refuses it: see ``require_no_noise``.
        """
        ...


def trainer_names() -> list[str]:
    """Name the kinds of models that can be trained: the files in ``trainers/``.

    >>> {"network", "random_forest"} <= set(trainer_names())
    True
    """
    return sorted(
        module.name for module in iter_modules(trainers.__path__) if not module.name.startswith("_")
    )


def find_trainer(name: str, where: str) -> type[Trainer]:
    """The trainer of that name; ``where`` begins the message about a name that is unknown."""
    require_known(name, trainer_names(), f"{where}: none")
    return import_module(f"{trainers.__name__}.{name}").Trainer


def read_trainer(table: Mapping[str, Any], where: str) -> Trainer:
    """Read a trainer from a table of a plan, which holds its name and its parameters.

    >>> read_trainer({"name": "random_forest", "trees": 50}, "challenger.trainer").trees
    50
    """
    parameters = dict(table)
    kind = find_trainer(parameters.pop("name", DEFAULT_TRAINER), where)
    return read_dataclass(kind, parameters, where)


def require_no_noise(mechanism: noise_calibration.TrainingMechanism, trainer: str) -> None:
    """Refuse a mechanism that is about the gradients of a network, for a trainer that has none."""
    if mechanism.sum_noise is not None:
        raise BadInput(
            f"mechanism: name = {mechanism.name!r} is noise on sums of rows, and trainer {trainer!r} has "
            'none; use trainer = "noisy_mean"'
        )
    if mechanism.noise is not None or mechanism.optimizer is not None:
        what = "optimizer" if mechanism.noise is None else f"name = {mechanism.name!r}"
        raise BadInput(
            f"mechanism: {what} is about the gradients of a network, and trainer {trainer!r} has none; use "
            'mechanism = { name = "none" }'
        )
