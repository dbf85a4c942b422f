"""Attackers whose knowledge differs between rounds: one scorer for each part of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Attack, KnowledgeBySplit, Reading, Reals, Scorer, SplitViews


@dataclass(frozen=True, eq=False)
class SplitScorer:
    """Scores each round with the scorer of its part; scores are relative to the threshold of that scorer."""

    scorers: tuple[Scorer[Any], ...]

    def __call__(self, views: SplitViews[Any], rng: Generator) -> Reals:
        """Return scores in the order of the rounds of the block."""
        parts = [
            (rows, np.asarray(scorer.score(view, own), dtype=np.float64) - (scorer.reading.threshold or 0.0))
            for scorer, view, rows, own in zip(
                self.scorers, views.views, views.rows, rng.spawn(len(self.scorers)), strict=True
            )
            if rows.size
        ]
        scores = np.empty((sum(rows.size for rows, _ in parts), parts[0][1].shape[1]))
        for rows, part in parts:
            scores[rows] = part
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


def study_attack(attack: Attack[Any, Any], knowledge: Any, rng: Generator) -> Scorer[Any]:
    """Let an attack study: once, or once for each part of knowledge that differs between rounds."""
    if not isinstance(knowledge, KnowledgeBySplit):
        return attack.study(knowledge, rng)
    streams = rng.spawn(len(knowledge.parts))
    score = SplitScorer(tuple(attack.study(part, own) for part, own in zip(knowledge.parts, streams)))
    return Scorer(score, score.reading)
