"""Shadows: models that an adversary trains on rows of its own, in the way the released one was trained."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.training.trainer import (
    Classifier,
    Examples,
    PreparedTrainer,
    concatenate_examples,
)
from leakgauge.support.cache import RecentCache
from leakgauge.support.parallel import parallel_map

DEFAULT_SHADOWS = 32  # of an attack that does not say: those that ask for as many share them

_MAX_SHARE = (
    0.5  # of its rows an adversary trains a shadow on: those that share more differ less than models do
)
_MIN_ROWS = 10  # rows of a shadow

_shadow_cache: RecentCache[tuple[Classifier, ...]] = RecentCache()


@dataclass(frozen=True, eq=False)
class ShadowModels:
    """Trained models, and which rows each of them was trained on."""

    models: tuple[Classifier, ...]
    rows: Bits  # shadows x rows of the reference
    targets: Bits  # shadows x targets; no column where targets were left out

    @property
    def studied(self) -> dict[str, float]:
        """What to tell of them: as many rows as the released model's are not always there."""
        sizes = self.rows.sum(axis=1) + self.targets.sum(axis=1)
        return {"shadows": float(len(self.models)), "rows_per_shadow": float(sizes.mean())}


def shadows_without_targets(knowledge: BlackBoxKnowledge, n_shadows: int, rng: Generator) -> ShadowModels:
    """Shadows of which no target is a member, each on other rows of the reference.

    They have as many rows as the released model, or half of the reference where that is less.
    """
    trainer = known_trainer(knowledge)
    n = knowledge.n_members - (len(knowledge.targets) if knowledge.empty and knowledge.targets else 0)
    chosen = _choose(np.full(n_shadows, max(n, 1)), len(knowledge.reference), rng)
    models = train_shadows(knowledge.reference, chosen, trainer, rng, knowledge.n_members)
    return ShadowModels(models, chosen, np.zeros((n_shadows, 0), dtype=np.bool_))


def shadows_with_targets(knowledge: BlackBoxKnowledge, n_shadows: int, rng: Generator) -> ShadowModels:
    """Shadows of which each target is a member every other time, by coins of the adversary's own.

    (Carlini et al. 2022, algorithm 1: for all targets at once, each in exactly half of the shadows.) The rest
    comes from the reference.
    """
    trainer, targets = known_trainer(knowledge), require_targets(knowledge)
    order = np.broadcast_to(np.arange(n_shadows)[:, None], (n_shadows, len(targets)))
    included = rng.permuted(order, axis=0) < n_shadows // 2
    slots = np.full(n_shadows, len(targets)) if knowledge.empty else included.sum(axis=1)
    lacking = np.maximum(knowledge.n_members - slots, 0)
    rows = _choose(lacking, len(knowledge.reference), rng)
    both = concatenate_examples(knowledge.reference, targets)
    models = train_shadows(both, np.hstack([rows, included]), trainer, rng, knowledge.n_members)
    return ShadowModels(models, rows, included)


def train_shadows(
    pool: Examples, chosen: Bits, trainer: PreparedTrainer, rng: Generator, n_members: int
) -> tuple[Classifier, ...]:
    """Train one model for each row of ``chosen``, in the worker processes if there are any.

    Attacks that ask for the same models share them. Each model is trained from a stream of its own.
    ``n_members`` is the number of rows of the released model.
    """
    _require_rows(chosen, n_members)
    seeds = rng.integers(2**63, size=len(chosen)).tolist()
    parts = (pool.rows, pool.labels, chosen)
    content = sha256(b"".join(sha256(np.ascontiguousarray(part).tobytes()).digest() for part in parts))
    key = (content.digest(), chosen.shape, pool.classes, trainer, tuple(seeds))
    work = [(np.flatnonzero(one), seed) for one, seed in zip(chosen, seeds)]
    return _shadow_cache.once(key, lambda: tuple(parallel_map(_TrainOnRows(pool, trainer), work)))


@dataclass(frozen=True, eq=False)
class _TrainOnRows:
    """Trains on some of the rows."""

    pool: Examples
    trainer: PreparedTrainer

    def __call__(self, piece: tuple[Ints, int]) -> Classifier:
        rows, seed = piece
        return self.trainer.fit(self.pool.take(rows), np.random.default_rng(seed))


def known_trainer(knowledge: BlackBoxKnowledge) -> PreparedTrainer:
    """How the released model is trained, or a refusal."""
    if knowledge.trainer is None:
        raise BadInput(
            "shadows are trained as the released model was, and how that was is not known of this one; "
            "use loss_threshold, or say how to train them: challenger.recipe (which needs challenger.model)"
        )
    return knowledge.trainer


def require_targets(knowledge: BlackBoxKnowledge) -> Examples:
    """The targets, where they are known before any round."""
    if knowledge.targets is None:
        raise BadInput(
            'mode = "online" trains shadows on the targets, which are drawn anew in each round of this game; '
            'use mode = "offline"'
        )
    return knowledge.targets


def require_shadows(n_shadows: int, fewest: int) -> None:
    """Refuse fewer shadows than an attack can do with."""
    if not n_shadows >= fewest:
        raise BadInput(f"shadows must be >= {fewest}, got {n_shadows}")


def _choose(sizes: Ints, n: int, rng: Generator) -> Bits:
    """For each shadow so many of ``n`` rows, but not too large a part of them."""
    chosen = np.zeros((sizes.size, n), dtype=np.bool_)
    for row, size in zip(chosen, np.minimum(sizes, int(_MAX_SHARE * n))):
        row[rng.choice(n, size, replace=False)] = True
    return chosen


def _require_rows(chosen: Bits, n_members: int) -> None:
    found, needed = int(chosen.sum(axis=1).min()), min(_MIN_ROWS, max(n_members, 1))
    if found < needed:
        raise BadInput(
            f"shadows are trained on rows of the adversary's own, which suffice for {found} in a shadow; "
            f"{needed} are the fewest: raise challenger.reference, or rows if the attack says how many"
        )
