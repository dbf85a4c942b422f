"""The challenger that trains one model in every round, and the choice between it and the three others.

The others release a noisy mean (``noisy_mean``) or a finished model (``user_model``), or run a DP training of
the user's own (``dp_training``).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import guarantee as models_guarantee
from leakgauge.domains.models import plan_tables
from leakgauge.domains.models.control import control_data, control_trainer
from leakgauge.domains.models.data.dataset import SPLIT_STREAM, EncodedTable
from leakgauge.domains.models.data.sources import load_table
from leakgauge.domains.models.dp_training import challenger as watched
from leakgauge.domains.models.exposed_records import ExposedRecords
from leakgauge.domains.models.games.game_builder import GameSetup, set_up_game
from leakgauge.domains.models.games.membership_game import GroupGame, MembershipGame, StrongGame
from leakgauge.domains.models.knowledge import (
    BlackBoxKnowledge,
    BlindKnowledge,
    CheckpointsKnowledge,
    ComponentsKnowledge,
    StrongKnowledge,
    TrainingLossKnowledge,
)
from leakgauge.domains.models.noisy_mean import challenger as means
from leakgauge.domains.models.property_inference import blind_control
from leakgauge.domains.models.release import TrainingRound
from leakgauge.domains.models.shadow_models import understated_without_shadows
from leakgauge.domains.models.training.checkpoints import checkpointed
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer, Trainer
from leakgauge.domains.models.training.trainers.network import NetworkTrainer
from leakgauge.domains.models.training.user_trainer import (
    MemorizingTrainer,
    UserTrainer,
    load_training,
    training_records,
)
from leakgauge.domains.models.user_model import challenger as own

CANARIES_NOTE = "targets are canaries: each has a wrong label, so the numbers are about such rows only"


@dataclass(frozen=True, eq=False, kw_only=True)
class Challenger(ChallengerDefaults):
    """Owns the table, and trains one model in every round."""

    table: Examples
    setup: GameSetup
    trainer: PreparedTrainer
    relation: Relation
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # for reports; nothing about any row
    described: EncodedTable | None = None  # the table with names of classes and groups
    n_shadows: int = plan_tables.EXPOSURE_SHADOWS
    seed: int = 0

    @property
    def game(self) -> MembershipGame:
        return self.setup.game

    @property
    def n_targets(self) -> int:
        return self.game.n_targets

    @property
    def coins(self) -> Coins:
        return self.game.coins

    @property
    def fresh_targets(self) -> bool:
        return self.game.targets is None

    @property
    def targets_digest(self) -> str:
        """Of all rows, and which of them are targets; none are, where every round has its own."""
        targets = None if self.game.targets is None else self.game.targets.tolist()
        digest = sha256(f"{targets}".encode())
        for part in (self.table.rows, self.table.labels):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return self.game.flip(n_rounds, rng)

    def understated_by(self, attacks: Collection[Any]) -> dict[str, str]:
        """Attackers without shadow models do far worse than those with them: alone they clear nobody."""
        return understated_without_shadows(attacks)

    def release(self, members: Bits, rng: Generator) -> list[TrainingRound]:
        drawing, training = rng.spawn(2)
        seeds = training.integers(2**63, size=len(members)).tolist()
        return [
            TrainingRound(self.table, self.game.draw_round(row, drawing), self.trainer, seed)
            for row, seed in zip(members, seeds)
        ]

    def control(self) -> "Challenger":
        """A training without noise on few generated rows, which it learns by heart.

        Training code of the user takes only rows of its own kind: there the same records are learned by heart
        by a training that stands in its place, on the same path.
        """
        if isinstance(self.trainer, UserTrainer):
            return replace(
                self,
                trainer=self.trainer.memorizing(),
                guarantee=None,
                digest=sha256(f"control {self.targets_digest} {self.relation}".encode()).hexdigest(),
                notes=(),
            )
        small = control_data(self.game, self.relation, self.table.classes, self.trainer)
        trainer = control_trainer(self.trainer, small.setup.game)
        identity = (
            "control",
            repr(trainer),
            str(self.relation),
            type(self.game).__name__,
            self.table.classes,
        )
        return Challenger(
            table=small.table,
            setup=small.setup,
            trainer=trainer,
            relation=self.relation,
            guarantee=None,
            digest=sha256("\n".join(map(str, identity)).encode(errors="surrogatepass")).hexdigest(),
        )

    def exposed_records(self) -> ExposedRecords:
        """All rows of the table, each of which may be in a training; without names, by their numbers."""
        described = self.described
        assert described is not None
        return ExposedRecords(
            examples=self.table,
            names=np.array(described.record_names or range(len(self.table))).astype(np.str_),
            trainer=self.trainer,
            n_members=self.game.slots,
            n_shadows=self.n_shadows,
            seed=self.seed,
            class_names=described.classes,
            features=self.table.rows,
            groups=described.groups,
        )

    def knowledge(self, name: str) -> Any:
        """Give an attacker what it may know."""
        match name:
            case "strong":
                return _strong_knowledge(self)
            case "components":
                return ComponentsKnowledge(**_black_box(self), **_components(self, name))
            case "blind":
                return BlindKnowledge(**_components(self, name))
            case "training_loss":
                return TrainingLossKnowledge(**_black_box(self))
            case "checkpoints":
                known = _black_box(self)
                return CheckpointsKnowledge(**known | {"trainer": checkpointed(known["trainer"])})
            case _:
                return BlackBoxKnowledge(**_black_box(self))

    def utility_of(self, block: Sequence[TrainingRound]) -> Mapping[str, Reals]:
        """The accuracy of the models on members, others and, where there are any, validation rows.

        It is NaN for a round in which every target is a member, and left out where there is one target.
        """
        parts: dict[str, list[Ints]] = {"members": [training.rows.trained_on for training in block]}
        if self.n_targets > 1:
            parts["others"] = [training.rows.others for training in block]
        if any(training.rows.validation.size for training in block):
            parts["validation"] = [training.rows.validation for training in block]
        return {
            name: np.array([training.accuracy(some) for training, some in zip(block, rows)])
            for name, rows in parts.items()
        }


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


def _strong_knowledge(challenger: Challenger) -> StrongKnowledge:
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


def build_trained(
    options: plan_tables.ModelsChallengerTable,
    loaded: EncodedTable,
    trainer: Trainer,
    mechanism: TrainingMechanism,
    seed: int,
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    rng = stream(seed, Role.DATA, SPLIT_STREAM)
    setup = set_up_game(options, loaded, mechanism.relation, rng)
    prepared = trainer.prepare(mechanism, setup.game.slots)
    guarantee, notes = _stated_guarantee(setup, prepared, mechanism.relation)
    if options.dependent_records is not None:
        notes = (*notes, _dependent_records_note(prepared, options.dependent_records))
    table = Examples(loaded.rows, loaded.labels, loaded.n_classes)
    if options.mislabel and setup.game.targets is not None:
        table, notes = _mislabelled(table, setup.game.targets, rng), (*notes, CANARIES_NOTE)
    if isinstance(setup.game, GroupGame) and setup.game.depends:
        split = (
            loaded.digest,
            replace(options, trainer="", epochs=None, batch=None, hidden=None, rate=None, sampling=None),
            seed,
        )
        drawn = setup.game.split(rng)
        control = blind_control(table, (drawn.members, drawn.others), repr(split), rng)
        notes = (*notes, *([] if control is None else [control.note]))
    identity = "\n".join((loaded.digest, repr(options), repr(trainer), repr(mechanism)))
    return Challenger(
        table=table,
        setup=setup,
        trainer=prepared,
        relation=mechanism.relation,
        guarantee=guarantee,
        digest=sha256(identity.encode(errors="surrogatepass")).hexdigest(),
        notes=(*loaded.notes, *notes),
        described=loaded,
        n_shadows=options.exposure_shadows,
        seed=seed,
    )


def _stated_guarantee(
    setup: GameSetup, trainer: PreparedTrainer, relation: Relation
) -> tuple[Guarantee | None, tuple[str, ...]]:
    """The promise to the unit that the game is about, and notes for the reader of a report."""
    depends = setup.game.depends
    record = trainer.guarantee
    if record is None:
        dependent = f"members depend on one another: {setup.description}"
        return None, tuple(filter(None, [dependent if depends else setup.description]))
    if record.relation is not relation:
        raise BadInput(
            f"mechanism.relation: the trainer promises {record.relation.value!r}, and the game is about "
            f"{relation.value!r}; write relation = {record.relation.value!r}"
        )
    if not depends:
        if isinstance(setup.game, GroupGame) and relation is not Relation.REPLACE_ONE:
            raise BadInput(
                "mechanism.relation: in game = 'group' the number of members is fixed, so another row "
                f"replaces an absent one; {relation.value!r} promises nothing about that: use 'replace_one'"
            )
        return record, tuple(filter(None, [setup.description]))
    group = trainer.group_guarantee
    if group is None:
        note = f"members depend on one another: {setup.description}; nothing is promised to them together"
        return None, (note,)
    return group, (
        models_guarantee.dependent_records_note(record, group, setup.game.slots, setup.description),
    )


def _dependent_records_note(trainer: PreparedTrainer, k: int) -> str:
    record = trainer.guarantee
    if record is None:
        raise BadInput(
            "challenger.dependent_records: nothing is promised to one record, so nothing to several; leave "
            "it out, or train with noise"
        )
    network = trainer if isinstance(trainer, NetworkTrainer) else None
    noise, schedule = (None, None) if network is None else (network.promise, network.recipe.schedule)
    return models_guarantee.records_together(record, k, noise, schedule).note


def _mislabelled(table: Examples, targets: Ints, rng: Generator) -> Examples:
    labels = table.labels.copy()
    labels[targets] = (labels[targets] + rng.integers(1, table.classes, size=targets.size)) % table.classes
    return replace(table, labels=labels)


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Any:
    """Build the challenger that the tables of a plan describe."""
    if challenger.get("game") == plan_tables.ModelsGame.GIVEN:
        return own.build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)
    if "dp_training" in challenger:
        return watched.build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)
    options = plan_tables.read_challenger_table(challenger)
    noisy_sums = mechanism.get("name") in plan_tables.mean_mechanisms()
    if noisy_sums and not plan_tables.trains_means(options):
        if trained_alone := sorted({"trainer", *plan_tables.TRAINER_KEYS} & set(challenger)):
            raise BadInput(f"challenger.{trained_alone[0]}: a noisy mean trains no network; leave it out")
        return means.build(options=options, data=data, mechanism=mechanism, folder=folder, seed=seed)
    if noisy_sums:
        training = means.sum_mechanism(mechanism)
    else:
        training = plan_tables.read_training_mechanism(mechanism)
    own_training = None if options.train is None else load_training(options.train, folder, "challenger.train")
    trainer = options.read_trainer()
    if "member" in data:
        raise BadInput(
            "data.member: the game decides who is a member; for a finished model add "
            "challenger.game = 'given'"
        )
    loaded = load_table(data, folder, seed)
    if own_training is not None:
        known = training_records(loaded.rows, loaded.given_rows, loaded.given_classes)
        trainer = UserTrainer(
            training=own_training, records=known, output=options.output, cache=options.cache
        )
    elif loaded.raw is not None and not loaded.tabular:
        raise BadInput(
            "data.source: these records are no table of numbers; name your own training: challenger.train"
        )
    return build_trained(options, loaded, trainer, training, seed)
