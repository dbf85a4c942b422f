"""Models that are trained anew in each round, on the rows that the rules of a game deal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Coins, Reals
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import promises
from leakgauge.domains.models.games.deal import Game
from leakgauge.domains.models.games.group import Group
from leakgauge.domains.models.kinds.blind_control import blind_control
from leakgauge.domains.models.loaded import PARTS, Loaded
from leakgauge.domains.models.played import Round
from leakgauge.domains.models.setting_up import Stage, set_up
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.tables import Learner, Setting
from leakgauge.domains.models.training.asked import schedule_of
from leakgauge.domains.models.training.batches import Schedule
from leakgauge.domains.models.training.learning import Examples, Recipe


@dataclass(frozen=True, eq=False, kw_only=True)
class Challenger:
    """Owns the table, and trains one model in each round."""

    table: Examples
    stage: Stage
    recipe: Recipe
    relation: Relation
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # for reports: they hold nothing of any row

    @property
    def game(self) -> Game:
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

    def release(self, members: Bits, rng: Generator) -> list[Round]:
        dealing, training = rng.spawn(2)
        seeds = training.integers(2**63, size=len(members)).tolist()
        return [
            Round(self.table, self.game.deal(row, dealing), self.recipe, seed)
            for row, seed in zip(members, seeds)
        ]

    def utility_of(self, played: Sequence[Round]) -> Mapping[str, Reals]:
        """How often models are right about members, others and, where there are any, validation rows.

        Coins may leave no others in a round: that is then not a number. A single target tells
        nothing of them.
        """
        parts: dict[str, list[Ints]] = {"members": [one.deal.trained_on for one in played]}
        if self.n_targets > 1:
            parts["others"] = [one.deal.others for one in played]
        if any(one.deal.validation.size for one in played):
            parts["validation"] = [one.deal.validation for one in played]
        return {
            name: np.array([one.accuracy(some) for one, some in zip(played, rows)])
            for name, rows in parts.items()
        }


def build(setting: Setting, loaded: Loaded, learner: Learner, seed: int) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    rng = stream(seed, Role.DATA, PARTS)
    stage = set_up(setting, loaded, learner.relation, rng)
    schedule = schedule_of(setting, stage.game.slots, "challenger")
    recipe = Recipe(
        schedule=schedule,
        noise=None if learner.noise is None else learner.noise.noise(schedule),
        hidden=setting.hidden,
        optimizer=learner.optimizer,
    )
    guarantee, notes = _promise(stage, learner, schedule)
    table = Examples(loaded.rows, loaded.labels, loaded.n_classes)
    if setting.mislabel and stage.game.targets is not None:
        table, notes = _mislabelled(table, stage.game.targets, rng), (*notes, CANARIES)
    if isinstance(stage.game, Group) and stage.game.depends:
        identity = (loaded.digest, replace(setting, epochs=1, batch=None, hidden=(), rate=1.0), seed)
        control = blind_control(table, stage.game.split(rng), repr(identity), rng)
        notes = (*notes, *([] if control is None else [control.words]))
    words = "\n".join((loaded.digest, repr(setting), repr(learner)))
    return Challenger(
        table=table,
        stage=stage,
        recipe=recipe,
        relation=learner.relation,
        guarantee=guarantee,
        digest=sha256(words.encode(errors="surrogatepass")).hexdigest(),
        notes=(*loaded.notes, *notes),
    )


CANARIES = "targets are canaries: each has a wrong label, so the numbers are about such rows"


def _promise(stage: Stage, learner: Learner, schedule: Schedule) -> tuple[Guarantee | None, tuple[str, ...]]:
    """The promise to whom the game is about, and what a reader must know of it."""
    depends = stage.game.depends
    if learner.noise is None:
        words = f"members depend on one another: {stage.words}" if depends else stage.words
        return None, tuple(filter(None, [words]))
    record = learner.noise.guarantee(schedule)
    if not depends:
        if isinstance(stage.game, Group) and learner.relation is not Relation.REPLACE_ONE:
            raise BadInput(
                "mechanism.relation: members of game = 'group' keep their number, so that another row takes "
                f"the place of an absent one; {learner.relation.value!r} promises nothing of that: use "
                "'replace_one'"
            )
        return record, tuple(filter(None, [stage.words]))
    group = promises.of_a_training(learner.noise, schedule)
    return group, (promises.no_longer(record, group, schedule.rows, stage.words),)


def _mislabelled(table: Examples, targets: Ints, rng: Generator) -> Examples:
    labels = table.labels.copy()
    labels[targets] = (labels[targets] + rng.integers(1, table.classes, size=targets.size)) % table.classes
    return replace(table, labels=labels)
