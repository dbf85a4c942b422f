"""From a prepared audit to the function that runs one block of its rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from leakgauge.catalog import PreparedAudit
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import Adversary, Challenger, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.core.split_scorer import study_attack
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import Engine
from leakgauge.runner.worker_tasks import Task
from leakgauge.support.parallel import use_parallel_map
from leakgauge.support.threads import single_threaded

RETRY_SECONDS = (0.5, 1.0, 2.0, 4.0)  # waits before a block that was lost is run again


@dataclass(frozen=True, eq=False)
class PlayBlock:
    """Run one block: a pure function, so that its trials do not depend on the worker or the moment.

    Where a release was lost, for example by a network error, the whole block is run again with the same bits.
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
            error.add_note(f"while running {where}")
            raise

    def _play(self, block: RoundBlock) -> dict[str, Trials]:
        """Run the block once; afterwards the challenger closes what it opened for it."""
        try:
            trials = play(self.challenger, self.adversaries, self.seed, block.rounds, block.index)
        except (BadInput, IncompleteRun, ReleaseLost) as error:
            if (left := self.challenger.abandon()) is not None:
                raise type(error)(f"{error}; {left}") from error
            raise
        except BaseException as error:
            if (left := self.challenger.abandon()) is not None:
                error.add_note(left)
            raise
        self.challenger.end()
        return trials


def study_attacks(
    prepared: PreparedAudit,
    seed: int,
    engine: Engine,
    show_message: Callable[[str], None] = lambda _: None,
) -> PlayBlock:
    """Let every attack study once, in this process; ``parallel_map`` in an attack uses the workers."""
    adversaries = {}
    for label, attack in prepared.attacks.items():
        show_message(f"{label} studies")
        knowledge = prepared.knowledges[label]
        try:
            with (
                single_threaded(),
                use_parallel_map(partial(_parallel_map, engine, f"{label} studies", show_message)),
            ):
                scorer = study_attack(attack, knowledge, stream(seed, Role.STUDY))
        except BadInput as error:
            raise BadInput(f"{label}: {error}") from error
        adversaries[label] = Adversary(knowledge, scorer)
    return PlayBlock(prepared.challenger, adversaries, seed)


def _parallel_map(
    engine: Engine, title: str, show_message: Callable[[str], None], task: Task, items: Sequence[Any]
) -> list[Any]:
    """Apply a task to items on the workers; return the results in order."""
    results: dict[int, Any] = {}
    for position, result in engine.load_task(task)(items):
        results[position] = result
        show_message(f"{title}, {len(results)} of {len(items)}")
    return [results[position] for position in range(len(items))]
