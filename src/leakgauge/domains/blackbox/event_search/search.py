"""Learn from shadows which event distinguishes the two worlds of a black box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.blackbox.event_search import feature_ratios, output_table, proposals
from leakgauge.domains.blackbox.event_search.candidates import (
    ScoreCandidate,
    ScoreFunction,
    find_outstanding,
    outstanding_numbers,
    zero_score,
)
from leakgauge.strategies.score_selection import choose_events

_MAX_PLACES = 1024  # of an output that are kept
_MAX_SEARCHED = 16  # places that are searched for outstanding numbers
_CLEARLY = 0.05  # outstanding numbers to expect of a smooth distribution, where one is called clear
_MAX_SCORE = 1e9
RARE_STRENGTH = 2 * _MAX_SCORE  # of scores by the rare event, above all others


@dataclass(frozen=True, eq=False)
class LearnedRareEvent:
    """A second score, which counts only where its strength reaches a cut."""

    candidate: ScoreCandidate
    score: ScoreFunction
    cut: float


@dataclass(frozen=True, eq=False)
class MeanScore:
    """The mean of scores that were learned on the halves of the shadows.

    A cut was chosen for scores of this strength. Learned from all shadows, many symbols that are strong by
    chance would exceed it; few are strong in both halves.
    """

    parts: tuple[ScoreFunction, ...]

    def __call__(self, reader: feature_ratios.FeatureReader) -> Reals:
        return np.asarray(sum(part(reader) for part in self.parts) / len(self.parts))


@dataclass(frozen=True, eq=False)
class LearnedEvent:
    """What was learned: a signed score of outputs, and on which rounds to guess by it.

    ``fraction`` is the share of rounds on which to guess. The rare event, if there is one, replaces the score
    where it occurs, by a strength of at least RARE_STRENGTH. ``outstanding`` says that some numbers clearly
    occur more often than those next to them: twice the shadows would tell better what they are worth.
    """

    paths: tuple[output_table.ValuePath, ...]
    candidate: ScoreCandidate | None
    score: ScoreFunction
    fraction: float | None
    rare: LearnedRareEvent | None = None
    outstanding: bool = False

    @property
    def cut(self) -> float | None:
        """The strength of scores by the rare event."""
        return None if self.rare is None else RARE_STRENGTH

    def __call__(self, outputs: Sequence[Any]) -> Reals:
        with np.errstate(all="ignore"):  # outputs may be as large as floats get, and their sums infinite
            reader = feature_ratios.FeatureReader(output_table.tabulate(outputs, self.paths))
            scores = _bounded(self.score(reader))
            if self.rare is None:
                return scores
            strong = _bounded(self.rare.score(reader))
        return np.where(np.abs(strong) >= self.rare.cut, strong + np.sign(strong) * RARE_STRENGTH, scores)


def _bounded(scores: Reals) -> Reals:
    return np.clip(np.nan_to_num(scores, nan=0.0), -_MAX_SCORE, _MAX_SCORE)


def learn_event(outputs: Sequence[Any], members: Bits, *, delta: float) -> LearnedEvent:
    """Learn candidates on each half of the shadows, and choose those that score the other half best.

    The chosen candidates, one for all rounds and perhaps one for rare strong evidence, are then learned from
    all shadows. None of them is a counted round. This runs on one
    thread, so that sums do not depend on the number of threads.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), np.errstate(all="ignore"):
        return _learn(outputs, members, delta)


def _learn(outputs: Sequence[Any], members: Bits, delta: float) -> LearnedEvent:
    table = _narrowed(output_table.tabulate(outputs), members)
    if not table.paths:
        return LearnedEvent((), None, zero_score, 1.0)
    halves = [
        feature_ratios.ShadowSample(
            feature_ratios.FeatureReader(table.rows(slice(start, None, 2))), members[start::2]
        )
        for start in (0, 1)
    ]
    searched = range(min(len(table.paths), _MAX_SEARCHED))
    candidates = [
        *find_outstanding(table, searched),
        *proposals.propose_candidates(halves[0]),
    ]
    learned = [tuple(candidate.learn(half) for half in halves) for candidate in candidates]
    scores = [
        np.concatenate([first(halves[1].reader), second(halves[0].reader)]) for first, second in learned
    ]
    choice = choose_events(scores, np.concatenate([halves[1].members, halves[0].members]), delta=delta)
    chosen, everything = (
        candidates[choice.candidate],
        feature_ratios.ShadowSample(feature_ratios.FeatureReader(table), members),
    )
    rare = None
    if choice.rare is not None:
        strong = candidates[choice.rare.candidate]
        rare = LearnedRareEvent(strong, MeanScore(learned[choice.rare.candidate]), choice.rare.cut)
    clear = any(outstanding_numbers(table.numbers[:, place], _CLEARLY).size for place in searched)
    return LearnedEvent(table.paths, chosen, chosen.learn(everything), choice.fraction, rare, clear)


def _narrowed(table: output_table.OutputTable, members: Bits) -> output_table.OutputTable:
    """Drop constant places, and the least informative ones of very many."""
    table = table.columns(proposals.varying_places(table))
    if len(table.paths) > _MAX_PLACES:
        table = table.columns(
            proposals.most_informative_places(
                feature_ratios.ShadowSample(feature_ratios.FeatureReader(table), members), _MAX_PLACES
            )
        )
    return table
