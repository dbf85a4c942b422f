"""What a reader must know about the data and the releases of an audit, in sentences without personal data."""

from pathlib import Path
from typing import Any, NamedTuple

from leakgauge.core.guarantee import Guarantee, Relation
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData
from leakgauge.domains.locations.guarantee import claim_note, noise_guarantee
from leakgauge.domains.locations.outsized_trace import sparse_group_size
from leakgauge.domains.locations.plan_tables import (
    DEFAULT_SPLITS,
    LocationsChallengerTable,
    LocationsUserMechanismTable,
)
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.referee.intervals import FEWEST_SPLITS

COUNT_EVERYONE = 'or count everyone in the data (group_size = "everyone")'


class ChallengerNotes(NamedTuple):
    """Notes for a run, which simulates releases, and for exposure, which computes without."""

    run: tuple[str, ...]
    exposure: tuple[str, ...]


def challenger_notes(
    data: dict[str, Any],
    loaded: VisitData,
    traces: Traces,
    people: PopulationSplit,
    table: LocationsChallengerTable,
    release_steps: ReleaseChain | LocationsUserMechanismTable,
    guarantee: Guarantee | None,
) -> ChallengerNotes:
    """Return all notes: on the data, on the promise, on who is counted, and on the positive control."""
    common = (
        *_data_notes(data, loaded, traces),
        *_claim_notes(release_steps),
        *_release_notes(release_steps, traces, people, table, guarantee),
    )
    suppression = _suppression_notes(table, release_steps, traces)
    in_run = (
        *_cell_notes(traces),
        *_everyone_notes(table, people, loaded.tally),
        *_group_notes(table, people),
        *_large_group_note(table, people),
        *suppression,
        *_control_notes(traces, table.n_members(traces.n_people)),
    )
    in_exposure = (
        *_exposed_people_notes(table, people, loaded.tally),
        *_large_group_exposure_note(table, people),
        *suppression,
    )
    return ChallengerNotes(
        run=(*common, *map(traces.map.phrase, in_run)),
        exposure=(*common, *map(traces.map.phrase, in_exposure)),
    )


def _data_notes(data: dict[str, Any], loaded: VisitData, traces: Traces) -> tuple[str, ...]:
    from leakgauge.domains.locations.data.data_summary import data_summary

    if loaded.traces.names is None:
        kind = "city" if traces.map.timed else "genotypes"
        return (f"generated {kind}: {data_summary(loaded, traces)}.",)
    name = Path(data["source"]).name
    rows = f"{name}: {loaded.tally.summary_with_bad_rows}"
    summary = f"{name}: {data_summary(loaded, traces)}."
    return summary, rows, *_accepted_note(data), *loaded.warnings


def _accepted_note(data: dict[str, Any]) -> tuple[str, ...]:
    """Which checks of the data the plan turns off."""
    accepted = data.get("accept")
    return (f"Checks of the data that the plan turns off: {', '.join(accepted)}.",) if accepted else ()


def _cell_notes(traces: Traces) -> tuple[str, ...]:
    """What a reader must know about attackers of a table with a single column of cells."""
    if traces.map.timed or traces.map.n_epochs > 1:
        return ()
    guesses = (
        "An attacker who has only the release estimates each count from its row and column, and this table "
        "has one column: at its own threshold such an attacker guesses, and exposure leaves it out. Its AUC "
        "uses thresholds fitted to simulated releases, which it does not have."
    )
    return (guesses,)


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


def _everyone_notes(
    table: LocationsChallengerTable, people: PopulationSplit, rows: RowCounts
) -> tuple[str, ...]:
    """What a reader must know about releases that count everyone in the data."""
    if not table.everyone:
        return ()
    whose, nobody_else = _who_is_counted(rows)
    table_of_all = (
        f"Every simulated release is the table of all {_n_people(people):,} people{whose}, with or without "
        f"each target, with fresh noise.{nobody_else}"
    )
    references = f"{people.n_splits} such references were drawn; each simulated release uses one."
    fitted = (
        "Attackers who do not know everyone else: the counts of others are the same in all simulated "
        "releases, so numbers with a threshold fitted to these releases (AUC, calibrated accuracy, members "
        "found at a false-positive rate) are too high. Accuracy at the attack's own threshold is not."
    )
    held = ", and the targets' traces"
    return table_of_all, f"{_overlap_note(people, held)} {references}", fitted


def _exposed_people_notes(
    table: LocationsChallengerTable, people: PopulationSplit, rows: RowCounts
) -> tuple[str, ...]:
    """Who is counted in the table that exposure is about, and whose data attackers hold."""
    if not table.everyone:
        n_targets = people.targets.size
        targets = (
            "the target of the plan is" if n_targets == 1 else f"the {n_targets:,} targets of the plan are"
        )
        return (f"The people {_divided(people)}; {targets} in no pool.",)
    whose, nobody_else = _who_is_counted(rows)
    return f"The table counts all {_n_people(people):,} people{whose}.{nobody_else}", _overlap_note(people)


def _n_people(people: PopulationSplit) -> int:
    return int(people.targets.size + people.pool.size)


def _who_is_counted(rows: RowCounts) -> tuple[str, str]:
    """Which people of the file are in the table of everyone, and that others are not; empty where all are."""
    left_out = {
        "visits inside the window": rows.outside_window,
        "visits on the map": rows.outside_map,
        "as many visits as min_visits says": rows.few_visits,
    }
    where = " and ".join(what for what, n_rows in left_out.items() if n_rows)
    return (f" who have {where}", " Nobody else of the file is in it.") if where else ("", "")


def _overlap_note(people: PopulationSplit, more: str = "") -> str:
    """That attackers hold data of people who are in the table themselves, and what ``more`` they hold."""
    return (
        f"Attackers with data of similar people hold {people.reference.size:,} people drawn from this same "
        f"table{more}: their numbers are too high for somebody who holds data of other people."
    )


def _divided(people: PopulationSplit) -> str:
    """How the people were divided into a pool and a reference."""
    n = people.n_splits
    times = "once" if n == 1 else f"{n} times"
    return (
        f"were divided {times} at random: a pool of {people.pool.size:,} that groups are drawn "
        f"from, and {people.reference.size:,} whose data attackers may hold"
    )


def _group_notes(table: LocationsChallengerTable, people: PopulationSplit) -> tuple[str, ...]:
    """What a reader must know about the splits of the people that random groups are drawn from."""
    if table.everyone:
        return ()
    n = people.n_splits
    if n >= FEWEST_SPLITS:
        scope = "Simulated releases take turns with these splits, and intervals are over splits."
    else:
        these = "this split" if n == 1 else f"these {n} splits"
        scope = (
            f"Numbers and intervals hold for {these} of the people. For intervals over splits, set "
            f"challenger.splits = {DEFAULT_SPLITS} (1 is the default where an attack studies for long)."
        )
    n_targets = people.targets.size
    targets = "the target" if n_targets == 1 else f"the {n_targets:,} targets"
    return (f"Besides {targets}, the people {_divided(people)}. {scope}",)


def _large_group_note(table: LocationsChallengerTable, people: PopulationSplit) -> tuple[str, ...]:
    """A warning where groups are so large a part of the pool that they hardly vary within a split."""
    n_pool, n_targets = people.pool.size, people.targets.size
    beside = f" ({n_pool:,} and {'the target' if n_targets == 1 else f'{n_targets:,} targets'})"
    found = _large_group(table, n_pool + n_targets, beside)
    if not found:
        return ()
    effect = (
        "Counts of others then hardly vary within a split, and in simulated releases the numbers of "
        "attackers who do not know the others rest on few different tables: lower group_size or reference, "
        f"{COUNT_EVERYONE}."
    )
    return (f"{found} {effect}",)


def _large_group_exposure_note(table: LocationsChallengerTable, people: PopulationSplit) -> tuple[str, ...]:
    """The same for exposure, which draws groups from all other people if there are several splits."""
    n_pool = people.pool.size
    found = _large_group(table, n_pool)
    if not found:
        return ()
    if (group := table.n_members(n_pool)) > n_pool:
        found = f"Warning: the pool has only {n_pool:,} people for groups of {group:,}."
    if people.n_splits == 1:
        effect = (
            "Counts of others then hardly vary, and the numbers of attackers who do not know the others "
            "(auxiliary and zero) are too high, the more so the larger the group: if it is nearly the whole "
            "pool, a threshold for each person recognises almost everybody. Set "
            f"challenger.splits = {DEFAULT_SPLITS}, with which their groups are drawn from all other people, "
            f"lower group_size or reference, {COUNT_EVERYONE}."
        )
    else:
        effect = (
            "This concerns the simulated releases of leakgauge run. Attackers who do not know the others "
            "(auxiliary and zero) are computed here with groups drawn from all other people."
        )
    return (f"{found} {effect}",)


def _large_group(table: LocationsChallengerTable, n_people: int, more: str = "") -> str:
    """That groups are more than a third of the people they are drawn from; empty where they are not."""
    group = 0 if table.everyone else table.n_members(n_people)
    if 3 * group <= n_people:
        return ""
    return (
        f"Warning: groups of {group:,} are more than a third of the {n_people:,} people{more} they are drawn "
        "from."
    )


def _control_notes(traces: Traces, group_size: int) -> tuple[str, ...]:
    """That the positive control leaves out people, where counts are large."""
    if group_size <= (most := sparse_group_size(traces)):
        return ()
    note = (
        f"The positive control counts {most:,} of {group_size:,} people: a crowd protects too, and in larger "
        "counts an attacker who has only the release may recognise nobody even without noise."
    )
    return (note,)


def _release_notes(
    release_steps: ReleaseChain | LocationsUserMechanismTable,
    traces: Traces,
    people: PopulationSplit,
    table: LocationsChallengerTable,
    composed: Guarantee | None,
) -> tuple[str, ...]:
    """What is promised in one of several releases, and in all of them together."""
    n = traces.map.n_releases
    if n == 1:
        return ()
    together = f"{n} releases of the same people, each with fresh noise; all are attacked together."
    if composed is None:
        return (together,)
    if isinstance(release_steps, LocationsUserMechanismTable):
        assert release_steps.epsilon is not None
        stated = f"ε = {release_steps.epsilon:.4g} for one {release_steps.unit.value} in one release"
    else:
        assert release_steps.noise is not None
        alone = traces.visits_per_release[people.targets].max()
        if table.relation is Relation.REPLACE_ONE:
            alone += traces.visits_per_release[people.in_pools].max()
        one = noise_guarantee(release_steps.noise, int(max(alone, 1)), table.relation)
        stated = f"ε = {one.epsilon:.4g} for one person in one release"
    total = f"ε = {composed.epsilon:.4g} in all together"
    return (f"{together} The promise to the target with the most visits: {stated}, {total}.",)
