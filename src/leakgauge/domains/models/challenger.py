"""The owner of a model: it trains one in every round, releases a noisy mean, or shows a finished model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, ChallengerDefaults, Coins, Reals
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import guarantee as models_guarantee
from leakgauge.domains.models.data.dataset import SPLIT_STREAM, EncodedTable, Ints
from leakgauge.domains.models.data.sources import load_table
from leakgauge.domains.models.games.group import GroupGame
from leakgauge.domains.models.games.membership_game import MembershipGame
from leakgauge.domains.models.games.setup import GameSetup, set_up_game
from leakgauge.domains.models.noisy_mean import challenger as means
from leakgauge.domains.models.plan_tables import (
    TRAINER_KEYS,
    ModelsChallengerTable,
    ModelsGame,
    mean_mechanisms,
    read_challenger_table,
    read_training_mechanism,
)
from leakgauge.domains.models.property_inference.blind_control import blind_control
from leakgauge.domains.models.release import TrainingRound
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer, Trainer
from leakgauge.domains.models.user_model import challenger as own


@dataclass(frozen=True, eq=False, kw_only=True)
class Challenger(ChallengerDefaults):
    """Owns the table, and trains one model in each round."""

    table: Examples
    stage: GameSetup
    trainer: PreparedTrainer
    relation: Relation
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # for reports: they hold nothing of any row

    @property
    def game(self) -> MembershipGame:
        return self.stage.game

    @property
    def n_targets(self) -> int:
        return self.game.n_targets

    @property
    def coins(self) -> Coins:
        return self.game.coins

    @property
    def fresh_targets(self) -> bool:
        return self.game.targets is None

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return self.game.flip(n_rounds, rng)

    def release(self, members: Bits, rng: Generator) -> list[TrainingRound]:
        dealing, training = rng.spawn(2)
        seeds = training.integers(2**63, size=len(members)).tolist()
        return [
            TrainingRound(self.table, self.game.deal(row, dealing), self.trainer, seed)
            for row, seed in zip(members, seeds)
        ]

    def utility_of(self, block: Sequence[TrainingRound]) -> Mapping[str, Reals]:
        """How often models are right about members, others and, where there are any, validation rows.

        Coins may leave no others in a round: that is then not a number. A single target tells
        nothing of them.
        """
        parts: dict[str, list[Ints]] = {"members": [one.deal.trained_on for one in block]}
        if self.n_targets > 1:
            parts["others"] = [one.deal.others for one in block]
        if any(one.deal.validation.size for one in block):
            parts["validation"] = [one.deal.validation for one in block]
        return {
            name: np.array([one.accuracy(some) for one, some in zip(block, rows)])
            for name, rows in parts.items()
        }


def build_trained(
    setting: ModelsChallengerTable,
    loaded: EncodedTable,
    trainer: Trainer,
    mechanism: TrainingMechanism,
    seed: int,
) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    rng = stream(seed, Role.DATA, SPLIT_STREAM)
    stage = set_up_game(setting, loaded, mechanism.relation, rng)
    prepared = trainer.prepare(mechanism, stage.game.slots)
    guarantee, notes = _stated_guarantee(stage, prepared, mechanism.relation)
    table = Examples(loaded.rows, loaded.labels, loaded.n_classes)
    if setting.mislabel and stage.game.targets is not None:
        table, notes = _mislabelled(table, stage.game.targets, rng), (*notes, CANARIES_NOTE)
    if isinstance(stage.game, GroupGame) and stage.game.depends:
        identity = (
            loaded.digest,
            replace(setting, trainer="", epochs=None, batch=None, hidden=None, rate=None, sampling=None),
            seed,
        )
        control = blind_control(table, stage.game.split(rng), repr(identity), rng)
        notes = (*notes, *([] if control is None else [control.words]))
    words = "\n".join((loaded.digest, repr(setting), repr(trainer), repr(mechanism)))
    return Challenger(
        table=table,
        stage=stage,
        trainer=prepared,
        relation=mechanism.relation,
        guarantee=guarantee,
        digest=sha256(words.encode(errors="surrogatepass")).hexdigest(),
        notes=(*loaded.notes, *notes),
    )


CANARIES_NOTE = "targets are canaries: each has a wrong label, so the numbers are about such rows"


def _stated_guarantee(
    stage: GameSetup, trainer: PreparedTrainer, relation: Relation
) -> tuple[Guarantee | None, tuple[str, ...]]:
    """The promise to whom the game is about, and what a reader must know of it."""
    depends = stage.game.depends
    record = trainer.guarantee
    if record is None:
        words = f"members depend on one another: {stage.words}" if depends else stage.words
        return None, tuple(filter(None, [words]))
    if record.relation is not relation:
        raise BadInput(
            f"mechanism.relation: the trainer promises {record.relation.value!r}, and the game is about "
            f"{relation.value!r}; write relation = {record.relation.value!r}"
        )
    if not depends:
        if isinstance(stage.game, GroupGame) and relation is not Relation.REPLACE_ONE:
            raise BadInput(
                "mechanism.relation: members of game = 'group' keep their number, so that another row takes "
                f"the place of an absent one; {relation.value!r} promises nothing of that: use "
                "'replace_one'"
            )
        return record, tuple(filter(None, [stage.words]))
    group = trainer.group_guarantee
    if group is None:
        return None, (
            f"members depend on one another: {stage.words}; nothing is promised to all of them together",
        )
    return group, (models_guarantee.dependent_records_note(record, group, stage.game.slots, stage.words),)


def _mislabelled(table: Examples, targets: Ints, rng: Generator) -> Examples:
    labels = table.labels.copy()
    labels[targets] = (labels[targets] + rng.integers(1, table.classes, size=targets.size)) % table.classes
    return replace(table, labels=labels)


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Any:
    """Make the challenger that the tables of a plan describe."""
    if challenger.get("game") == ModelsGame.GIVEN:
        return own.build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)
    setting = read_challenger_table(challenger)
    if mechanism.get("name") in mean_mechanisms():
        if trained_alone := sorted({"trainer", *TRAINER_KEYS} & set(challenger)):
            raise BadInput(f"challenger.{trained_alone[0]}: a noisy mean trains no network; leave it out")
        return means.build(setting=setting, data=data, mechanism=mechanism, folder=folder, seed=seed)
    training = read_training_mechanism(mechanism)
    trainer = setting.read_trainer()
    if "member" in data:
        raise BadInput("data.member: who is a member is decided by the game; add challenger.game = 'given'")
    return build_trained(setting, load_table(data, folder, seed), trainer, training, seed)
