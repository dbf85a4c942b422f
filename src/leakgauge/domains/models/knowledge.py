"""What an adversary of models may know; nothing else reaches an attack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models import DOMAIN
from leakgauge.domains.models.challenger import Challenger
from leakgauge.domains.models.games.strong import StrongGame
from leakgauge.domains.models.release import (
    LazyModels,
    ModelsView,
    RecordsView,
    TrainingLossView,
    TrainingRound,
    TrainingStepsView,
    TrainingView,
)
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer
from leakgauge.support.table_reader import read_dataclass, require_known


@dataclass(frozen=True, eq=False, kw_only=True)
class BlackBoxKnowledge:
    """Rows of its own, and how models are trained; it may ask a model for the probabilities of any row.

    ``targets`` are known beforehand where they are the same in all rounds; those that are absent leave their
    slots among the ``n_members`` of a training to other rows, or ``empty``.
    """

    reference: Examples
    n_members: int
    trainer: PreparedTrainer | None
    targets: Examples | None
    empty: bool = False

    def view(self, block: Sequence[TrainingRound]) -> ModelsView:
        return ModelsView(LazyModels(block), [one.shown for one in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingLossKnowledge(BlackBoxKnowledge):
    """The same, and the mean loss of members, which owners tend to print.

    Where coins decide who is in, of those members that are in without them.
    """

    def view(self, block: Sequence[TrainingRound]) -> TrainingLossView:
        mean_losses = np.array([one.mean_loss for one in block])
        return TrainingLossView(LazyModels(block), [one.shown for one in block], mean_losses)


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsKnowledge(BlackBoxKnowledge):
    """A black box, and which of its rows are of which component; ``fixed`` is the members', if told."""

    components: tuple[Examples, ...]
    names: tuple[str, ...]
    fixed: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class BlindKnowledge:
    """Rows of its own of each component and the records in question: no model."""

    components: tuple[Examples, ...]
    names: tuple[str, ...]
    fixed: int | None

    def view(self, block: Sequence[TrainingRound]) -> RecordsView:
        return RecordsView([one.shown for one in block])


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongKnowledge:
    """All rows but one, the target, who takes its place if absent, and every step of every training."""

    others: Examples
    target: Examples
    substitute: Examples | None
    trainer: PreparedTrainer
    relation: Relation

    def view(self, block: Sequence[TrainingRound]) -> TrainingStepsView:
        return TrainingStepsView([TrainingView(one) for one in block])


@dataclass(frozen=True, kw_only=True)
class _NoParameters:
    """Nothing to say: the challenger's `reference` decides how many rows the adversary has."""


def build(name: str, parameters: dict[str, Any], challenger: Any, seed: int) -> Any:  # noqa: ARG001
    """Give an adversary what it may know of a challenger."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    read_dataclass(_NoParameters, parameters, f"knowledge {name!r}")
    if not isinstance(challenger, Challenger):
        return challenger.knowledge(name)
    match name:
        case "strong":
            return _strong(challenger)
        case "components":
            return ComponentsKnowledge(**_black_box(challenger), **_components(challenger, name))
        case "blind":
            return BlindKnowledge(**_components(challenger, name))
        case "training_loss":
            return TrainingLossKnowledge(**_black_box(challenger))
        case _:
            return BlackBoxKnowledge(**_black_box(challenger))


def _black_box(challenger: Challenger) -> dict[str, Any]:
    targets = challenger.game.targets
    return {
        "reference": challenger.table.take(challenger.stage.reference),
        "n_members": challenger.game.slots,
        "trainer": challenger.trainer,
        "targets": None if targets is None else challenger.table.take(targets),
        "empty": targets is not None and challenger.relation is Relation.ADD_REMOVE,
    }


def _components(challenger: Challenger, name: str) -> dict[str, Any]:
    stage, table = challenger.stage, challenger.table
    if stage.components is None:
        raise BadInput(
            f"knowledge {name!r} is about components of the data; it needs game = 'mixture' or 'group', and "
            "a dependence to name them"
        )
    codes = stage.components.codes[stage.reference]
    kinds = [stage.reference[codes == code] for code in range(len(stage.components.values))]
    if few := [value for value, rows in zip(stage.components.values, kinds) if rows.size < 2]:
        raise BadInput(
            f"knowledge {name!r}: the adversary has no rows of component {few[0]!r}; raise "
            "challenger.reference, or lower members or others"
        )
    return {
        "components": tuple(table.take(rows) for rows in kinds),
        "names": stage.components.values,
        "fixed": stage.fixed,
    }


def _strong(challenger: Challenger) -> StrongKnowledge:
    game, table = challenger.game, challenger.table
    if not isinstance(game, StrongGame):
        raise BadInput(
            "knowledge 'strong' needs game = 'strong': only there all other rows are always the same"
        )
    substitute = None if game.substitute is None else table.take(np.array([game.substitute]))
    return StrongKnowledge(
        others=table.take(game.others),
        target=table.take(np.array([game.target])),
        substitute=substitute,
        trainer=challenger.trainer,
        relation=challenger.relation,
    )
