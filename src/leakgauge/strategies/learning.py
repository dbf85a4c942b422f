"""Learn from shadows which event tells the two worlds of a black box apart, without being told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.strategies.candidates import Candidate, Score, silence
from leakgauge.strategies.clues import Reader, Sample
from leakgauge.strategies.outputs import Path, Table, tabulate
from leakgauge.strategies.proposals import propose
from leakgauge.strategies.selection import choose
from leakgauge.strategies.survey import most_telling, varying

_WIDEST = 1024  # places that are kept
_LARGEST = 1e9  # score


@dataclass(frozen=True, eq=False)
class Event:
    """What was learned: a signed score of outputs, and the share of rounds on which to guess by it."""

    paths: tuple[Path, ...]
    candidate: Candidate | None
    score: Score
    fraction: float

    def __call__(self, outputs: Sequence[Any]) -> Reals:
        with np.errstate(all="ignore"):  # outputs may be as large as floats get, and their sums infinite
            scores = self.score(Reader(tabulate(outputs, self.paths)))
        return np.clip(np.nan_to_num(scores, nan=0.0), -_LARGEST, _LARGEST)


def learn_event(outputs: Sequence[Any], members: Bits, *, delta: float) -> Event:
    """Learn candidates on each half of the shadows, choose one by how it does on the other half.

    The chosen one then learns from all of them. Nothing here has seen a round that will be counted. On one
    thread, since sums must not depend on how many there are.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), np.errstate(all="ignore"):
        return _learn(outputs, members, delta)


def _learn(outputs: Sequence[Any], members: Bits, delta: float) -> Event:
    table = _narrowed(tabulate(outputs), members)
    if not table.paths:
        return Event((), None, silence, 1.0)
    halves = [Sample(Reader(table.rows(slice(start, None, 2))), members[start::2]) for start in (0, 1)]
    candidates = propose(halves[0])
    scores = [
        np.concatenate([candidate.learn(learn)(other.reader) for learn, other in (halves, halves[::-1])])
        for candidate in candidates
    ]
    choice = choose(scores, np.concatenate([halves[1].members, halves[0].members]), delta=delta)
    chosen = candidates[choice.candidate]
    return Event(table.paths, chosen, chosen.learn(Sample(Reader(table), members)), choice.fraction)


def _narrowed(table: Table, members: Bits) -> Table:
    """Leave out places where nothing ever changes, and of very many the least telling."""
    table = table.columns(varying(table))
    if len(table.paths) > _WIDEST:
        table = table.columns(most_telling(Sample(Reader(table), members), _WIDEST))
    return table
