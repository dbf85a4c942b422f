"""Shadow models: an attacker trains them on its reference rows in the same way as the released model."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.membership_signals import (
    bound_certain,
    limit_of_certain,
    log_odds,
    signal_matrix,
)
from leakgauge.domains.models.shadow_predictions import ShadowModels
from leakgauge.domains.models.training.trainer import (
    Classifier,
    Examples,
    PreparedTrainer,
    concatenate_examples,
)
from leakgauge.domains.models.training.trainers.network import counted_training
from leakgauge.support.cache import RecentCache
from leakgauge.support.parallel import parallel_map
from leakgauge.support.work_count import current_sample

DEFAULT_SHADOWS = 32  # attacks that ask for the same number share them

_MAX_SHARE = 0.5  # of the reference rows in one shadow: shadows that overlap more differ too little
_MIN_ROWS = 10  # in a shadow
_FEWEST_A_SIDE = 2  # models with a record and without it, where they were trained elsewhere

SEE_A_MODEL = ("black_box", "training_loss", "checkpoints")
WITHOUT_SHADOWS = (
    "the model was not compared with shadow models of its own training, by which the strongest attacks work, "
    "so that nobody is cleared; add an attack with shadows, such as lira, and say how the model was trained "
    "(train), or bring predictions of models that you trained (shadows)"
)

UNLIKE = (
    "the shadow models are not like the model: the log-odds of members, above those of others, are {:.2g} "
    "from theirs, and chance explains {:.2g}; check who is called a member, and how shadows are trained"
)
_DEVIATIONS, _FLOOR = 6.0, 0.25  # honest models were 2.3 deviations away or 0.18, wrong ones 14 and 1.2

_shadow_cache: RecentCache[tuple[Classifier, ...]] = RecentCache()


def understated_without_shadows(attacks: Iterable[Any]) -> dict[str, str]:
    """Why attackers who see a model clear nobody, by knowledge: no attack uses shadows or retrains models."""
    if any(hasattr(attack, "shadows") or "strong" in attack.accepts for attack in attacks):
        return {}
    return dict.fromkeys(SEE_A_MODEL, WITHOUT_SHADOWS)


def unlike_shadows(
    model: Classifier, shown: Examples, members: Bits, shadows: ShadowModels
) -> dict[str, str]:
    """Why attackers clear nobody, by knowledge: the model favours its members otherwise than its shadows do.

    Each record is compared with the mean over the shadows of its own side, so that members may be other
    records than the others; by how much single shadows differ is chance.
    """
    odds = signal_matrix([*shadows.models, model], shown, log_odds)
    odds, without = bound_certain(odds, limit_of_certain(odds, shown)), shadows.without(shown)
    apart = []
    for trained, own in ((~without, members), (without, ~members)):
        n = trained.sum(axis=0)
        where = np.vstack([trained, own]) & (n >= _FEWEST_A_SIDE)
        mean = np.where(trained, odds[:-1], 0.0).sum(axis=0) / np.maximum(n, 1)
        apart.append(np.where(where, odds - mean, 0.0).sum(axis=1) / np.maximum(where.sum(axis=1), 1))
    gap = apart[0] - apart[1]
    most = _DEVIATIONS * gap[:-1].std(ddof=1) + _FLOOR
    return {} if abs(gap[-1]) <= most else dict.fromkeys(SEE_A_MODEL, UNLIKE.format(abs(gap[-1]), most))


def shadows_without_targets(knowledge: BlackBoxKnowledge, n_shadows: int, rng: Generator) -> ShadowModels:
    """Train shadows without any target, each on a random subset of the reference.

    They have as many rows as the released model, or half of the reference where that is less. Where shadows
    were trained elsewhere, those: a record is then compared with the ones without it.
    """
    if knowledge.shadows is not None:
        return _require_both(knowledge.shadows, others_only=True)
    trainer = known_trainer(knowledge)
    n = knowledge.n_members - (len(knowledge.targets) if knowledge.empty and knowledge.targets else 0)
    chosen = _choose(np.full(n_shadows, max(n, 1)), len(knowledge.reference), rng)
    models = train_shadows(knowledge.reference, chosen, trainer, rng, knowledge.n_members)
    return ShadowModels(models, chosen, np.zeros((n_shadows, 0), dtype=np.bool_))


def shadows_with_targets(knowledge: BlackBoxKnowledge, n_shadows: int, rng: Generator) -> ShadowModels:
    """Train shadows of which each target is a member of exactly half, at random.

    (Carlini et al. 2022, algorithm 1, for all targets at once.) The other rows come from the reference. Where
    shadows were trained elsewhere, those.
    """
    if knowledge.shadows is not None:
        return _require_both(knowledge.shadows)
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
    work = [(np.flatnonzero(rows), seed) for rows, seed in zip(chosen, seeds)]

    def train() -> tuple[Classifier, ...]:
        return tuple(parallel_map(_TrainOnRows(pool, trainer), work))

    if (sample := current_sample()) is not None:  # must not stay in the cache
        if key not in sample.shared:
            sample.shared[key] = train()
        return tuple(sample.shared[key])
    return _shadow_cache.once(key, train)


def _require_both(shadows: ShadowModels, *, others_only: bool = False) -> ShadowModels:
    """Refuse shadows that were made elsewhere where a target has none without it, or with it."""
    sides = (
        {"without": ~shadows.targets}
        if others_only
        else {"with": shadows.targets, "without": ~shadows.targets}
    )
    for side, marked in sides.items():
        if few := int((marked.sum(axis=0) < _FEWEST_A_SIDE).sum()):
            way_out = "" if others_only else '; or use mode = "offline"'
            raise BadInput(
                f"challenger.shadows: fewer than {_FEWEST_A_SIDE} models were trained {side} the record, for "
                f"{few} of {marked.shape[1]} records in question; add models{way_out}"
            )
    return shadows


@dataclass(frozen=True, eq=False)
class _TrainOnRows:
    """Train on a subset of the rows; called in worker processes."""

    pool: Examples
    trainer: PreparedTrainer

    def __call__(self, work: tuple[Ints, int]) -> Classifier:
        rows, seed = work
        own = self.pool.take(rows)
        return counted_training(self.trainer, own, lambda how: how.fit(own, np.random.default_rng(seed)))


def known_trainer(knowledge: BlackBoxKnowledge) -> PreparedTrainer:
    """How the released model is trained; refused where that is not known."""
    if knowledge.trainer is None:
        raise BadInput(
            "shadow models are trained like the released model, and it is not stated how this one was "
            "trained; use loss_threshold, or state it: challenger.train (your own code) or "
            "challenger.recipe, or bring predictions of models that you trained: challenger.shadows"
        )
    return knowledge.trainer


def require_targets(knowledge: BlackBoxKnowledge) -> Examples:
    """The targets, where they are known before any round."""
    if knowledge.targets is None:
        raise BadInput(
            'mode = "online" trains shadow models on the targets, which differ in each round of this game; '
            'use mode = "offline"'
        )
    return knowledge.targets


def require_shadows(n_shadows: int, fewest: int) -> None:
    """Refuse fewer shadows than an attack needs."""
    if not n_shadows >= fewest:
        raise BadInput(f"shadows must be >= {fewest}, got {n_shadows}")


def _choose(sizes: Ints, n: int, rng: Generator) -> Bits:
    """Draw rows for each shadow, at most a share of the ``n`` rows."""
    chosen = np.zeros((sizes.size, n), dtype=np.bool_)
    for row, size in zip(chosen, np.minimum(sizes, int(_MAX_SHARE * n))):
        row[rng.choice(n, size, replace=False)] = True
    return chosen


def _require_rows(chosen: Bits, n_members: int) -> None:
    available, needed = int(chosen.sum(axis=1).min()), min(_MIN_ROWS, max(n_members, 1))
    if available < needed:
        raise BadInput(
            f"a shadow model would have {available} rows, and at least {needed} are needed: give more "
            "records, or raise challenger.reference or the attack's rows, where there is such a key"
        )
