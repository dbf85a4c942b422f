"""Simulate releases from the traces an attacker has: who is in the group, and what is published of it."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.data.traces import CellMap, Ints
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.release_chain.user_chain import UserReleaseChain
from leakgauge.domains.locations.shadows.shadow_releases import ShadowCounts, ShadowReleases


@dataclass(frozen=True, eq=False)
class OtherMembers:
    """People who are always drawn, and other targets by coins, as far as their visits are known.

    Under ``replace_one`` somebody of the crowd takes the place of each target who is out. Of the other
    targets whose traces are not known in full, people of the crowd stand for half, or for all where those
    who are out are replaced; what is known of them comes on top.
    """

    n_always: int
    visits: tuple[Ints, ...]  # known ones, of each other target
    complete: Bits  # whether they are all of them
    replaces: bool

    @classmethod
    def beside(
        cls, target: int, sketches: Sequence[PartialTrace], n_others: int, n_targets: int, relation: Relation
    ) -> "OtherMembers":
        """The company of one of the targets; ``n_others`` are no targets."""
        others = [sketch for place, sketch in enumerate(sketches) if place != target]
        complete = np.array([sketch.complete and sketch.certain for sketch in others], dtype=bool)
        replaces = relation is Relation.REPLACE_ONE
        unknown = n_targets - 1 - int(complete.sum())
        n_always = n_others + (unknown if replaces else unknown // 2)
        return cls(n_always, tuple(sketch.visits for sketch in others), complete, replaces)

    def flip(self, n: int, rng: Generator) -> Bits:
        """Which of the other targets are in: a row for each group."""
        return rng.random((n, len(self.visits))) < 0.5

    def n_drawn(self, coins: Bits) -> Ints:
        """How many of the crowd are in each group."""
        out = ~coins[:, self.complete]
        return self.n_always + (out.sum(axis=1) if self.replaces else np.zeros(len(coins), dtype=np.int64))

    def join(self, counts: ShadowCounts, coins: Bits, cells: Ints) -> None:
        """Add the known visits of other targets who are in to the counts of some cells, in place."""
        for visits, coin in zip(self.visits, coins.T, strict=True):
            seen = visits[np.isin(visits, cells)]
            counts[np.ix_(coin, np.searchsorted(cells, seen))] += 1

    def prior(self, own: PartialTrace, rates: Reals, n_known: int) -> CountPrior:
        """The law of the company's counts in a target's cells beyond ``n_known``, given everybody's rates."""
        visits = np.sort(np.concatenate([own.cells[:0], *self.visits]))
        first, last = (np.searchsorted(visits, own.cells, side) for side in ("left", "right"))
        n = self.n_always + (int(self.complete.sum()) // 2 if self.replaces else 0) - n_known
        return CountPrior(rates=rates, n_in=n, n_out=n + self.replaces, coins=last - first)


@dataclass(frozen=True, eq=False)
class PublicParameters:
    """What the publisher tells everybody: the chain, the size of the group, the map."""

    chain: ReleaseChain | UserReleaseChain
    group_size: int
    n_targets: int
    relation: Relation
    map: CellMap

    @property
    def n_others(self) -> int:
        """How many besides the targets are in every group."""
        return self.group_size - self.n_targets

    @property
    def n_expected_others(self) -> int:
        """How many a target must expect beside it: the others, and half of the other targets."""
        if self.relation is Relation.REPLACE_ONE:
            return self.group_size - 1
        return self.n_others + (self.n_targets - 1) // 2


@dataclass(frozen=True, eq=False)
class ShadowSimulator:
    """Plays the challenger with a crowd of its own (real traces or made-up ones), for one target at a time.

    The other targets are in by fair coins where their whole traces are known, and else people like any other.
    ``columns`` are cells of the map in rising order. Your own pipeline may treat all cells together, so
    it is always given all of them.
    """

    public: PublicParameters
    crowd: Crowd
    sketches: tuple[PartialTrace, ...]  # of the targets
    theta: float = 0.0  # share of the others whose traces the attacker will know

    @property
    def n_known(self) -> int:
        return int(self.theta * self.public.n_others + 1e-9)

    def company(self, target: int) -> OtherMembers:
        """Who is beside a target in its shadows."""
        public = self.public
        return OtherMembers.beside(target, self.sketches, public.n_others, public.n_targets, public.relation)

    def independent(self, target: int, columns: Ints, n: int, rng: Generator) -> ShadowReleases:
        """Shadows that have nothing in common, the worlds in random order."""
        members = rng.permutation(np.arange(n) % 2 == 1)
        cells = self._needed(columns)
        others, known, one_more = self._draw(target, cells, n, rng)
        counts = others + self._target(self.sketches[target], cells, members, rng)
        if one_more is not None:
            counts[~members] += one_more[~members]
        return self._cut(
            ShadowReleases(self.public.chain.sample(counts, rng), known, members, counts), cells, columns
        )

    def paired(self, target: int, columns: Ints, n_pairs: int, rng: Generator) -> ShadowReleases:
        """Pairs of shadows that differ by the target alone, with the same noise (Guan et al. 2024).

        The first half are members, the second half their twins. Under ``replace_one`` the twin has somebody
        else instead of the target.
        """
        cells = self._needed(columns)
        others, known, one_more = self._draw(target, cells, n_pairs, rng)
        everybody = np.ones(n_pairs, dtype=bool)
        with_target = others + self._target(self.sketches[target], cells, everybody, rng)
        without = others if one_more is None else others + one_more
        twin = deepcopy(rng)
        outputs = [self.public.chain.sample(with_target, rng), self.public.chain.sample(without, twin)]
        pairs = ShadowReleases(
            np.concatenate(outputs),
            _repeat_rows(known),
            np.repeat([True, False], n_pairs),
            np.concatenate([with_target, without]),
        )
        return self._cut(pairs, cells, columns)

    def _needed(self, columns: Ints) -> Ints:
        if isinstance(self.public.chain, ReleaseChain):
            return columns
        return np.arange(self.public.map.n_cells)

    @staticmethod
    def _cut(shadows: ShadowReleases, cells: Ints, columns: Ints) -> ShadowReleases:
        return shadows if cells is columns else shadows.on(columns)

    def _draw(
        self, target: int, cells: Ints, n: int, rng: Generator
    ) -> tuple[ShadowCounts, ShadowCounts, ShadowCounts | None]:
        """Counts of the company of a target, of the part of it that is known, and of one person more."""
        company, replaces = self.company(target), self.public.relation is Relation.REPLACE_ONE
        coins = company.flip(n, rng)
        where = None if cells.size == self.public.map.n_cells else cells
        drawn = company.n_drawn(coins)
        if self.n_known:
            others, known, one_more = self._draw_known(where, drawn, replaces, rng)
        else:
            others, one_more = self._draw_unknown(where, drawn, replaces, rng)
            known = np.broadcast_to(np.int32(0), others.shape)
        company.join(others, coins, cells)
        return others, known, one_more

    def _draw_known(
        self, where: Ints | None, drawn: Ints, replaces: bool, rng: Generator
    ) -> tuple[ShadowCounts, ShadowCounts, ShadowCounts | None]:
        """The same of the crowd alone, so many people in each group; the first of them are known."""
        starts = np.zeros_like(drawn)
        bounds = np.stack([starts, starts + self.n_known, drawn, drawn + 1], axis=1)
        visitors = self.crowd.on(np.arange(self.public.map.n_cells) if where is None else where)
        known, unknown, *one_more = visitors.parts(bounds if replaces else bounds[:, :3], rng)
        return known + unknown, known, one_more[0] if replaces else None

    def _draw_unknown(
        self, where: Ints | None, drawn: Ints, replaces: bool, rng: Generator
    ) -> tuple[ShadowCounts, ShadowCounts | None]:
        """The same where nobody is known: groups of one size at a time, of visitors of the cells alone."""
        shape = (drawn.size, self.public.map.n_cells if where is None else where.size)
        others = np.empty(shape, np.int32)
        one_more = np.empty(shape, np.int32) if replaces else None
        visitors = None if where is None else self.crowd.on(where)
        for size in np.unique(drawn).tolist():
            rows = drawn == size
            n = int(rows.sum())
            if one_more is not None:
                pairs = (
                    visitors.pairs(n, size, rng) if visitors else self.crowd.shadow_pairs(n, size, None, rng)
                )
                others[rows], one_more[rows] = pairs.common, pairs.extra.toarray()
            else:
                others[rows] = (
                    visitors.counts(n, size, rng)
                    if visitors
                    else self.crowd.shadow_counts(n, size, None, rng)
                )
        return others, one_more

    def _target(self, sketch: PartialTrace, cells: Ints, members: Bits, rng: Generator) -> ShadowCounts:
        added = np.zeros((members.size, cells.size), dtype=np.int32)
        seen = np.isin(sketch.cells, cells)
        drawn = sketch.draw(int(members.sum()), rng)[:, seen]
        added[np.ix_(members, np.searchsorted(cells, sketch.cells[seen]))] = drawn
        return added


def _repeat_rows(known: ShadowCounts) -> ShadowCounts:
    """The same rows twice; where there is nothing, without taking up room."""
    if known.strides == (0, 0):
        return np.broadcast_to(known[:1, :1], (2 * len(known), known.shape[1]))
    return np.concatenate([known, known])
