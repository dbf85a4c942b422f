"""Shadows: rounds that an attacker plays by itself, in both worlds equally often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits
from leakgauge.support.parallel import parallel_map

Simulate: TypeAlias = Callable[[Bits, Generator], list[Any]]

_FIRST = 20  # rounds that are timed
_PIECE = 250
_WORTH_SPREADING = 2.0  # seconds


@dataclass(frozen=True, eq=False)
class ShadowOutputs:
    """Outputs, and in which of them the target was."""

    outputs: Sequence[Any]
    members: Bits


@dataclass(frozen=True)
class _ShadowPiece:
    """Some rounds, with a stream of their own."""

    seed: int
    n_rounds: int


def draw_shadows(simulate: Simulate, n_rounds: int, rng: Generator) -> ShadowOutputs:
    """Simulate rounds, the worlds in random order; slow ones are given to the workers there are.

    Every piece has its own stream, so it does not matter who simulates it. The first is timed to see whether
    the rest is worth the way to the workers.
    """
    sizes = [min(_FIRST, n_rounds)]
    while (left := n_rounds - sum(sizes)) > 0:
        sizes.append(min(_PIECE, left))
    seeds = rng.integers(2**63, size=len(sizes))
    pieces = [_ShadowPiece(int(seed), size) for seed, size in zip(seeds, sizes, strict=True)]
    make = partial(_simulate_piece, simulate)
    started = perf_counter()
    made = [make(pieces[0])]
    expected = (perf_counter() - started) / sizes[0] * n_rounds
    made += parallel_map(make, pieces[1:]) if expected > _WORTH_SPREADING else map(make, pieces[1:])
    return ShadowOutputs(
        [output for shadows in made for output in shadows.outputs],
        np.concatenate([shadows.members for shadows in made]),
    )


def _simulate_piece(simulate: Simulate, piece: _ShadowPiece) -> ShadowOutputs:
    rng = np.random.default_rng(piece.seed)
    members = rng.permutation(np.arange(piece.n_rounds) % 2 == 1)
    return ShadowOutputs(simulate(members, rng), members)
