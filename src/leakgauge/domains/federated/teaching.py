"""What a neuron is taught for one target, and which of its epochs is kept."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.domains.federated.knowledge import Server
from leakgauge.domains.federated.model import Crafted, Floats
from leakgauge.domains.federated.samples import perturbed
from leakgauge.domains.federated.thresholds import Rates, best_threshold, rates
from leakgauge.domains.federated.training import Lesson, learn, untrained

HELD_BACK = 4  # one row in so many
ENOUGH = 8_000  # perturbed rows that were held back
DRAWS = 1_000  # of a target, beside them


@dataclass(frozen=True, kw_only=True)
class Course:
    """How long a neuron is trained, and on what."""

    neurons: int  # of the first layer
    epochs: int  # at most
    batch: int | None  # rows of a step; all of an epoch, if none
    rate: float  # of Adam
    positives: int  # perturbations of the target in an epoch, where rows are perturbed
    weight: float  # of the target against all other rows, where they are not


@dataclass(frozen=True, eq=False)
class Trained:
    """A neuron, and what its training showed on rows of the adversary's own."""

    neuron: Crafted
    epochs: int  # after which it was taken
    separated: bool  # the target was active, no row it was trained on was, and none had as large a value
    on_top: int | None  # the first epoch after which no other row had as large a value as the target
    history: tuple[Rates, ...]  # by epoch, of the neuron as it was, on rows that were held back


@dataclass(frozen=True, eq=False)
class Teacher:
    """Trains the neuron of a target, on one part of the adversary's rows; the other part judges it."""

    knowledge: Server
    course: Course
    rows: Floats
    held_back: Floats  # perturbed

    @classmethod
    def of(cls, knowledge: Server, course: Course, rng: Generator) -> "Teacher":
        """Divide the adversary's rows, at random, and perturb those that are held back."""
        rows = knowledge.rows[rng.permutation(len(knowledge.rows))]
        n = max(1, len(rows) // HELD_BACK)
        held_back = perturbed(rows[:n], max(1, ENOUGH // n), knowledge.training.mechanism, rng)
        return cls(knowledge, course, rows[n:], held_back)

    def __call__(self, target: tuple[int, int]) -> Trained:
        """Train, and keep the epoch that wins most games by rows that were held back; the latest of several.

        Without noise the last epoch is the first at which the target is active and no row beside it (Nguyen
        et al., section 3.2); of those that were held back it need only have the largest value. The bias is
        put where it wins most games: without noise, midway between the target and the next of all rows.
        """
        place, seed = target
        rng, noisy = np.random.default_rng(seed), self.knowledge.training.mechanism is not None
        row = self.knowledge.targets[place][None]
        start = untrained(self.course.neurons, row.shape[1], rng)
        own_rows = perturbed(row, DRAWS, self.knowledge.training.mechanism, rng)
        history, kept, most, on_top = [], None, -1.0, None
        epochs = learn(start, self._lessons(row, rng), batch=self.course.batch, rate=self.course.rate)
        for epoch, neuron in enumerate(epochs, 1):
            own, held_back = neuron.values(own_rows), neuron.values(self.held_back)
            history.append(rates(own, held_back, self.knowledge.others))
            seen = np.empty(0) if noisy else neuron.values(self.rows)  # with noise they are never seen again
            others = np.append(held_back, seen)
            told = bool(own.min() > others.max())
            on_top = on_top or (epoch if told else None)
            separated = told and bool(own.min() > 0 >= seen.max(initial=-np.inf))
            threshold, won = best_threshold(own, others, self.knowledge.others)
            if won >= most:
                cut = replace(neuron, bias=neuron.bias - threshold).tamed(own - threshold, others - threshold)
                most, kept = won, (cut, epoch, separated)
            if separated and not noisy:
                break
        assert kept is not None
        return Trained(*kept, on_top, tuple(history))

    def _lessons(self, row: Floats, rng: Generator) -> Iterator[Lesson]:
        """Target and others for every epoch, perturbed anew; without noise the target is once among them."""
        course, mechanism = self.course, self.knowledge.training.mechanism
        often = 1 if mechanism is None else course.positives
        weight = course.weight * len(self.rows) if mechanism is None else 1.0
        for _ in range(course.epochs):
            rows = np.concatenate(
                [perturbed(row, often, mechanism, rng), perturbed(self.rows, 1, mechanism, rng)]
            )
            order = rng.permutation(len(rows))
            yield Lesson(rows[order], order < often, weight)
