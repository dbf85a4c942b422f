"""The challenger of counts per place and hour: publishes noisy counts of random groups, or of everyone."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, NoControl
from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger_notes import challenger_notes
from leakgauge.domains.locations.data.population_split import PopulationSplit, split_population
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_data import Friends, VisitData
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.group_sampling.fixed_group import FixedGroup
from leakgauge.domains.locations.guarantee import people_guarantee
from leakgauge.domains.locations.outsized_trace import outsized_cells, sparse_group_size, with_trace
from leakgauge.domains.locations.plan_tables import (
    KNOWLEDGE,
    LocationsChallengerTable,
    LocationsUserMechanismTable,
    read_challenger_table,
    read_mechanism_table,
    with_group_size,
)
from leakgauge.domains.locations.release import LocationsBlock, RoundGroups, WholeTables
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain
from leakgauge.domains.locations.target_overlap import hide_one_another, may_hide, n_simulated_rounds
from leakgauge.domains.locations.utility import MOST_CELLS, counts_utility, n_utility_draws
from leakgauge.support.global_rng import refuse_own_generator
from leakgauge.support.user_code import UserCodeLoader

# Blocks of the data stream: each step draws from its own block, whatever the other steps draw.
CITY, CAPS, SPLIT, EARLIER, PARTIAL_TRACES, OTHERS = range(6)
UTILITY, OVERLAP = 40, 41  # blocks of the data stream too
OUTSIZED, SMALL_GROUP = 1, 2  # blocks of the stream of the positive control
_COMPARED = 3  # targets for whom tables of a pipeline of one's own are compared with and without them
HIDDEN_TARGETS = (
    "in these releases the targets hide one another, so this attacker is right less often than about a "
    "single person, and its success clears nobody; audit one target at a time (targets = 1), or compute "
    "exposure"
)


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Holds the traces; in each round publishes the counts of a new random group, or of everyone.

    The other group members are drawn in every round, from the pool of its split of the people: round r has
    split r modulo their number. Each target is a member with probability
    1/2. Under ``replace_one`` another person of the pool replaces every target that is not a member. Where
    the plan counts everyone, the others are always all people but the targets.
    """

    traces: Traces  # of all people, after the caps
    people: PopulationSplit
    crowd: Crowd  # all people
    chain: ReleaseChain | UserReleaseChain
    table: LocationsChallengerTable
    guarantee: Guarantee | None
    digest: str
    seed: int
    uncapped: Traces | None = None  # of all people before the caps, where there are any
    friends: Friends | None = None  # pairs of friends, for attackers who know them
    notes: tuple[str, ...] = ()  # about the data and the simulated releases, for reports; no personal data
    exposure_notes: tuple[str, ...] = ()  # what is true of them where no release is simulated
    targets_digest: str | None = None
    invented: bool = False  # the target's trace is that of a positive control
    split: int = 0  # which of the splits, where only one is left

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return int(self.people.targets.size)

    @property
    def overfitted_knowledge(self) -> tuple[str, ...]:
        """All but informed where everyone is counted: rounds then reveal the counts of the others."""
        return tuple(name for name in KNOWLEDGE if name != "informed") if self.table.everyone else ()

    @cached_property
    def understated_knowledge(self) -> dict[str, str]:
        """Informed and partial, where targets share so many cells that they hide one another.

        Which of the other targets are counted is not known to any attacker of the plan: bounds on epsilon
        need it.
        """
        targets = self.traces.visits[self.people.targets]
        rng = stream(self.seed, Role.DATA, OVERLAP)
        hidden = may_hide(targets, self.chain, rng)
        if hidden and isinstance(self.chain, ReleaseChain):
            hidden = self._hide_one_another(targets, self.chain, rng)
        return dict.fromkeys(("informed", "partial"), HIDDEN_TARGETS) if hidden else {}

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Of a pipeline of one's own, cells in which a target never was, if they change with it."""
        if not isinstance(self.chain, UserReleaseChain) or not self.n_targets:
            return ()
        nobody = np.zeros((1, self.n_targets), dtype=bool)
        rounds = self.release(nobody, stream(self.seed, Role.DATA, OVERLAP)).rounds
        counts = np.asarray(rounds.counts(), dtype=np.float64)
        targets = self.traces.visits[self.people.targets[:_COMPARED]].toarray()
        return self.chain.unread_cells(counts, targets.astype(np.float64))

    def _hide_one_another(self, targets: csr_array, chain: ReleaseChain, rng: Generator) -> bool:
        """Whether targets do so in some simulated releases."""
        cells = np.unique(targets.indices)
        near = targets[:, cells]
        members = self.flip(n_simulated_rounds(near), rng)
        counts = self.release(members, rng).rounds.counts(cells)
        others = counts - members.astype(np.int64) @ near
        return hide_one_another(near, others, members, chain, rng, all_present=self.table.everyone)

    @cached_property
    def reference(self) -> Crowd:
        """The people whose traces attackers may hold; one copy is shared by all attackers."""
        return Crowd(self.traces.of(self.people.reference))

    @property
    def group_size(self) -> int:
        """How many people are counted if all targets are members."""
        return self.table.n_members(self.n_targets + self.people.pool.size)

    @property
    def n_splits(self) -> int:
        return self.people.n_splits

    def of_split(self, split: int) -> "Challenger":
        """The same challenger with one of its splits of the people only."""
        return replace(self, people=self.people.of_split(split), split=self.split + split)

    @cached_property
    def by_split(self) -> "tuple[Challenger, ...]":
        """One challenger for each split; their references are shared by all attackers."""
        return tuple(map(self.of_split, range(self.n_splits)))

    def splits(self, rounds: range) -> Ints | None:
        """Who may be in a group depends on the split; where everyone is counted, only references do."""
        return None if self.table.everyone else self._split_numbers(rounds)

    def _split_numbers(self, rounds: range) -> Ints:
        return np.asarray(rounds, dtype=np.int64) % self.n_splits

    @cached_property
    def others(self) -> FixedGroup:
        """Everybody but the targets, where all of them are counted in every round."""
        return FixedGroup(self.traces, stream(self.seed, Role.DATA, OTHERS).permutation(self.people.pool))

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    @property
    def round_bytes(self) -> int:
        """Its group, true counts, published counts, and two more such arrays for noise and scores."""
        return 4 * self.group_size + (4 + 3 * 8) * self.traces.map.n_cells

    def release(self, members: Bits, rng: Generator) -> LocationsBlock:
        return self.release_rounds(range(len(members)), members, rng)

    def release_rounds(self, rounds: range, members: Bits, rng: Generator) -> LocationsBlock:
        group_rng, near, far = rng.spawn(3)
        splits = self._split_numbers(rounds)
        targets = self.traces.visits[self.people.targets]
        return LocationsBlock(
            rounds=WholeTables(self.others, members, targets)
            if self.table.everyone
            else RoundGroups(self.crowd, *self._group(members, splits, group_rng), members, targets),
            chain=self.chain,
            near=np.unique(targets.indices).astype(np.int64),
            streams=(near, far),
            n_cells=self.traces.map.n_cells,
            independent_cells=isinstance(self.chain, ReleaseChain),
            split_numbers=splits,
        )

    def earlier(self, n_rounds: int) -> tuple[Bits, LocationsBlock]:
        """Releases of the same kind from before the first round, for attackers who saw earlier releases."""
        rng = stream(self.seed, Role.DATA, EARLIER)
        rng = rng.spawn(self.split)[-1] if self.split else rng
        members = self.flip(n_rounds, rng)
        return members, self.release(members, rng)

    @cached_property
    def utility(self) -> dict[str, float] | None:
        """How useful simulated releases with all targets in them are; nothing on very large maps."""
        own, cells = isinstance(self.chain, UserReleaseChain), self.traces.map
        if cells.n_cells > MOST_CELLS:
            return None
        members = np.ones((n_utility_draws(cells.n_cells, own_pipeline=own), self.n_targets), dtype=bool)
        block = self.release(members, stream(self.seed, Role.DATA, UTILITY))
        suppresses = isinstance(self.chain, UserReleaseChain) or self.chain.suppress > 0
        true = self._without_caps(block.rounds).counts()
        return counts_utility(true, block.whole, cells, suppresses=suppresses)

    def _without_caps(self, rounds: RoundGroups | WholeTables) -> RoundGroups | WholeTables:
        """The same people with all their visits."""
        if self.uncapped is None:
            return rounds
        targets = self.uncapped.visits[self.people.targets]
        if isinstance(rounds, WholeTables):
            return replace(rounds, others=replace(rounds.others, traces=self.uncapped), targets=targets)
        return replace(rounds, crowd=Crowd(self.uncapped), targets=targets)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "uncapped": None}  # workers compute no utility

    def whole_tables(self, n: int) -> Reals:
        """Releases of the table with all targets in it, each with its own noise: releases x cells."""
        members = np.ones((n, self.n_targets), dtype=bool)
        return self.release(members, stream(self.seed, Role.DATA, EARLIER)).whole

    def control(self) -> "Challenger | NoControl":
        """One target with an outsized trace, in counts without noise, rounding, clamping or suppression.

        A crowd protects too: where counts are large, only some of the other people are counted. Your own
        pipeline is left out too, but must publish something that depends on the counts.
        """
        if isinstance(self.chain, UserReleaseChain):
            self.chain.require_use_of_counts(self.group_size)
        elif self.chain.mute:
            return NoControl(
                reason="every count is suppressed, so the release is the same for any group, and every "
                "attack is right in exactly half of the rounds",
                needed=False,
            )
        target, people, table = self.people.targets[:1], self.people.of_split(0), self.table
        most = sparse_group_size(self.traces)
        if table.everyone:  # the other targets are counted in every round
            others = np.union1d(people.pool, people.targets[1:])
            if others.size >= most:
                kept = stream(self.seed, Role.CONTROL, SMALL_GROUP).permutation(others)[: most - 1]
                others = np.sort(kept)
            people = replace(people, pool=others)
        else:
            table = replace(table, group_size=min(self.group_size - self.n_targets + 1, most))
        group_size = table.n_members(1 + people.pool.size)
        cells = outsized_cells(self.traces, group_size, stream(self.seed, Role.CONTROL, OUTSIZED))
        traces = with_trace(self.traces, int(target[0]), cells)
        visits = traces.visits
        digest = sha256(f"control\n{self.table!r}\n{self.traces.map.n_epochs}".encode())
        for part in (visits.indptr, visits.indices, target, people.pool, people.reference):
            digest.update(np.ascontiguousarray(part).tobytes())
        return replace(
            self,
            traces=traces,
            people=replace(people, targets=target),
            chain=ReleaseChain(noise=None, group_size=group_size),
            table=table,
            guarantee=None,
            digest=digest.hexdigest(),
            invented=True,
        )

    def _group(
        self, members: Bits, splits: Ints, rng: Generator
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        n_others = self.group_size - self.n_targets
        spare = self.n_targets if self.table.relation is Relation.REPLACE_ONE else 0
        drawn = np.empty((len(members), n_others + spare), np.int32)
        pools = self.people.pools
        for row, split in zip(drawn, splits):
            pool = pools[split]
            row[:] = pool[rng.choice(pool.size, row.size, replace=False)]
        spares = (
            np.where(members, -1, drawn[:, n_others:]) if spare else np.empty((len(members), 0), np.int32)
        )
        return drawn[:, :n_others], spares.astype(np.int32)


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    from leakgauge.domains.locations.data.cell_files.cell_plan_table import values_per_cell
    from leakgauge.domains.locations.data.data_loader import load_visits
    from leakgauge.domains.locations.data.traces import bound_contributions

    table = read_challenger_table(challenger)
    max_value = values_per_cell(data, table, mechanism)
    release_steps = read_mechanism_table(mechanism, table, max_value)
    loader = UserCodeLoader(folder)
    loaded = load_visits(data, folder, seed)
    traces = bound_contributions(
        loaded.traces,
        per_epoch=table.per_epoch,
        per_day=table.per_day,
        per_user=table.per_user,
        rng=stream(seed, Role.DATA, CAPS),
    )
    people = split_population(traces, table, stream(seed, Role.DATA, SPLIT))
    largest_count = table.n_members(traces.n_people) * traces.map.max_value
    release_steps = with_group_size(release_steps, largest_count)
    chain = (
        _user_chain(release_steps, traces, loader)
        if isinstance(release_steps, LocationsUserMechanismTable)
        else release_steps
    )
    guarantee = people_guarantee(release_steps, traces, people, table)
    notes = challenger_notes(data, loaded, traces, people, table, release_steps, guarantee)
    digest_parts = (
        loaded.digest,
        repr(table),
        repr(release_steps),
        *(f"{k}\n{v}" for k, v in sorted(loader.sources.items())),
    )
    return Challenger(
        traces=traces,
        people=people,
        crowd=Crowd(traces),
        chain=chain,
        table=table,
        guarantee=guarantee,
        digest=sha256("\n".join(digest_parts).encode(errors="surrogatepass")).hexdigest(),
        seed=seed,
        targets_digest=_targets_digest(loaded, people),
        uncapped=None if traces is loaded.traces else loaded.traces,
        friends=loaded.friends,
        notes=notes.run,
        exposure_notes=notes.exposure,
    )


def _targets_digest(loaded: VisitData, people: PopulationSplit) -> str:
    """Of the data, the targets and the number of splits, if several: rounds are compared one by one."""
    splits = f"\n{people.n_splits}" if people.n_splits > 1 else ""
    return sha256(f"{loaded.digest}\n{people.targets.tolist()}{splits}".encode()).hexdigest()


def _user_chain(own: LocationsUserMechanismTable, traces: Traces, loader: UserCodeLoader) -> UserReleaseChain:
    functions = {}
    for key, reference in (("release", own.release), ("law", own.law)):
        if reference is None:
            continue
        function = loader.load(reference, f"mechanism.{key}")
        if not callable(function):
            raise BadInput(
                f"mechanism.{key}: {reference!r} is no function, but of type {type(function).__name__}; "
                "name a function"
            )
        refuse_own_generator(function, f"mechanism.{key}")
        functions[key] = function
    size, several = (traces.map.n_places, traces.map.n_epochs), traces.map.releases
    return UserReleaseChain(
        functions["release"],
        *size,
        law=functions.get("law"),
        whole=own.whole,
        releases=() if several is None else tuple(np.bincount(several).tolist()),
    )
