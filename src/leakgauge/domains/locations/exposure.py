"""How exposed each person is in counts per place and hour, computed without simulating releases."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.crowd_cells import CellBelief, CellMerging, CrowdCells
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.guarantee import guarantee_per_person, largest_replacement
from leakgauge.domains.locations.knowledge import public_parameters
from leakgauge.domains.locations.mobility.cell_rates import given_visits, rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases, shapes_of_releases
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.score_distributions import (
    GroupDraws,
    believed_score_laws,
    informed_score_laws,
    merge_known_counts,
    round_rates,
)
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.domains.locations.split_exposure import mean_of_splits, reference_note
from leakgauge.mechanisms._additive import AttackBounds
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

_MOST = 72  # up to this many different numbers of cells, each optimum is bounded separately
_CHECKED_NUMBERS = 7  # numbers of cells checked if there are more
_FINER_OPTIMUM = 8  # factor of the resolution
_CHECKED, _VISITS = 60, 1500  # people recomputed to measure the error, and their visits in total
_FINER = 4  # factor of the resolution when recomputing
INFORMED = {
    Relation.ADD_REMOVE: (
        "the best possible attack, by an attacker who knows everyone else's data: no attacker can do better, "
        "whatever it knows"
    ),
    Relation.REPLACE_ONE: (
        "the best attack on the person's own cells, by an attacker who knows everyone else's data. It "
        "is not an upper bound: the person who replaces the target changes other cells too, which may "
        "reveal more"
    ),
}
AUXILIARY = "the likelihood attack by an attacker who knows the person's trace and has data of similar people"
ZERO = (
    "the likelihood attack by an attacker who has only the release and knows the person's trace; it "
    "estimates the usual counts from one earlier release"
)
OVER_SPLITS = "; means over {n} random draws of the people"
INFORMED_OF_EVERYONE = (
    "the best possible attack, by an attacker who knows everyone else in the table: no attacker can do "
    "better, whatever it knows"
)
AUXILIARY_IN_TABLE = (
    "the likelihood attack, at its own threshold, by an attacker who knows the person's trace and those of "
    "other people of this table; means over {n} random draws of these"
)
ZERO_FROM_TABLE = (
    "the likelihood attack, at its own threshold, by an attacker who has only the release and knows the "
    "person's trace; all else is estimated from the release; means over {n} random draws of its noise"
)
ZERO_FROM_RAW_TABLE = (
    "the likelihood attack, at its own threshold, by an attacker who has only the release and knows the "
    "person's trace; all else is estimated from the release"
)
ONE_COLUMN = (
    "An attacker who has only the release is left out: it estimates each count from its row and column, and "
    "with one column it could only guess."
)
_RELEASES = 12  # simulated for an attacker who has only the release; each costs as much as a reference
_FIXED_RATES = 0.001  # where counts are fixed, assumed rates are rounded within 0.1 %,
_FEW_CELLS = 20_000  # on maps of up to so many cells; on larger ones, less finely
ADVERSARIES = ("informed", "auxiliary", "zero")  # the strongest first


def informed_optimum_by_cells(chain: ReleaseChain, numbers: Ints) -> tuple[AttackRates, float]:
    """The rates of the best attack for each number of cells, and their maximum error.

    A chain that neither clamps nor suppresses shifts its output distribution with the count, so only the
    noise matters.
    """
    distinct = np.unique(numbers[numbers > 0])
    values, error = _values(chain, distinct) if distinct.size else (np.empty((3, 0)), 0.0)
    full = np.column_stack([[0.5, 0.5, FPR], values])
    rows = np.where(numbers > 0, np.searchsorted(distinct, numbers) + 1, 0)
    accuracy, auc, tpr = (column[rows] for column in full)
    return AttackRates(accuracy, auc, tpr, accuracy), error


def _values(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, float]:
    """Accuracy, AUC and TPR: metrics x numbers of cells; and their maximum error."""
    if numbers.size <= _MOST or (chain.noise is not None and chain.noise.closed_form):
        low, high = _lower_and_upper(chain, numbers)
        return (low + high) / 2, float(np.max(high - low)) / 2
    values = _summed(chain, numbers)
    checked = np.unique(np.linspace(0, numbers.size - 1, _CHECKED_NUMBERS).astype(np.int64))
    low, high = _lower_and_upper(chain, numbers[checked])
    return values, float(np.max(np.abs(values[:, checked] - (low + high) / 2)))


def _lower_and_upper(chain: ReleaseChain, numbers: Ints) -> tuple[Reals, Reals]:
    """Lower and upper bounds of accuracy, AUC and TPR."""
    noise = chain.noise
    if noise is not None and (noise.lattice or not chain.round):
        bests = [noise.best_attack([(1.0, n)]) for n in numbers.tolist()]
        if None not in bests:
            ends = np.array([_ends(best) for best in bests if best is not None])
            return ends[:, :, 0].T, ends[:, :, 1].T
    values, finer = (_summed(chain, numbers, more) for more in (1, 2))
    return np.minimum(values, finer), np.maximum(values, finer)


def _summed(chain: ReleaseChain, numbers: Ints, finer: int = 1) -> Reals:
    laws = informed_score_laws(chain, GroupDraws(1, 0, 0), np.zeros(1, dtype=np.int64))
    rates = score_sum_rates(laws, csr_array(numbers[:, None]), finer=finer * _FINER_OPTIMUM)
    return np.stack([rates.accuracy, rates.auc, rates.tpr])


def _ends(best: AttackBounds) -> list[tuple[float, float]]:
    """Accuracy, AUC and TPR of the best attack, each with a lower and an upper bound."""
    below, above = map(float, best.tpr_at(FPR))
    return [best.accuracy, best.auc, (below, above)]


Solve = Callable[[CrowdCells, bool], AttackRates]


def expose(
    challenger: Challenger,
    adversaries: Sequence[str] = ADVERSARIES,
    *,
    begin: Callable[[str], None] = lambda _: None,
) -> Exposure:
    """Compute the success of informed, auxiliary and zero-knowledge attackers against each person.

    Each person is taken as the only target, with a group drawn from the rest of the pool, or with everybody
    else in the data if the plan counts everyone. ``begin`` is called with the name of each step.
    """
    chain, traces = challenger.chain, challenger.traces
    if not isinstance(chain, ReleaseChain):
        raise BadInput(
            "exposure needs the noise distribution, and that of mechanism 'own' is not known; "
            "simulate releases instead: leakgauge run with the same plan"
        )
    groups, crowd = group_draws(challenger), crowd_cells(challenger)
    sample = error_sample(traces.n_visits)
    everyone = challenger.table.everyone

    def against(name: str) -> AdversaryExposure:
        begin(name)
        match name:
            case _ if not everyone and name in ADVERSARIES:
                return _over_splits(name, challenger, chain, groups, sample)
            case "informed":
                return informed_exposure(chain, groups, crowd, sample, INFORMED_OF_EVERYONE)
            case "auxiliary" if everyone:
                return _over_references(challenger, chain, groups, sample)
            case "zero" if everyone:
                return _over_releases(challenger, chain, groups, _with_fixed_counts(crowd), sample)
            case _:
                raise BadInput(f"exposure: unknown attacker {name!r}; known: {', '.join(ADVERSARIES)}")

    able = _able(adversaries, traces)
    left_out = () if len(able) == len(adversaries) else (ONE_COLUMN,)
    results = tuple(map(against, able))
    alone = _single_releases(chain, groups, crowd, results)
    begin("promises")
    return Exposure(
        names=_names(traces),
        cells=traces.value_counts.sum(axis=1),
        against=tuple(replace(one, basis=traces.map.phrase(one.basis)) for one in results),
        notes=(
            *challenger.exposure_notes,
            *left_out,
            *alone,
            *_notes(challenger, chain, groups, able),
            *reference_note(challenger.people, results),
        ),
        setting=""
        if everyone
        else f"in random groups of {_sizes_of_groups(challenger, chain, groups, able)}",
        promised=None
        if chain.noise is None
        else replace(
            guarantee_per_person(chain.noise, _changed_cells(challenger)),
            releases=traces.map.n_releases,
            replaces=challenger.table.relation is Relation.REPLACE_ONE,
        ),
        utility=challenger.utility,
    )


def _able(adversaries: Sequence[str], traces: Traces) -> list[str]:
    """Those who can estimate counts: from the release alone, nobody can where all cells are one column."""
    one_column = not traces.map.timed and traces.map.n_epochs == 1
    return [name for name in adversaries if name != "zero" or not one_column]


def _changed_cells(challenger: Challenger) -> Ints:
    """How many cells change with each person, by value; under ``replace_one`` also with a replacement."""
    cells = challenger.traces.value_counts
    if challenger.table.relation is Relation.ADD_REMOVE:
        return cells
    return cells + largest_replacement(cells[challenger.people.in_pools])


def crowd_cells(challenger: Challenger) -> CrowdCells:
    """The cells of all people, with the counts of those who may be in a group."""
    traces, people = challenger.traces, challenger.people
    if challenger.table.everyone:
        return CrowdCells.of_everyone(traces, people.reference)
    return CrowdCells.of(traces, people)


def _with_fixed_counts(crowd: CrowdCells) -> CrowdCells:
    """The same cells for attackers who do not know the counts, which are the same in every release."""
    step = _FIXED_RATES * max(1.0, crowd.in_pool.size / _FEW_CELLS)
    return replace(crowd, merging=CellMerging(np.array, partial(round_rates, step=step)))


def group_draws(challenger: Challenger) -> GroupDraws:
    """From how many others the group of a person is drawn, and of how many it consists."""
    if challenger.table.everyone:
        others = challenger.traces.n_people - 1
        return GroupDraws(others, others, others)
    n_people = int(challenger.people.pool.size) - 1
    n_replacements = int(challenger.table.relation is Relation.REPLACE_ONE)
    n_in = min(challenger.group_size - 1, n_people - n_replacements)
    if n_in < 0:
        raise BadInput(
            f"challenger.reference leaves {n_people + 1} people in the pool, too few to draw a group from; "
            "lower challenger.reference"
        )
    return GroupDraws(n_people, n_in, n_in + n_replacements)


def _group_sizes(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, adversaries: Sequence[str]
) -> dict[str, int]:
    """How many people are in the groups of each attacker; a pool may be too small for the size of the plan.

    What is computed about informed attackers may be the same for groups of any size.
    """
    any_size = chain.shift_free and not groups.replaces
    only_informed = any_size and set(adversaries) <= {"informed"}
    usual = challenger.group_size if challenger.n_splits > 1 or only_informed else groups.n_in + 1
    return {name: groups.n_in + 1 if name == "informed" and not any_size else usual for name in adversaries}


def _sizes_of_groups(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, adversaries: Sequence[str]
) -> str:
    sizes = sorted(set(_group_sizes(challenger, chain, groups, adversaries).values()))
    return " to ".join(f"{size:,}" for size in sizes)


def informed_exposure(
    chain: ReleaseChain, groups: GroupDraws, crowd: CrowdCells, sample: Ints, basis: str
) -> AdversaryExposure:
    """The attacker who knows everyone else; the people in ``sample`` are recomputed to measure the error."""
    if chain.shift_free and not groups.replaces and crowd.n_values == 1:
        rates, error = informed_optimum_by_cells(chain, crowd.traces.n_visits)
        return _against("informed", basis, rates, error)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_count()
        laws = informed_score_laws(chain, groups, kinds.visitors, kinds.values)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1)

    if groups.fixed:  # every count is known and always the same
        crowd = replace(crowd, merging=CellMerging(partial(merge_known_counts, chain), np.array))
    return _checked("informed", basis, solve, crowd, sample)


def _over_splits(
    name: str, challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, sample: Ints
) -> AdversaryExposure:
    """One attacker under each split of the people, and the means; the first is checked for errors.

    An attacker who does not know the others must not profit from a pool that is hardly larger than the group:
    with several splits, its groups are drawn from all other people, with replacement.
    """
    basis = {"informed": INFORMED[challenger.table.relation], "auxiliary": AUXILIARY, "zero": ZERO}[name]
    if name == "informed" and chain.shift_free and not groups.replaces:  # the same whoever is in the pool
        return informed_exposure(chain, groups, crowd_cells(challenger), sample, basis)
    n, parts = challenger.n_splits, []
    for split in range(n):
        one = challenger.of_split(split)
        crowd, checked = crowd_cells(one), sample if split == 0 else sample[:0]
        if name == "informed":
            parts.append(informed_exposure(chain, groups, crowd, checked, basis))
            continue
        drawn = groups
        if n > 1:
            n_in, n_more = challenger.group_size - 1, groups.n_out - groups.n_in
            drawn = GroupDraws(one.traces.n_people - 1, n_in, n_in + n_more, repeated=True)
            crowd = CrowdCells.of_everyone(one.traces, one.people.reference)
        solve = (
            _auxiliary(one, chain, drawn)
            if name == "auxiliary"
            else _zero(one, chain, drawn, one.earlier(1)[1].whole[0])
        )
        parts.append(_checked(name, basis, solve, crowd, checked))
    return parts[0] if n == 1 else mean_of_splits(parts, f"{basis}{OVER_SPLITS.format(n=n)}")


def _single_releases(
    chain: ReleaseChain,
    groups: GroupDraws,
    crowd: CrowdCells,
    together: Sequence[AdversaryExposure],
) -> tuple[str, ...]:
    """How often an informed attacker is right with one of several releases, and with all of them."""
    n, traces = crowd.traces.map.n_releases, crowd.traces
    informed = [one.accuracy for one in together if one.adversary == "informed"]
    if n == 1 or not informed:
        return ()
    parts = (replace(crowd, traces=traces.in_release(release)) for release in range(n))
    nobody = np.empty(0, dtype=np.int64)
    alone = np.stack([informed_exposure(chain, groups, part, nobody, "").accuracy for part in parts])
    best = alone.max(axis=0)
    note = (
        f"An attacker who knows everyone else's data is right about a person {alone.mean():.1%} of the time "
        f"with one release (mean of people and releases), {best.mean():.1%} with the release that says most "
        f"about them (at most {best.max():.1%}), and {informed[0].mean():.1%} with all {n} releases (at most "
        f"{informed[0].max():.1%})."
    )
    return (note,)


def _over_references(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, sample: Ints
) -> AdversaryExposure:
    """Auxiliary attackers with each of the references, and their means; the first is checked for errors."""
    basis, n = AUXILIARY_IN_TABLE.format(n=challenger.n_splits), challenger.n_splits
    parts = []
    for split in range(n):
        one = challenger.of_split(split)
        crowd, solve = _with_fixed_counts(crowd_cells(one)), _auxiliary(one, chain, groups)
        checked = sample if split == 0 else sample[:0]
        parts.append(_checked("auxiliary", basis, solve, crowd, checked, own=True))
    return mean_of_splits(parts, basis)


def _over_releases(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, crowd: CrowdCells, sample: Ints
) -> AdversaryExposure:
    """Zero-knowledge attackers with each of several releases of the table, and their means.

    Without noise all releases are the same.
    """
    n = 1 if chain.noise is None else _RELEASES
    basis = ZERO_FROM_RAW_TABLE if n == 1 else ZERO_FROM_TABLE.format(n=n)
    parts = []
    for draw, release in enumerate(challenger.whole_tables(n)):
        solve, checked = _zero(challenger, chain, groups, release), sample if draw == 0 else sample[:0]
        parts.append(_checked("zero", basis, solve, crowd, checked, own=True))
    return parts[0] if n == 1 else mean_of_splits(parts, basis)


def _auxiliary(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> Solve:
    rates = rates_from_reference(challenger.reference.traces)
    return partial(_solve, chain, groups, lambda crowd: crowd.believed(rates))


def _zero(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, release: Reals) -> Solve:
    public = public_parameters(challenger)
    public = replace(public, n_targets=1) if challenger.table.everyone else public
    belief = _visited_rates(release, public)
    return partial(_solve, chain, groups, lambda crowd: crowd.same_for_all(belief))


def _visited_rates(release: Reals, public: PublicParameters) -> CellBelief:
    """What the likelihood attack assumes of any cell of its target, by the release alone."""
    profiles = profiles_from_releases(release[None], public)
    shape = shapes_of_releases(release[None], profiles, public)
    rates, shapes = given_visits(
        profiles.rates(np.arange(release.size)), shape[:, None], np.ones(release.size)
    )
    return CellBelief(rates[0], shapes[0])


def _solve(
    chain: ReleaseChain,
    groups: GroupDraws,
    belief_of: Callable[[CrowdCells], CellBelief],
    crowd: CrowdCells,
    exactly: bool,
) -> AttackRates:
    kinds = crowd.by_belief(belief_of(crowd))
    assert kinds.belief is not None
    rates, shapes = kinds.belief
    laws = believed_score_laws(chain, groups, kinds.visitors, rates, kinds.values, shapes)
    return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1, common=groups.fixed)


def _checked(
    name: str, basis: str, solve: Solve, crowd: CrowdCells, sample: Ints, *, own: bool = False
) -> AdversaryExposure:
    """Compute the rates of all people, and recompute a sample exactly to measure the error.

    With ``own``, the accuracy is that at the attacker's own threshold, and AUC and TPR are those of one
    threshold for everybody.
    """
    rates = solve(crowd, False)
    pooled_fpr = None if rates.tails is None else rates.tails.pooled_fpr
    rates = _at_common_thresholds(rates, pooled_fpr) if own else rates
    error = own_error = 0.0
    if sample.size:
        exact = solve(crowd.only(sample), True)
        exact = _at_common_thresholds(exact, pooled_fpr) if own else exact
        own_error, *errors = (
            float(np.max(np.abs(getattr(rates, metric)[sample] - getattr(exact, metric))))
            for metric in ("at_zero", "accuracy", "auc", "tpr")
        )
        error = max(errors)
    return _against(name, basis, rates, error, own_error)


def _at_common_thresholds(rates: AttackRates, pooled_fpr: Reals | None) -> AttackRates:
    """The rates of an attacker who cannot fit a threshold to each person."""
    assert rates.at_zero is not None
    assert rates.tails is not None
    auc, tpr = rates.tails.rates(pooled_fpr)
    return AttackRates(rates.at_zero, auc, tpr, rates.at_zero)


def _against(
    name: str, basis: str, rates: AttackRates, error: float, own_error: float = 0.0
) -> AdversaryExposure:
    return AdversaryExposure(
        adversary=name,
        basis=basis,
        accuracy=rates.accuracy,
        auc=rates.auc,
        tpr=rates.tpr,
        error=error,
        own_accuracy=rates.at_zero,
        own_error=own_error,
    )


def error_sample(n_visits: Ints) -> Ints:
    """A sample of people with few and with many visits, small enough to be recomputed exactly."""
    order = np.argsort(n_visits, kind="stable")
    order = order[np.searchsorted(n_visits[order], 1) :]
    if not order.size:
        return order
    spread = order[np.unique(np.linspace(0, order.size - 1, _CHECKED).astype(np.int64))]
    kept = spread[np.cumsum(n_visits[spread]) <= _VISITS]
    return kept if kept.size else spread[:1]


def _names(traces: Traces) -> "np.ndarray[tuple[int], np.dtype[np.str_]]":
    return np.arange(traces.n_people).astype(np.str_) if traces.names is None else traces.names


def _notes(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, adversaries: Sequence[str]
) -> tuple[str, ...]:
    others = " and ".join(name for name in adversaries if name != "informed").capitalize()
    if challenger.table.everyone:
        exact = (
            "Each person is taken as the only target, in the table of everyone. Informed is exact: it rests "
            "on the true counts, and on no random groups, and is at the best threshold for each person. Its "
            "correct identifications are a ceiling for all attackers."
        )
        thresholds = (
            f"{others}: accuracy is that at the attack's own threshold; AUC and members found are "
            "at one threshold for all people, with everybody taken once as a member and once as a "
            "non-member; those of informed are at a threshold for each person, so the two cannot be compared."
        )
        return (exact, thresholds) if others else (exact,)
    sizes = _group_sizes(challenger, chain, groups, adversaries)
    size = max(sizes.values())
    unusual = ""
    if size < challenger.group_size:
        unusual = f" (of {challenger.group_size:,} in the plan; the pool is too small for more)"
    elif sizes.get("informed", size) < size:
        unusual = f" ({sizes['informed']:,} for informed; the pool is too small for more)"
    target = (
        f"Each person is taken as the only target, in groups of {size:,}{unusual}. "
        f"{_drawn_from(challenger, others.lower())} Correct identifications are at the threshold that the "
        "attack fixes itself, as leakgauge run shows them first; beside them are those at the best threshold "
        "for each person, which count for limits and for who is recognised. AUC and members found compare "
        "groups with and without the same person."
    )
    if challenger.n_splits > 1:
        target += (
            " A range is from the smallest to the largest number over the random draws of the people. Draws "
            "overlap, so the range is no standard error."
        )
    apart = (
        f"{others}: visits of others to a person's cells are taken as independent. Where the "
        "same people visit several of them, these numbers may be too high or too low: compare with leakgauge "
        "run."
    )
    if challenger.table.relation is Relation.REPLACE_ONE:
        ceiling = (
            "Informed is not an upper bound here, because another person takes the target's place "
            "(replace_one)."
        )
    else:
        ceiling = "Informed is an upper bound on any attacker, because a target is added or removed."
    counts = "Informed: the others' counts in a person's cells are taken as independent."
    return (target, ceiling, apart) if chain.shift_free else (target, ceiling, counts, apart)


def _drawn_from(challenger: Challenger, others: str) -> str:
    """From whom the groups of each attacker are drawn."""
    pool = f"the {challenger.people.pool.size:,} people of the pool"
    if challenger.n_splits == 1 or not others:
        return f"The others in them are drawn from {pool}."
    return (
        f"The others in them are drawn from {pool} for informed, and for {others} from all other people, "
        "with replacement, so that these numbers do not depend on who is left for the pool."
    )
