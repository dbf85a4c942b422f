"""Likelihood neurons for many targets: what is the same for all of them is worked out once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.hinges import Clipped, Hinges, best_score
from leakgauge.domains.federated.knowledge import Server
from leakgauge.domains.federated.laws import Moments, Tabled, law_of
from leakgauge.domains.federated.model import Crafted, Floats
from leakgauge.domains.federated.samples import Samples, plain_samples_of, samples_of
from leakgauge.domains.federated.thresholds import best_threshold

ENOUGH = 20_000  # perturbed rows of others, for thresholds
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # for values of 1 + 5 + 4 bits


@dataclass(frozen=True, eq=False)
class Builder:
    """Makes the neuron of a target."""

    knowledge: Server
    others: dict[Clipped | Hinges, Moments]  # of perturbed rows, by the first half of the adversary's own
    held_back: Samples  # perturbed rows of the other half
    units: int
    draws: int

    @classmethod
    def of(
        cls,
        knowledge: Server,
        functions: Sequence[Clipped | Hinges],
        units: int | None,
        draws: int,
        rng: Generator,
    ) -> "Builder":
        """Work out the law of other rows, and perturb some of them for thresholds."""
        rows, mechanism = knowledge.rows[rng.permutation(len(knowledge.rows))], knowledge.training.mechanism
        half = len(rows) // 2
        law = law_of(rows[:half], mechanism, rng)
        widest = max(function.knots.size for function in functions)
        held_back = _samples(widest)(rows[half:], max(1, ENOUGH // (len(rows) - half)), mechanism, rng)
        others = {function: law.moments(function) for function in functions}
        return cls(knowledge, others, held_back, units or widest * rows.shape[1], draws)

    def __call__(self, target: tuple[int, int]) -> Crafted:
        place, seed = target
        rng, mechanism = np.random.default_rng(seed), self.knowledge.training.mechanism
        row = self.knowledge.targets[place][None]
        score = best_score(law_of(row, mechanism, rng), self.others, self.units)
        own = _samples(score.knots.size)(row, self.draws, mechanism, rng).scores(score)
        others = self.held_back.scores(score)
        threshold, _ = best_threshold(own, others, self.knowledge.others)
        return score.neuron(threshold, row.shape[1]).tamed(own - threshold, others - threshold)


def _samples(n_knots: int) -> Callable[[Floats, int, Mechanism | None, Generator], Samples]:
    """How rows are kept: to be looked up, unless the score of a value is about as quick to compute."""
    return samples_of if n_knots > 2 else plain_samples_of


def clips_for(knowledge: Server) -> tuple[Clipped, ...]:
    """Where values are cut, for what the bits can hold; without bits, for the size of the server's rows."""
    mechanism = knowledge.training.mechanism
    if isinstance(mechanism, Tabled):
        unit = 2.0 ** (np.frexp(mechanism.encoding.levels[-1])[1] - 5)
    else:
        size = float(np.sqrt(np.mean(knowledge.rows.astype(np.float64) ** 2)))
        unit = 2.0 ** np.round(np.log2(size / 2)) if size > 0 else 1.0
    return tuple(Clipped(float(unit * reach)) for reach in REACHES)


def hinges_for(knowledge: Server, n: int) -> Hinges:
    """Hinges at equal distances, from the least value that can be told to the largest."""
    mechanism = knowledge.training.mechanism
    if isinstance(mechanism, Tabled):
        levels = mechanism.encoding.levels
        return Hinges(float(levels[0]), float(levels[-1]), n)
    return Hinges(float(knowledge.rows.min()), float(knowledge.rows.max()), n)
