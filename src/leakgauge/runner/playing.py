"""From a game that is set up to the function that plays one block of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from leakgauge.catalog import Game
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Challenger, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.core.spread import spreading
from leakgauge.runner.engines import Engine, in_order
from leakgauge.runner.store import Block
from leakgauge.runner.threads import one_thread


@dataclass(frozen=True, eq=False)
class PlayBlock:
    """Play one block: a pure function, so that it does not matter who plays it, or when."""

    challenger: Challenger[Any]
    adversaries: Mapping[str, Adversary[Any, Any]]
    seed: int

    def __call__(self, block: Block) -> dict[str, Trials]:
        where = f"rounds {block.rounds.start} to {block.rounds.stop - 1}"
        try:
            return play(self.challenger, self.adversaries, self.seed, block.rounds, block.index)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from error
        except Exception as error:
            error.add_note(f"while playing {where}")
            raise


def study(game: Game, seed: int, engine: Engine) -> PlayBlock:
    """Let every attack study once, here; what it spreads goes to the workers."""
    adversaries = {}
    with one_thread(), spreading(partial(in_order, engine)):
        for label, attack in game.attacks.items():
            knowledge = game.knowledges[label]
            try:
                scorer = attack.study(knowledge, stream(seed, Role.STUDY))
            except BadInput as error:
                raise BadInput(f"{label}: {error}") from error
            adversaries[label] = Adversary(knowledge, scorer)
    return PlayBlock(game.challenger, adversaries, seed)
