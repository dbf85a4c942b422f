"""From a game that is set up to the function that plays one block of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from leakgauge.catalog import Game
from leakgauge.core.errors import BadInput, Lost
from leakgauge.core.game import Adversary, Challenger, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.core.spread import spreading
from leakgauge.runner.engines import Engine, in_order
from leakgauge.runner.store import Block
from leakgauge.runner.threads import one_thread

WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before a block that was lost is played again


@dataclass(frozen=True, eq=False)
class PlayBlock:
    """Play one block: a pure function, so that it does not matter who plays it, or when.

    Where a release was lost on the way, all of the block is played again, from the same bits.
    """

    challenger: Challenger[Any]
    adversaries: Mapping[str, Adversary[Any, Any]]
    seed: int

    def __call__(self, block: Block) -> dict[str, Trials]:
        where = f"rounds {block.rounds.start} to {block.rounds.stop - 1}"
        try:
            for seconds in WAITS:
                try:
                    return self._play(block)
                except Lost:
                    sleep(seconds)
            return self._play(block)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from error
        except Lost as error:
            raise Lost(f"{where} were lost {len(WAITS) + 1} times, the last time by {error}") from error
        except Exception as error:
            error.add_note(f"while playing {where}")
            raise

    def _play(self, block: Block) -> dict[str, Trials]:
        """Play it once, and let a challenger that holds something open for it close that."""
        try:
            trials = play(self.challenger, self.adversaries, self.seed, block.rounds, block.index)
        except BaseException:
            getattr(self.challenger, "abandon", _nothing)()
            raise
        getattr(self.challenger, "end", _nothing)()
        return trials


def _nothing() -> None:
    pass


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
