"""What an attacker of models may know; nothing else reaches an attack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models import DOMAIN, release
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer
from leakgauge.support.table_reader import read_dataclass, require_known


@dataclass(frozen=True, eq=False, kw_only=True)
class BlackBoxKnowledge:
    """Reference rows, and how models are trained; the attacker can query a model about any row.

    ``targets`` are known beforehand where they are the same in all rounds. The slots of absent targets among
    the ``n_members`` of a training go to other rows, or stay ``empty``. ``trainer`` is None where the
    attacker does not know how the model was trained; one that runs code of the user holds the records of the
    reference and the targets, and trains on no others. ``shadows`` are models that were trained elsewhere.
    Where rows hold only their number, ``features`` has those of each number, if they are numbers.
    """

    reference: Examples
    n_members: int
    trainer: PreparedTrainer | None
    targets: Examples | None
    empty: bool = False
    shadows: ShadowModels | None = None
    rows_are_numbered: bool = False
    features: Reals | None = None

    def features_of(self, records: Examples, who: str) -> Reals:
        """What can be learned from about each record; ``who`` needs it and begins the message."""
        if not self.rows_are_numbered:
            return records.rows.astype(np.float64)
        if self.features is None:
            raise BadInput(
                f"{who} learns from the features of records, and there are none that are numbers; name a "
                "model and columns of numbers, or leave the attack out"
            )
        return self.features[records.rows[:, 0].astype(np.int64)]

    def view(self, block: Sequence[release.TrainingRound]) -> release.ModelsView:
        return release.ModelsView(release.LazyModels(block), [training.shown for training in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingLossKnowledge(BlackBoxKnowledge):
    """The same, and the mean loss of the members, which is often published.

    Where random bits decide about targets, it is the mean over the other members.
    """

    def view(self, block: Sequence[release.TrainingRound]) -> release.TrainingLossView:
        mean_losses = np.array([training.mean_loss for training in block])
        return release.TrainingLossView(
            release.LazyModels(block), [training.shown for training in block], mean_losses
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckpointsKnowledge(BlackBoxKnowledge):
    """The same, and the model at several epochs of its training; its ``trainer`` keeps them too."""

    def view(self, block: Sequence[release.TrainingRound]) -> release.ModelsView:
        return release.ModelsView(release.LazyCheckpoints(block), [training.shown for training in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsKnowledge(BlackBoxKnowledge):
    """A black box, and the component of each reference row; ``fixed`` is the members' component, if known."""

    components: tuple[Examples, ...]
    names: tuple[str, ...]
    fixed: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class BlindKnowledge:
    """Reference rows of each component and the records in question, but no model."""

    components: tuple[Examples, ...]
    names: tuple[str, ...]
    fixed: int | None

    def view(self, block: Sequence[release.TrainingRound]) -> release.RecordsView:
        return release.RecordsView([training.shown for training in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledRecordsKnowledge:
    """The records of a finished model and which of them are members, but no model: for a control only."""

    features: Reals
    labels: Ints
    members: Bits

    def view(self, block: Sequence[release.TrainingRound]) -> release.RecordsView:
        return release.RecordsView([training.shown for training in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongKnowledge:
    """All other rows, the target, its substitute if it is absent, and every step of every training."""

    others: Examples
    target: Examples
    substitute: Examples | None
    trainer: PreparedTrainer
    relation: Relation

    def view(self, block: Sequence[release.TrainingRound]) -> release.TrainingStepsView:
        return release.TrainingStepsView([release.TrainingView(training) for training in block])


@dataclass(frozen=True, kw_only=True)
class _NoParameters:
    """No parameters: the challenger's `reference` decides how many rows the attacker has."""


def build(name: str, parameters: dict[str, Any], challenger: Any, seed: int) -> Any:  # noqa: ARG001
    """Give an attacker what it may know about a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    read_dataclass(_NoParameters, parameters, f"knowledge {name!r}")
    return challenger.knowledge(name)
