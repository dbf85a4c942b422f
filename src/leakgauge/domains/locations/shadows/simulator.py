"""Simulates releases from the attacker's traces: draws the group, and publishes its counts."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain

ShadowCounts: TypeAlias = npt.NDArray[np.int32]
ShadowRows: TypeAlias = npt.NDArray[Any]  # float32 or float64


@dataclass(frozen=True, eq=False)
class ShadowReleases:
    """Simulated releases over some cells; ``known`` counts the people whose traces the attacker knows."""

    outputs: Reals
    known: ShadowCounts
    members: Bits
    counts: ShadowCounts  # the true counts behind the outputs

    @property
    def left(self) -> Reals:
        """The published outputs minus the known counts."""
        return self.outputs - self.known

    def on(self, places: Ints) -> "ShadowReleases":
        """Return the same releases restricted to some columns."""
        return ShadowReleases(
            self.outputs[:, places], self.known[:, places], self.members, self.counts[:, places]
        )


@dataclass(frozen=True, eq=False)
class LabelledShadows:
    """Rows of shadows, and whether the target is a member in each."""

    rows: ShadowRows
    members: Bits


@dataclass(frozen=True, eq=False)
class TrainCheckShadows:
    """Shadows for training, and others for early stopping; neither contains a round that is scored."""

    train: LabelledShadows
    check: LabelledShadows


@dataclass(frozen=True, eq=False)
class OtherMembers:
    """The members of a simulated group beside one target: people of the crowd, and the other targets.

    Another target whose whole trace is known is a member with probability 1/2; under ``replace_one`` somebody
    of the crowd replaces it if it is not. The targets whose traces are not fully known are represented by
    people of the crowd: half as many, or as many under ``replace_one``. Their known visits are added to that.
    """

    n_always: int
    visits: tuple[Ints, ...]  # the known visits of each other target; a cell of value 2 twice
    complete: Bits  # whether all visits of the target are known
    replaces: bool

    @classmethod
    def beside(
        cls, target: int, sketches: Sequence[PartialTrace], n_others: int, n_targets: int, relation: Relation
    ) -> "OtherMembers":
        """Return the other members beside one target; ``n_others`` of them are not targets."""
        others = [sketch for place, sketch in enumerate(sketches) if place != target]
        complete = np.array([sketch.complete and sketch.certain for sketch in others], dtype=bool)
        replaces = relation is Relation.REPLACE_ONE
        unknown = n_targets - 1 - int(complete.sum())
        n_always = n_others + (unknown if replaces else unknown // 2)
        return cls(n_always, tuple(sketch.visits for sketch in others), complete, replaces)

    def flip(self, n: int, rng: Generator) -> Bits:
        """Draw which of the other targets are members: groups x other targets."""
        return rng.random((n, len(self.visits))) < 0.5

    def n_drawn(self, coins: Bits) -> Ints:
        """Return how many people of the crowd are in each group."""
        out = ~coins[:, self.complete]
        return self.n_always + (out.sum(axis=1) if self.replaces else np.zeros(len(coins), dtype=np.int64))

    def join(self, counts: ShadowCounts, coins: Bits, cells: Ints) -> None:
        """Add the known visits of the other targets who are members to the counts of some cells, in place."""
        for visits, coin in zip(self.visits, coins.T, strict=True):
            seen = np.searchsorted(cells, visits[np.isin(visits, cells)])
            places, times = np.unique(seen, return_counts=True)
            counts[np.ix_(coin, places)] += times.astype(counts.dtype)

    def prior(
        self, own: PartialTrace, rates: Reals, n_known: int, max_value: int = 1, *, dense: bool = False
    ) -> CountPrior:
        """Return the distribution of counts in a target's cells, without the ``n_known`` known people.

        Where a person adds up to ``max_value`` to a cell, each counts as so many independent people: with
        two alleles, this is the Hardy-Weinberg equilibrium. Other targets of value 2 count as two coins.
        ``dense``: people have values in most cells of the table.
        """
        visits = np.sort(np.concatenate([own.cells[:0], *self.visits]))
        first, last = (np.searchsorted(visits, own.cells, side) for side in ("left", "right"))
        n, complete = self.n_always - n_known, int(self.complete.sum())
        if self.replaces:  # half of them are replaced; in dense tables no count may seem impossible
            n += complete if n == 0 and dense else complete // 2
        n_in, n_out = max_value * n, max_value * (n + self.replaces)
        return CountPrior(rates=rates, n_in=n_in, n_out=n_out, coins=last - first)


@dataclass(frozen=True, eq=False)
class PublicParameters:
    """What is public: the release chain, the size of the group, the map, whether everyone is counted."""

    chain: ReleaseChain | UserReleaseChain
    group_size: int
    n_targets: int
    relation: Relation
    map: CellMap
    everyone: bool = False

    @property
    def n_others(self) -> int:
        """The number of people in every group who are not targets."""
        return self.group_size - self.n_targets

    @property
    def n_expected_others(self) -> int:
        """The expected number of people beside a target: the others, and half of the other targets."""
        if self.relation is Relation.REPLACE_ONE:
            return self.group_size - 1
        return self.n_others + (self.n_targets - 1) // 2


@dataclass(frozen=True, eq=False)
class ShadowSimulator:
    """Simulates the challenger with the attacker's own traces (real or synthetic), for one target at a time.

    Other targets are members with probability 1/2 if their whole traces are known; otherwise they are treated
    like anybody else. ``columns`` are cells of the map in ascending order. A user's pipeline always gets all
    cells, because it may treat them together.

    Where everyone in the data is counted, the attacker has the traces of fewer people than are counted, so
    that groups are drawn with replacement; and the people it knows are the same in every shadow.
    """

    public: PublicParameters
    crowd: Crowd
    sketches: tuple[PartialTrace, ...]  # of the targets
    theta: float = 0.0  # share of the others whose traces the attacker knows
    known_counts: ShadowCounts | None = None  # of these others in all cells, if they are always the same

    @property
    def n_known(self) -> int:
        return int(self.theta * self.public.n_others + 1e-9)

    def other_members(self, target: int) -> OtherMembers:
        """Return the members beside a target in its shadows."""
        public = self.public
        return OtherMembers.beside(target, self.sketches, public.n_others, public.n_targets, public.relation)

    def independent(self, target: int, columns: Ints, n: int, rng: Generator) -> ShadowReleases:
        """Return independent shadows, half of them with the target, in random order."""
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
        """Return pairs of shadows that differ only in the target, with the same noise (Guan et al. 2024).

        The first half contain the target, the second half are the same groups without it. Under
        ``replace_one`` somebody else replaces the target there.
        """
        cells = self._needed(columns)
        others, known, one_more = self._draw(target, cells, n_pairs, rng)
        all_members = np.ones(n_pairs, dtype=bool)
        with_target = others + self._target(self.sketches[target], cells, all_members, rng)
        without = others if one_more is None else others + one_more
        same_rng = deepcopy(rng)
        outputs = [self.public.chain.sample(with_target, rng), self.public.chain.sample(without, same_rng)]
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
        """Return counts of the other members, of the known ones among them, and of one additional person."""
        members, replaces = self.other_members(target), self.public.relation is Relation.REPLACE_ONE
        coins = members.flip(n, rng)
        subset = None if cells.size == self.public.map.n_cells else cells
        drawn = members.n_drawn(coins)
        if self.n_known:
            others, known, one_more = self._draw_known(subset, drawn, replaces, rng)
        else:
            others, one_more = self._draw_unknown(subset, drawn, replaces, rng)
            known = np.broadcast_to(np.int32(0), others.shape)
        members.join(others, coins, cells)
        return others, known, one_more

    def _draw_known(
        self, subset: Ints | None, drawn: Ints, replaces: bool, rng: Generator
    ) -> tuple[ShadowCounts, ShadowCounts, ShadowCounts | None]:
        """Draw ``drawn`` people of the crowd into each group; the first of them are known."""
        if self.known_counts is not None:
            unknown, _ = self._draw_unknown(subset, drawn - self.n_known, replaces, rng)
            counts = self.known_counts if subset is None else self.known_counts[subset]
            known = np.broadcast_to(counts, unknown.shape)
            return known + unknown, known, None
        starts = np.zeros_like(drawn)
        bounds = np.stack([starts, starts + self.n_known, drawn, drawn + 1], axis=1)
        visitors = self.crowd.on(np.arange(self.public.map.n_cells) if subset is None else subset)
        known, unknown, *one_more = visitors.parts(bounds if replaces else bounds[:, :3], rng)
        return known + unknown, known, one_more[0] if replaces else None

    def _draw_unknown(
        self, subset: Ints | None, drawn: Ints, replaces: bool, rng: Generator
    ) -> tuple[ShadowCounts, ShadowCounts | None]:
        """Draw groups without known people, one group size at a time, from the visitors of the cells only."""
        if self.public.everyone:
            return self.crowd.counts_with_repeats(drawn, subset, rng), None
        visitors = None if subset is None else self.crowd.on(subset)

        def draw(n: int, size: int) -> tuple[ShadowCounts, ShadowCounts | None]:
            if replaces:
                pairs = (
                    visitors.pairs(n, size, rng) if visitors else self.crowd.shadow_pairs(n, size, None, rng)
                )
                return pairs.common, pairs.extra.toarray().astype(np.int32)
            if visitors:
                return visitors.counts(n, size, rng), None
            return self.crowd.shadow_counts(n, size, None, rng), None

        if drawn.size and (drawn == drawn[0]).all():
            return draw(drawn.size, int(drawn[0]))
        shape = (drawn.size, self.public.map.n_cells if subset is None else subset.size)
        others = np.empty(shape, np.int32)
        one_more = np.empty(shape, np.int32) if replaces else None
        for size in np.unique(drawn).tolist():
            rows = drawn == size
            others[rows], more = draw(int(rows.sum()), size)
            if one_more is not None and more is not None:
                one_more[rows] = more
        return others, one_more

    def _target(self, sketch: PartialTrace, cells: Ints, members: Bits, rng: Generator) -> ShadowCounts:
        seen = np.isin(sketch.cells, cells)
        columns = np.searchsorted(cells, sketch.cells[seen])
        if sketch.certain:
            values = np.zeros(cells.size, dtype=np.int32)
            values[columns] = sketch.draw(1, rng)[0, seen]
            return np.where(members[:, None], values, np.int32(0))
        added = np.zeros((members.size, cells.size), dtype=np.int32)
        added[np.ix_(members, columns)] = sketch.draw(int(members.sum()), rng)[:, seen]
        return added


def _repeat_rows(known: ShadowCounts) -> ShadowCounts:
    """Return the rows twice; a broadcast zero stays broadcast to save memory."""
    if known.strides == (0, 0):
        return np.broadcast_to(known[:1, :1], (2 * len(known), known.shape[1]))
    return np.concatenate([known, known])
