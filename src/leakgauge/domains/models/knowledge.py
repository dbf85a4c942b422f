"""What an attacker of models may know; nothing else reaches an attack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models import DOMAIN, release
from leakgauge.domains.models.challenger import Challenger
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.games.membership_game import GroupGame, StrongGame
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.checkpoints import checkpointed
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer
from leakgauge.domains.models.training.user_trainer import MemorizingTrainer, UserTrainer
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
        case "checkpoints":
            known = _black_box(challenger)
            return CheckpointsKnowledge(**known | {"trainer": checkpointed(known["trainer"])})
        case _:
            return BlackBoxKnowledge(**_black_box(challenger))


def _black_box(challenger: Challenger) -> dict[str, Any]:
    game, reference = challenger.game, challenger.setup.reference
    targets = game.targets
    known = reference if targets is None else np.concatenate([reference, targets])
    return {
        "reference": challenger.table.take(reference),
        "n_members": game.slots,
        "trainer": _trainer_of(challenger, known, shown_later=targets is None),
        "targets": None if targets is None else challenger.table.take(targets),
        "empty": targets is not None and challenger.relation is Relation.ADD_REMOVE,
        "rows_are_numbered": challenger.described is not None and not challenger.described.tabular,
    }


def _trainer_of(challenger: Challenger, known: Ints, *, shown_later: bool = False) -> PreparedTrainer:
    """How models are trained; training code of the user comes with the records that the attacker has.

    Where every round shows other records, its models are asked about these right after their training, and
    nobody trains on them.
    """
    trainer, rows = challenger.trainer, challenger.table.rows
    if not isinstance(trainer, UserTrainer | MemorizingTrainer):
        return trainer
    return trainer.restricted_to(rows[known], rows if shown_later else None)


def _components(challenger: Challenger, name: str) -> dict[str, Any]:
    setup, table = challenger.setup, challenger.table
    if setup.components is None:
        raise BadInput(
            f"knowledge {name!r} is about components of the data; it needs game = 'mixture' or 'group' with "
            "a dependence that names them"
        )
    codes = setup.components.codes[setup.reference]
    kinds = [setup.reference[codes == code] for code in range(len(setup.components.values))]
    if few := [value for value, rows in zip(setup.components.values, kinds) if rows.size < 2]:
        game, way_out = challenger.game, "raise challenger.reference, or lower members or others"
        if isinstance(game, GroupGame) and game.sizes.members is None:
            way_out = (
                "challenger.members is left out, so all rows of the group and all others are in question: "
                f"set members (below {game.slots}) and others (below {game.n_targets - game.slots}) to leave "
                "some"
            )
        raise BadInput(f"knowledge {name!r}: the attacker has no rows of component {few[0]!r}; {way_out}")
    return {
        "components": tuple(table.take(rows) for rows in kinds),
        "names": setup.components.values,
        "fixed": setup.fixed,
    }


def _strong(challenger: Challenger) -> StrongKnowledge:
    game, table = challenger.game, challenger.table
    if not isinstance(game, StrongGame):
        raise BadInput(
            "knowledge 'strong' needs game = 'strong': only there are all other rows the same in every round"
        )
    substitute = None if game.substitute is None else table.take(np.array([game.substitute]))
    spare = [] if game.substitute is None else [game.substitute]
    known: Ints = np.array([*game.others.tolist(), game.target, *spare])
    return StrongKnowledge(
        others=table.take(game.others),
        target=table.take(np.array([game.target])),
        substitute=substitute,
        trainer=_trainer_of(challenger, known),
        relation=challenger.relation,
    )
