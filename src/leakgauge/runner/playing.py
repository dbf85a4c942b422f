"""From a game that is set up to the function that plays one block of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from leakgauge.catalog import Game
from leakgauge.core.errors import BadInput, Lost
from leakgauge.core.game import Adversary, Challenger, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.core.spread import spreading
from leakgauge.runner.engines import Engine
from leakgauge.runner.shipping import Task
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


def study(game: Game, seed: int, engine: Engine, tell: Callable[[str], None] = lambda _: None) -> PlayBlock:
    """Let every attack study once, here; what it spreads goes to the workers. ``tell`` hears of it."""
    adversaries = {}
    for label, attack in game.attacks.items():
        tell(f"{label} studies")
        knowledge = game.knowledges[label]
        try:
            with one_thread(), spreading(partial(_spread, engine, f"{label} studies", tell)):
                scorer = attack.study(knowledge, stream(seed, Role.STUDY))
        except BadInput as error:
            raise BadInput(f"{label}: {error}") from error
        adversaries[label] = Adversary(knowledge, scorer)
    return PlayBlock(game.challenger, adversaries, seed)


def _spread(
    engine: Engine, what: str, tell: Callable[[str], None], task: Task, items: Sequence[Any]
) -> list[Any]:
    """Give pieces of work to the workers; return the results in order."""
    results: dict[int, Any] = {}
    for position, result in engine.ship(task)(items):
        results[position] = result
        tell(f"{what}, {len(results)} of {len(items)}")
    return [results[position] for position in range(len(items))]
