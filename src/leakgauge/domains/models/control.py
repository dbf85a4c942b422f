"""The positive control of trained models: few generated rows, and a training that learns them by heart.

The same trainer, games and attacks are used; only the data are small, so that a training takes milliseconds,
and no noise is added. Networks are trained for longer, with at most 32 units in a layer.
"""

from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.data.dataset import CategoricalColumn
from leakgauge.domains.models.games import membership_game
from leakgauge.domains.models.games.game_builder import GameSetup
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.optimizers import Adam
from leakgauge.domains.models.training.trainer import Examples, PreparedTrainer
from leakgauge.domains.models.training.trainers.network import NetworkTrainer
from leakgauge.domains.models.training.trainers.noisy_mean import MeansTrainer

TARGETS, MEMBERS, POOL, REFERENCE = 10, 40, 100, 240  # rows
REFERENCE_CANARIES = 60  # of the reference rows
UNUSUAL = 5  # every fifth row of the pool has the less usual label
COMPONENT_MEMBERS, COMPONENT_POOL, COMPONENT_REFERENCE = 60, 120, 60  # rows, of each component
COMPONENT_UNUSUAL = 20  # every twentieth row of a component has the wrong label
MOST_UNITS, EPOCHS, RATE = 32, 150, 0.03
NOISY_EPOCHS = 50  # each step with noise takes longer, and an attack may follow them all
SHARPNESS = 100.0  # of means
FAINT_SIGMA = 1e-3  # for attacks that need the noise of each step


@dataclass(frozen=True, eq=False)
class ControlData:
    """The rows of a control and its game."""

    table: Examples
    setup: GameSetup


def control_data(
    game: membership_game.MembershipGame, relation: Relation, classes: int, trainer: PreparedTrainer
) -> ControlData:
    """Rows that suit the game: canaries, or components that contradict each other.

    A mean hides a canary behind what ordinary rows vary in, so where means are trained they vary in nothing.
    """
    if game.depends or game.targets is None:
        return _components(classes)
    made = _canaries(game, relation, classes)
    if isinstance(trainer, MeansTrainer):
        made.table.rows[:, 0] = 0.0
    return made


def _canaries(game: membership_game.MembershipGame, relation: Relation, classes: int) -> ControlData:
    """Ordinary rows that nobody can learn by heart, and canaries that everybody does.

    The first feature suggests the label, and a fifth of the ordinary rows has the other label. A canary has
    the other label too, and a feature of its own, by which a model recognises it if it has seen it.
    """
    n_canaries = TARGETS + REFERENCE_CANARIES + 1  # the last one is a substitute
    ordinary, n = np.arange(POOL + REFERENCE - REFERENCE_CANARIES), POOL + REFERENCE + TARGETS + 1
    rows = np.zeros((n, 1 + n_canaries), dtype=np.float32)
    rows[:, 0] = np.arange(n) // 2 % 2
    labels = rows[:, 0].astype(np.int64)
    labels[ordinary[::UNUSUAL]] = 1 - labels[ordinary[::UNUSUAL]]
    canaries = np.arange(ordinary.size, n)
    rows[canaries, 1 + np.arange(n_canaries)] = 1.0
    labels[canaries] = 1 - labels[canaries]
    targets, substitute = canaries[:TARGETS], int(canaries[-1])
    reference = np.concatenate([ordinary[POOL:], canaries[TARGETS:-1]])
    empty = relation is Relation.ADD_REMOVE
    if isinstance(game, membership_game.StrongGame):
        chosen: membership_game.MembershipGame = membership_game.StrongGame(
            others=ordinary[: MEMBERS - 1], target=int(targets[0]), substitute=None if empty else substitute
        )
    else:
        chosen = membership_game.IndependentGame(
            pool=ordinary[:POOL], targets=targets, slots=MEMBERS, replaced=False, empty=empty
        )
    return ControlData(Examples(rows, labels, classes), GameSetup(chosen, reference))


def _components(classes: int) -> ControlData:
    """Two components with opposite labels, each with a few exceptions; members are of one of them.

    The first feature is the component, the second one suggests the label.
    """
    size = COMPONENT_POOL + COMPONENT_REFERENCE
    codes, place = np.repeat([0, 1], size), np.tile(np.arange(size), 2)
    bits = place % 2
    labels = bits ^ codes
    unusual = place % COMPONENT_UNUSUAL == 0
    labels[unusual] = 1 - labels[unusual]
    rows = np.column_stack([codes, bits]).astype(np.float32)
    pools: tuple[Ints, ...] = tuple(
        np.flatnonzero((codes == code) & (place < COMPONENT_POOL)) for code in (0, 1)
    )
    setup = GameSetup(
        membership_game.MixtureGame(components=pools, slots=COMPONENT_MEMBERS, n_targets=TARGETS),
        np.flatnonzero(place >= COMPONENT_POOL),
        CategoricalColumn(codes, ("0", "1")),
    )
    return ControlData(Examples(rows, labels.astype(np.int64), classes), setup)


def control_trainer(trainer: PreparedTrainer, game: membership_game.MembershipGame) -> PreparedTrainer:
    """The same trainer without noise, which learns the rows of the game by heart.

    The attack that follows the steps of a training compares them by their noise, so there it is faint.
    """
    if isinstance(trainer, MeansTrainer):
        sharp = replace(trainer.parameters, sharpness=SHARPNESS)
        return replace(trainer, parameters=sharp, noise=None, rows=game.slots)
    if not isinstance(trainer, NetworkTrainer):
        return trainer.without_noise()
    recipe, noise, epochs = trainer.recipe, None, EPOCHS
    if isinstance(game, membership_game.StrongGame) and recipe.noise is not None:
        noise, epochs = DpSgdNoise(sigma=FAINT_SIGMA, clip=recipe.noise.clip), NOISY_EPOCHS
    schedule = replace(recipe.schedule, rows=game.slots, batch=game.slots, epochs=epochs)
    hidden = tuple(min(units, MOST_UNITS) for units in recipe.hidden)
    return NetworkTrainer(
        recipe=replace(recipe, schedule=schedule, noise=noise, hidden=hidden, optimizer=Adam(rate=RATE))
    )
