"""Shadows of a release: the same game, played by an adversary with the traces it has."""

from copy import deepcopy
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.chain.own import OwnChain
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints, Map

Counts: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Public:
    """What the publisher tells everybody: the chain, the size of the group, the map."""

    chain: Chain | OwnChain
    group_size: int
    n_targets: int
    relation: Relation
    map: Map

    @property
    def n_others(self) -> int:
        """How many besides the targets are in every group."""
        return self.group_size - self.n_targets

    @property
    def n_company(self) -> int:
        """How many a target must expect beside it: the others, and half of the other targets."""
        if self.relation is Relation.REPLACE_ONE:
            return self.group_size - 1
        return self.n_others + (self.n_targets - 1) // 2


@dataclass(frozen=True, eq=False)
class Shadows:
    """Releases of an adversary's own over some cells; ``known`` counts the others it would know."""

    outputs: Reals
    known: Counts
    members: Bits
    counts: Counts  # the true counts behind the outputs

    @property
    def left(self) -> Reals:
        """What was published beyond the known counts."""
        return self.outputs - self.known

    def on(self, places: Ints) -> "Shadows":
        """The same on some of the columns."""
        return Shadows(self.outputs[:, places], self.known[:, places], self.members, self.counts[:, places])


@dataclass(frozen=True, eq=False)
class Simulator:
    """Plays the challenger with a crowd of its own (real traces or made-up ones) for one target.

    The other targets are people like any other to it. ``columns`` are cells of the map in rising order. A
    pipeline of one's own may treat all cells together, so it is always given all of them.
    """

    public: Public
    crowd: Crowd
    theta: float = 0.0  # share of the others whose traces the adversary will know

    @property
    def n_known(self) -> int:
        return int(self.theta * self.public.n_others + 1e-9)

    def independent(self, sketch: Sketch, columns: Ints, n: int, rng: Generator) -> Shadows:
        """Shadows that have nothing in common, the worlds in random order."""
        members = rng.permutation(np.arange(n) % 2 == 1)
        cells = self._needed(columns)
        others, known, one_more = self._draw(cells, n, rng)
        counts = others + self._target(sketch, cells, members, rng)
        if one_more is not None:
            counts[~members] += one_more[~members]
        return self._cut(
            Shadows(self.public.chain.sample(counts, rng), known, members, counts), cells, columns
        )

    def paired(self, sketch: Sketch, columns: Ints, n_pairs: int, rng: Generator) -> Shadows:
        """Pairs of shadows that differ by the target alone, with the same noise (Guan et al. 2024).

        The first half are members, the second half their twins. Under ``replace_one`` the twin has somebody
        else instead of the target.
        """
        cells = self._needed(columns)
        others, known, one_more = self._draw(cells, n_pairs, rng)
        with_target = others + self._target(sketch, cells, np.ones(n_pairs, dtype=bool), rng)
        without = others if one_more is None else others + one_more
        twin = deepcopy(rng)
        outputs = [self.public.chain.sample(with_target, rng), self.public.chain.sample(without, twin)]
        pairs = Shadows(
            np.concatenate(outputs),
            _twice(known),
            np.repeat([True, False], n_pairs),
            np.concatenate([with_target, without]),
        )
        return self._cut(pairs, cells, columns)

    def _needed(self, columns: Ints) -> Ints:
        if isinstance(self.public.chain, Chain):
            return columns
        return np.arange(self.public.map.n_cells)

    @staticmethod
    def _cut(shadows: Shadows, cells: Ints, columns: Ints) -> Shadows:
        return shadows if cells is columns else shadows.on(columns)

    def _draw(self, cells: Ints, n: int, rng: Generator) -> tuple[Counts, Counts, Counts | None]:
        """Counts of the company of a target, of the part of it that is known, and of one person more."""
        size, replaces = self.public.n_company, self.public.relation is Relation.REPLACE_ONE
        where = None if cells.size == self.public.map.n_cells else cells
        if self.n_known:
            people = self.crowd.people(n, size + replaces, rng)
            known = self.crowd.counts(people[:, : self.n_known], where)
            others = known + self.crowd.counts(people[:, self.n_known : size], where)
            return others, known, self.crowd.counts(people[:, size:], where) if replaces else None
        nobody = np.broadcast_to(np.int32(0), (n, cells.size))
        if replaces:
            pairs = self.crowd.shadow_pairs(n, size, where, rng)
            return pairs.common, nobody, pairs.extra.toarray()
        return self.crowd.shadow_counts(n, size, where, rng), nobody, None

    def _target(self, sketch: Sketch, cells: Ints, members: Bits, rng: Generator) -> Counts:
        added = np.zeros((members.size, cells.size), dtype=np.int32)
        seen = np.isin(sketch.cells, cells)
        drawn = sketch.draw(int(members.sum()), rng)[:, seen]
        added[np.ix_(members, np.searchsorted(cells, sketch.cells[seen]))] = drawn
        return added


def _twice(known: Counts) -> Counts:
    """The same rows twice; where there is nothing, without taking up room."""
    if known.strides == (0, 0):
        return np.broadcast_to(known[:1, :1], (2 * len(known), known.shape[1]))
    return np.concatenate([known, known])
