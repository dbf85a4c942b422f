"""From a game that is set up to the function that plays one block of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from leakgauge.catalog import PreparedAudit
from leakgauge.core.errors import BadInput, ReleaseLost
from leakgauge.core.game import Adversary, Challenger, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import Engine
from leakgauge.runner.worker_tasks import Task
from leakgauge.support.parallel import use_parallel_map
from leakgauge.support.threads import single_threaded

RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0)  # seconds before a block that was lost is played again


@dataclass(frozen=True, eq=False)
class PlayBlock:
    """Play one block: a pure function, so that it does not matter who plays it, or when.

    Where a release was lost on the way, all of the block is played again, from the same bits.
    """

    challenger: Challenger[Any]
    adversaries: Mapping[str, Adversary[Any, Any]]
    seed: int

    def __call__(self, block: RoundBlock) -> dict[str, Trials]:
        where = f"rounds {block.rounds.start} to {block.rounds.stop - 1}"
        try:
            for seconds in RETRY_SECONDS:
                try:
                    return self._play(block)
                except ReleaseLost:
                    sleep(seconds)
            return self._play(block)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from error
        except ReleaseLost as error:
            raise ReleaseLost(
                f"{where} were lost {len(RETRY_SECONDS) + 1} times, the last time by {error}"
            ) from error
        except Exception as error:
            error.add_note(f"while playing {where}")
            raise

    def _play(self, block: RoundBlock) -> dict[str, Trials]:
        """Play it once, and let a challenger that holds something open for it close that."""
        try:
            trials = play(self.challenger, self.adversaries, self.seed, block.rounds, block.index)
        except BaseException:
            self.challenger.abandon()
            raise
        self.challenger.end()
        return trials


def study_attacks(
    game: PreparedAudit, seed: int, engine: Engine, tell: Callable[[str], None] = lambda _: None
) -> PlayBlock:
    """Let every attack study once, here; what it spreads goes to the workers. ``tell`` hears of it."""
    adversaries = {}
    for label, attack in game.attacks.items():
        tell(f"{label} studies")
        knowledge = game.knowledges[label]
        try:
            with (
                single_threaded(),
                use_parallel_map(partial(_parallel_map, engine, f"{label} studies", tell)),
            ):
                scorer = attack.study(knowledge, stream(seed, Role.STUDY))
        except BadInput as error:
            raise BadInput(f"{label}: {error}") from error
        adversaries[label] = Adversary(knowledge, scorer)
    return PlayBlock(game.challenger, adversaries, seed)


def _parallel_map(
    engine: Engine, what: str, tell: Callable[[str], None], task: Task, items: Sequence[Any]
) -> list[Any]:
    """Give pieces of work to the workers; return the results in order."""
    results: dict[int, Any] = {}
    for position, result in engine.load_task(task)(items):
        results[position] = result
        tell(f"{what}, {len(results)} of {len(items)}")
    return [results[position] for position in range(len(items))]
