"""From a prepared audit to the function that runs one block of its rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.catalog import PreparedAudit
from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import (
    Adversary,
    Attack,
    Challenger,
    KnowledgeBySplit,
    Reading,
    Scorer,
    SplitViews,
    Trials,
    play,
    require_score_shape,
)
from leakgauge.core.randomness import Role, stream
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import Engine
from leakgauge.runner.worker_tasks import Task
from leakgauge.support.parallel import use_parallel_map
from leakgauge.support.threads import single_threaded
from leakgauge.support.work_count import sampled_work

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
                rng, n_targets = stream(seed, Role.STUDY), prepared.challenger.n_targets
                scorer = study_attack(attack, knowledge, rng, label, n_targets)
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


@dataclass(frozen=True, eq=False)
class SplitScorer:
    """Scores each round with the scorer of its part; scores are relative to the threshold of that scorer."""

    scorers: tuple[Scorer[Any], ...]
    label: str
    n_targets: int

    def __call__(self, views: SplitViews[Any], rng: Generator) -> Reals:
        """Return scores in the order of the rounds of the block."""
        scores = np.empty((sum(rows.size for rows in views.rows), self.n_targets))
        for scorer, view, rows, own in zip(
            self.scorers, views.views, views.rows, rng.spawn(len(self.scorers)), strict=True
        ):
            if rows.size:
                part = np.asarray(scorer.score(view, own), dtype=np.float64)
                require_score_shape(self.label, part, rows.size, self.n_targets)
                scores[rows] = part - (scorer.reading.threshold or 0.0)
        return scores

    @property
    def reading(self) -> Reading:
        """How the scores of all parts together are to be read."""
        readings = [scorer.reading for scorer in self.scorers]
        fractions = [reading.fraction for reading in readings if reading.fraction is not None]
        own = all(reading.threshold is not None for reading in readings)
        return Reading(
            threshold=0.0 if own else None,
            signed=all(reading.signed for reading in readings),
            fraction=float(np.median(fractions)) if len(fractions) == len(readings) else None,
            event=readings[0].event,
            studied={
                name: float(np.mean([reading.studied[name] for reading in readings]))
                for name in readings[0].studied
            },
        )


def study_attack(
    attack: Attack[Any, Any], knowledge: Any, rng: Generator, label: str, n_targets: int
) -> Scorer[Any]:
    """Let an attack study: once, or once for each part of knowledge that differs between rounds.

    Where work is sampled, as for an estimate of its cost, it studies only one of the parts.
    """
    if not isinstance(knowledge, KnowledgeBySplit):
        return attack.study(knowledge, rng)
    pairs, kind = zip(knowledge.parts, rng.spawn(len(knowledge.parts))), object()
    studied = tuple(sampled_work(kind, partial(attack.study, part, own)) for part, own in pairs)
    score = SplitScorer(studied, label, n_targets)
    return Scorer(score, score.reading)
