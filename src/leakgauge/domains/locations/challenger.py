"""The challenger of counts per place and hour: publishes noisy counts of random groups, or of everyone."""

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, ChallengerDefaults, Coins, NoControl, Reals
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.population_split import PopulationSplit, split_population
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.data.visit_data import Friends, VisitData
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.group_sampling.fixed_group import FixedGroup
from leakgauge.domains.locations.guarantee import claim_note, noise_guarantee, stated_guarantee
from leakgauge.domains.locations.outsized_trace import outsized_cells, with_trace
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
from leakgauge.domains.locations.utility import MOST_CELLS, counts_utility, n_utility_draws
from leakgauge.support.global_rng import refuse_own_generator
from leakgauge.support.user_code import UserCodeLoader

# Blocks of the data stream: each step draws from its own block, whatever the other steps draw.
CITY, CAPS, SPLIT, EARLIER, PARTIAL_TRACES, OTHERS = range(6)
UTILITY = 40  # a block of the data stream too
OUTSIZED = 1  # block of the stream of the positive control


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Holds the traces; in each round publishes the counts of a new random group, or of everyone.

    The other group members are drawn from the pool in every round. Each target is a member with probability
    1/2. Under ``replace_one`` another person of the pool replaces every target that is not a member. Where
    the plan counts everyone, the others are always all people but the targets.
    """

    traces: Traces  # of all people, after the caps
    people: PopulationSplit
    crowd: Crowd  # the pool, or all people where no groups are drawn
    chain: ReleaseChain | UserReleaseChain
    table: LocationsChallengerTable
    guarantee: Guarantee | None
    digest: str
    seed: int
    uncapped: Traces | None = None  # of all people before the caps, where there are any
    friends: Friends | None = None  # pairs of friends, for attackers who know them
    notes: tuple[str, ...] = ()  # about the data, for reports; no personal data
    targets_digest: str | None = None
    invented: bool = False  # the target's trace is that of a positive control

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return int(self.people.targets.size)

    @property
    def overfitted_knowledge(self) -> tuple[str, ...]:
        """All but informed where everyone is counted: rounds then reveal the counts of the others."""
        return tuple(name for name in KNOWLEDGE if name != "informed") if self.table.everyone else ()

    @cached_property
    def reference(self) -> Crowd:
        """The people whose traces attackers may hold; one copy is shared by all attackers."""
        return Crowd(self.traces.of(self.people.reference))

    @property
    def group_size(self) -> int:
        """How many people are counted if all targets are members."""
        return self.table.n_members(self.traces.n_people)

    @property
    def n_references(self) -> int:
        return len(self.people.references)

    def with_reference(self, split: int) -> "Challenger":
        """The same challenger with one of its references only."""
        return replace(self, people=self.people.with_reference(split))

    @cached_property
    def others(self) -> FixedGroup:
        """Everybody but the targets, where all of them are counted in every round."""
        return FixedGroup(self.traces, stream(self.seed, Role.DATA, OTHERS).permutation(self.people.pool))

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    def release(self, members: Bits, rng: Generator) -> LocationsBlock:
        group_rng, near, far = rng.spawn(3)
        targets = self.traces.visits[self.people.targets]
        return LocationsBlock(
            rounds=WholeTables(self.others, members, targets)
            if self.table.everyone
            else RoundGroups(self.crowd, *self._group(members, group_rng), members, targets),
            chain=self.chain,
            near=np.unique(targets.indices).astype(np.int64),
            streams=(near, far),
            n_cells=self.traces.map.n_cells,
            splits=isinstance(self.chain, ReleaseChain),
        )

    def earlier(self, n_rounds: int) -> tuple[Bits, LocationsBlock]:
        """Releases of the same kind from before the first round, for attackers who saw earlier releases."""
        rng = stream(self.seed, Role.DATA, EARLIER)
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
        return replace(rounds, crowd=Crowd(self.uncapped.of(self.people.pool)), targets=targets)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "uncapped": None}  # workers compute no utility

    def whole_table(self) -> Reals:
        """One release of the table with all targets in it, over all cells."""
        members = np.ones((1, self.n_targets), dtype=bool)
        return self.release(members, stream(self.seed, Role.DATA, EARLIER)).whole[0]

    def control(self) -> "Challenger | NoControl":
        """One target with an outsized trace, in counts without noise, rounding, clamping or suppression.

        Your own pipeline is left out too, but must publish something that depends on the counts.
        """
        if isinstance(self.chain, UserReleaseChain):
            self.chain.require_use_of_counts(self.group_size)
        elif self.chain.mute:
            return NoControl(
                reason="every count is suppressed, so the release is the same for any group, and every "
                "attack is right in exactly half of the rounds",
                needed=False,
            )
        target, people, table = self.people.targets[:1], self.people.with_reference(0), self.table
        if table.everyone:  # the other targets are counted in every round
            people = replace(people, pool=np.union1d(people.pool, people.targets[1:]))
        else:
            table = replace(table, group_size=self.group_size - self.n_targets + 1)
        group_size = table.n_members(self.traces.n_people)
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

    def _group(self, members: Bits, rng: Generator) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        n_others = self.group_size - self.n_targets
        spare = self.n_targets if self.table.relation is Relation.REPLACE_ONE else 0
        drawn = self.crowd.people(len(members), n_others + spare, rng)
        spares = (
            np.where(members, -1, drawn[:, n_others:]) if spare else np.empty((len(members), 0), np.int32)
        )
        return drawn[:, :n_others], spares.astype(np.int32)


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    from leakgauge.domains.locations.data.data_loader import load_visits
    from leakgauge.domains.locations.data.traces import bound_contributions

    table = read_challenger_table(challenger)
    release_steps = read_mechanism_table(mechanism, table)
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
    release_steps = with_group_size(release_steps, table.n_members(traces.n_people))
    chain = (
        _user_chain(release_steps, traces, loader)
        if isinstance(release_steps, LocationsUserMechanismTable)
        else release_steps
    )
    digest_parts = (
        loaded.digest,
        repr(table),
        repr(release_steps),
        *(f"{k}\n{v}" for k, v in sorted(loader.sources.items())),
    )
    return Challenger(
        traces=traces,
        people=people,
        crowd=Crowd(traces if table.everyone else traces.of(people.pool)),
        chain=chain,
        table=table,
        guarantee=_guarantee(release_steps, traces, people, table),
        digest=sha256("\n".join(digest_parts).encode(errors="surrogatepass")).hexdigest(),
        seed=seed,
        targets_digest=sha256(f"{loaded.digest}\n{people.targets.tolist()}".encode()).hexdigest(),
        uncapped=None if traces is loaded.traces else loaded.traces,
        friends=loaded.friends,
        notes=(
            *_data_notes(data, loaded, traces),
            *_claim_notes(release_steps),
            *_everyone_notes(table, people),
            *_suppression_notes(table, release_steps, traces),
        ),
    )


def _data_notes(data: dict[str, Any], loaded: VisitData, traces: Traces) -> tuple[str, ...]:
    from leakgauge.domains.locations.data.data_summary import data_summary

    if loaded.traces.names is None:
        return (f"generated city: {data_summary(loaded, traces)}.",)
    name = Path(data["source"]).name
    summary = f"{name}: {data_summary(loaded, traces)}."
    return summary, f"{name}: {loaded.tally.summary_with_bad_rows}", *loaded.warnings


def _claim_notes(steps: ReleaseChain | LocationsUserMechanismTable) -> tuple[str, ...]:
    """A stated epsilon that the noise does not give."""
    noise = steps.noise if isinstance(steps, ReleaseChain) else None
    note = None if noise is None else claim_note(noise)
    return () if note is None else (note,)


def _suppression_notes(
    table: LocationsChallengerTable, steps: ReleaseChain | LocationsUserMechanismTable, traces: Traces
) -> tuple[str, ...]:
    """That a larger table suppresses less than groups of a part of the people."""
    suppresses = isinstance(steps, ReleaseChain) and steps.suppress > 0
    if not suppresses or table.n_members(traces.n_people) == traces.n_people:
        return ()
    note = (
        f"Small counts are suppressed: in a table of more than {table.group_size:,} people fewer are, and "
        "attackers may identify people better than the numbers here say. If you publish the table of "
        'everyone, write group_size = "everyone".'
    )
    return (note,)


def _everyone_notes(table: LocationsChallengerTable, people: PopulationSplit) -> tuple[str, ...]:
    """What a reader must know about releases that count everyone in the data."""
    if not table.everyone:
        return ()
    n_people = people.targets.size + people.pool.size
    table_of_all = (
        f"Every simulated release is the table of all {n_people:,} people, with or without each target, with "
        "fresh noise."
    )
    overlap = (
        f"Attackers with data of similar people hold {people.reference.size:,} people drawn from this same "
        "table, and the targets' traces: their numbers are too high for somebody who holds data of other "
        f"people. {len(people.references)} such references were drawn; each simulated release uses one."
    )
    fitted = (
        "Attackers who do not know everyone else: the counts of others are the same in all simulated "
        "releases, so numbers with a threshold fitted to these releases (AUC, calibrated accuracy, members "
        "found at a false-positive rate) are too high. Accuracy at the attack's own threshold is not."
    )
    return table_of_all, overlap, fitted


def _user_chain(own: LocationsUserMechanismTable, traces: Traces, loader: UserCodeLoader) -> UserReleaseChain:
    functions = {}
    for key, reference in (("release", own.release), ("law", own.law)):
        if reference is None:
            continue
        function = loader.load(reference, f"mechanism.{key}")
        if not callable(function):
            raise BadInput(
                f"mechanism.{key}: {reference!r} is a {type(function).__name__}, not callable; "
                "name a function"
            )
        refuse_own_generator(function, f"mechanism.{key}")
        functions[key] = function
    size = (traces.map.n_places, traces.map.n_epochs)
    return UserReleaseChain(functions["release"], *size, law=functions.get("law"), whole=own.whole)


def _guarantee(
    release_steps: ReleaseChain | LocationsUserMechanismTable,
    traces: Traces,
    people: PopulationSplit,
    table: LocationsChallengerTable,
) -> Guarantee | None:
    """The guarantee for the target with the most visits; None if the mechanism promises nothing.

    Under ``replace_one`` the person who replaces a target changes counts too, so the visits of the most
    active person of the pool are added.
    """
    replaces = table.relation is Relation.REPLACE_ONE
    if isinstance(release_steps, LocationsUserMechanismTable):
        if (stated := release_steps.stated) is None:
            return None
        owned = _units_per_person(traces, release_steps.unit)
        n_units = int(owned[people.targets].max()) + (int(owned[people.pool].max()) if replaces else 0)
        return stated_guarantee(stated, n_units, table.relation)
    if release_steps.noise is None:
        return None
    n_cells = int(traces.n_visits[people.targets].max())
    if replaces:
        n_cells += int(traces.n_visits[people.pool].max())
    return noise_guarantee(release_steps.noise, n_cells, table.relation)


def _units_per_person(traces: Traces, unit: Unit) -> Ints:
    """How many of the protected units (visits, days, users) belong to each person."""
    match unit:
        case Unit.EVENT:
            return traces.n_visits
        case Unit.USER_DAY:
            return traces.n_days
        case _:
            return np.ones(traces.n_people, dtype=np.int64)
