"""A game whose models learn their members by heart: small tables, small networks, many epochs, no noise."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits
from leakgauge.domains.models.knowledge import BlackBoxKnowledge, TrainingLossKnowledge
from leakgauge.domains.models.release import TrainingLossView
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe
from leakgauge.domains.models.training.schedule import TrainingSchedule
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.network import NetworkTrainer


def network(rows: int, **more) -> NetworkTrainer:
    schedule = TrainingSchedule(rows=rows, **{"batch": 40, "epochs": 60} | more)
    return NetworkTrainer(recipe=TrainingRecipe(schedule=schedule, hidden=(64,)))


def table(n: int, rng: np.random.Generator, *, features: int = 60, classes: int = 10) -> Examples:
    """More features than such models can make sense of, and a fifth of the labels drawn at random."""
    rows = rng.standard_normal((n, features), dtype=np.float32)
    labels = (rows @ rng.standard_normal((features, classes))).argmax(axis=1)
    labels = np.where(rng.random(n) < 0.2, rng.integers(classes, size=n), labels)
    return Examples(rows, labels, classes)


@dataclass(frozen=True, eq=False)
class Played:
    knowledge: TrainingLossKnowledge
    seen: TrainingLossView
    members: Bits


def play(n_rounds: int, *, fixed: bool, seed: int, members: int = 200, targets: int = 100) -> Played:
    """Rounds with fair coins for each target; the targets are ``fixed``, or drawn again."""
    rng = np.random.default_rng(seed)
    everything = table(5 * members, rng)
    reference, pool = np.split(rng.permutation(5 * members), [3 * members])
    trainer, first_targets = network(members), pool[:targets]
    bits = rng.random((n_rounds, targets)) < 0.5
    models, shown, losses = [], [], []
    for row in bits:
        mixed = pool if fixed else rng.permutation(pool)
        targeted, rest = mixed[:targets], rng.permutation(mixed[targets:])
        rows = everything.take(np.concatenate([targeted[row], rest])[:members])
        models.append(trainer.fit(rows, rng.spawn(1)[0]))
        shown.append(everything.take(targeted))
        losses.append(models[-1].losses(rows.rows, rows.labels).mean())
    knowledge = TrainingLossKnowledge(
        reference=everything.take(reference),
        n_members=members,
        trainer=trainer,
        targets=everything.take(first_targets) if fixed else None,
    )
    return Played(knowledge, TrainingLossView(models, shown, np.array(losses)), bits)


def small(rng: np.random.Generator, *, reference: int = 60, n_members: int = 30, targets: int = 0, **more):
    """Knowledge about models that are trained in no time."""
    rows = table(reference + targets, rng, features=8, classes=3)
    return BlackBoxKnowledge(
        reference=rows.take(np.arange(reference)),
        n_members=n_members,
        trainer=more.get("trainer", network(n_members, batch=10, epochs=2)),
        targets=rows.take(np.arange(reference, reference + targets)) if targets else None,
    )


def tpr_at(scores, members, fpr: float) -> float:
    """The share of members above all but that share of the others."""
    others = np.sort(scores[~members])[::-1]
    return float(np.mean(scores[members] > others[int(fpr * others.size)]))


class Table:
    """A model that gives the same probabilities to every row, or says them row by row."""

    def __init__(self, probabilities):
        self.probabilities = np.asarray(probabilities, dtype=np.float64)

    def log_probabilities(self, rows):
        with np.errstate(divide="ignore"):
            return np.log(np.broadcast_to(self.probabilities, (len(rows), self.probabilities.shape[-1])))
