"""Which component a model was trained on, judged by its answers: property inference by a meta-classifier."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.models.kinds.softmax import Softmax, fit
from leakgauge.domains.models.knowledge import Components
from leakgauge.domains.models.played import Model
from leakgauge.domains.models.shadowing.shadows import known_recipe, trained
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.training.learning import Examples, together

_STRENGTH = 30.0
_HALVES = 2  # of the rows of a component: what is learned from shadows of one is tried on those of the other


@dataclass(frozen=True, eq=False)
class ModelKinds:
    """Log chances of each component given a model, from its probabilities for some probes."""

    probes: Examples
    softmax: Softmax
    studied: dict[str, float]

    def __call__(self, models: Sequence[Model]) -> Reals:
        return self.softmax.log_chances(answers(models, self.probes))


def learn(knowledge: Components, models: int, probes: int, rng: Generator) -> ModelKinds:
    """Train so many shadows on rows of each component, and learn to tell them apart.

    (Ateniese et al. 2015; Ganju et al. 2018.) Shadows are as the released model, of fewer rows where the
    adversary has not enough. Every second one is of other rows: shadows that share rows are told apart by
    these, where the released model's rows are new.
    """
    training, probing = rng.spawn(2)
    pool, chosen = _chosen(knowledge, models, training)
    shadows = trained(pool, chosen, known_recipe(knowledge), training)
    kinds = np.repeat(np.arange(len(knowledge.components)), models)
    asked = pool.take(np.sort(probing.permutation(len(pool))[:probes]))
    columns = answers(shadows, asked)
    studied = {
        "component_of_model": _held_out_accuracy(columns, kinds, np.arange(len(shadows)) % models % _HALVES),
        "shadows": float(len(shadows)),
        "rows_per_shadow": float(chosen.sum(axis=1).mean()),
    }
    return ModelKinds(asked, fit(columns, kinds, _STRENGTH), studied)


def answers(models: Sequence[Model], probes: Examples) -> Reals:
    """Models x (probes x classes): the probabilities."""
    found = [np.exp(model.log_probabilities(probes.rows)).ravel() for model in models]
    return np.array(found)


def _held_out_accuracy(columns: Reals, kinds: Ints, fold: Ints) -> float:
    """How often shadows are told apart by what was learned from those of other rows."""
    found = [
        fit(columns[fold != one], kinds[fold != one], _STRENGTH).accuracy(
            columns[fold == one], kinds[fold == one]
        )
        for one in range(_HALVES)
    ]
    return float(np.average(found, weights=np.bincount(fold)))


def _chosen(knowledge: Components, models: int, rng: Generator) -> tuple[Examples, Bits]:
    """Rows of all components, and for each shadow which of them it is trained on."""
    pool = together(*knowledge.components)
    chosen = np.zeros((len(knowledge.components) * models, len(pool)), dtype=np.bool_)
    start = shadow = 0
    for rows in knowledge.components:
        halves = np.array_split(start + rng.permutation(len(rows)), _HALVES)
        for number in range(models):
            half = halves[number % _HALVES]
            size = min(knowledge.n_members, half.size)
            chosen[shadow, rng.choice(half, size, replace=False)] = True
            shadow += 1
        start += len(rows)
    return pool, chosen
