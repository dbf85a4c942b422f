"""Shadows: rounds that the attacker simulates, half of them with the target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits
from leakgauge.core.errors import BadInput
from leakgauge.support.parallel import parallel_map

Simulate: TypeAlias = Callable[[Bits, Generator], list[Any]]

_TIMED_ROUNDS = 20
_BATCH_ROUNDS = 250
_MIN_PARALLEL_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class ShadowOutputs:
    """Simulated outputs, and which of them were made with the target."""

    outputs: Sequence[Any]
    members: Bits


@dataclass(frozen=True)
class _ShadowBatch:
    """A batch of rounds with its own random stream."""

    seed: int
    n_rounds: int


def draw_shadows(simulate: Simulate, n_rounds: int, rng: Generator) -> ShadowOutputs:
    """Simulate rounds with and without the target in random order, on the available workers if they are slow.

    Every batch has its own random stream, so the result does not depend on which worker simulates it. The
    first batch is timed to decide whether the others are sent to workers.
    """
    sizes = [min(_TIMED_ROUNDS, n_rounds)]
    while (left := n_rounds - sum(sizes)) > 0:
        sizes.append(min(_BATCH_ROUNDS, left))
    seeds = rng.integers(2**63, size=len(sizes))
    batches = [_ShadowBatch(int(seed), size) for seed, size in zip(seeds, sizes, strict=True)]
    simulate_batch = partial(_simulate_batch, simulate)
    start = perf_counter()
    results = [simulate_batch(batches[0])]
    expected = (perf_counter() - start) / sizes[0] * n_rounds
    spread = expected > _MIN_PARALLEL_SECONDS
    results += parallel_map(simulate_batch, batches[1:]) if spread else map(simulate_batch, batches[1:])
    outputs = [output for shadows in results for output in shadows.outputs]
    if all(output is None for output in outputs):
        raise BadInput(
            f"release returned None in all {len(outputs):,} rounds that the attack simulated; let it return "
            "what is published"
        )
    return ShadowOutputs(
        outputs,
        np.concatenate([shadows.members for shadows in results]),
    )


def _simulate_batch(simulate: Simulate, batch: _ShadowBatch) -> ShadowOutputs:
    rng = np.random.default_rng(batch.seed)
    members = rng.permutation(np.arange(batch.n_rounds) % 2 == 1)
    return ShadowOutputs(simulate(members, rng), members)
