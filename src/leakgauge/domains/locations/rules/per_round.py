"""Scorers whose thresholds differ from round to round, with what is known of it or published in it."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.locations.knowledge import Seen
from leakgauge.domains.locations.rules.expectations import Expecting
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.strategies.expected_scores import sum_of, votes_needed, votes_of
from leakgauge.strategies.thresholds import TO_MEMBER, SumRule, VoteRule


@dataclass(frozen=True, eq=False)
class SumsPerRound:
    """Scores every target by the sum of its cells, against what is to be expected in that round."""

    expecting: Expecting
    sketches: tuple[Sketch, ...]
    shared: tuple[float, ...]  # variance of each target's score, beyond that of single cells
    fpr: float | None

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        scores = []
        expected = self.expecting.moments(seen)
        for sketch, shared, moments in zip(self.sketches, self.shared, expected, strict=True):
            law = sum_of(moments, sketch.weights, shared)
            rule = SumRule(sketch.weights, law.threshold(self.fpr), law.evidence)
            scores.append(rule(seen.at(sketch.cells)))
        return np.column_stack(scores)


@dataclass(frozen=True, eq=False)
class VotesPerRound:
    """Scores every target by the votes of its cells, against what is to be expected in that round."""

    expecting: Expecting
    sketches: tuple[Sketch, ...]
    shared: tuple[float, ...]
    fpr: float | None

    def __call__(self, seen: Seen, rng: Generator) -> Reals:
        scores = []
        expected = self.expecting.votes(seen)
        for sketch, shared, votes in zip(self.sketches, self.shared, expected, strict=True):
            law = votes_of(votes.chance, sketch.weights, shared)
            needed = votes_needed(law, sketch.weights, self.fpr, votes.chance.out, shared)
            rule = VoteRule(votes.cut, sketch.weights, needed, TO_MEMBER, law.evidence)
            scores.append(rule(seen.at(sketch.cells)))
        return np.column_stack(scores)
