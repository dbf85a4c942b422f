"""How exposed each person is in counts per place and hour, computed without simulating releases."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.crowd_cells import PLACES, CellMerging, CrowdCells
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.guarantee import guarantee_per_person
from leakgauge.domains.locations.knowledge import public_parameters
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profile_from_release
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.score_distributions import (
    GroupDraws,
    believed_score_laws,
    informed_score_laws,
    merge_known_counts,
    round_rates,
)
from leakgauge.mechanisms._additive import AttackBounds
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

_MOST = 72  # up to this many different numbers of cells, each optimum is bounded separately
_CHECKED_NUMBERS = 7  # numbers of cells checked if there are more
_FINER_OPTIMUM = 8  # factor of the resolution
_CHECKED, _VISITS = 60, 1500  # people recomputed to measure the error, and their visits in total
_FINER = 4  # factor of the resolution when recomputing
_RATE_RANGE = 1e-9, 0.999  # of rates that an attacker estimates from a release
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
ZERO = "the likelihood attack by an attacker who knows the person's trace and one earlier release"
INFORMED_OF_EVERYONE = (
    "the best possible attack, by an attacker who knows everyone else in the table: no attacker can do "
    "better, whatever it knows"
)
AUXILIARY_IN_TABLE = (
    "the likelihood attack, at its own threshold, by an attacker who knows the person's trace and those of "
    "other people of this table; means over {n} draws of them"
)
ZERO_FROM_TABLE = (
    "the likelihood attack, at its own threshold, by an attacker who knows the person's trace and has the "
    "release, from which all else is estimated; computed for one simulated release, and with the noise of "
    "another one the numbers of single people differ by more than the stated error"
)
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
    return AttackRates(accuracy, auc, tpr), error


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
    groups, crowd = _groups(challenger), _crowd_cells(challenger)
    sample = _sample(traces.n_visits)
    everyone = challenger.table.everyone
    basis = INFORMED_OF_EVERYONE if everyone else INFORMED[challenger.table.relation]

    def against(name: str) -> AdversaryExposure:
        begin(name)
        match name:
            case "informed":
                return _informed(chain, groups, crowd, sample, basis)
            case "auxiliary" if everyone:
                return _over_references(challenger, chain, groups, sample)
            case "zero" if everyone:
                solve = _zero(challenger, chain, groups)
                return _checked(name, ZERO_FROM_TABLE, solve, _with_fixed_counts(crowd), sample, own=True)
            case "auxiliary":
                return _checked(name, AUXILIARY, _auxiliary(challenger, chain, groups), crowd, sample)
            case "zero":
                return _checked(name, ZERO, _zero(challenger, chain, groups), crowd, sample)
            case _:
                raise BadInput(f"exposure: unknown attacker {name!r}; known: {', '.join(ADVERSARIES)}")

    results = tuple(map(against, adversaries))
    begin("promises")
    return Exposure(
        names=_names(traces),
        cells=traces.n_visits,
        against=results,
        notes=(*challenger.notes, *_notes(challenger, chain, groups)),
        setting="" if everyone else f"in random groups of {groups.n_in + 1:,}",
        promised=None
        if chain.noise is None
        else guarantee_per_person(chain.noise, _changed_cells(challenger)),
        utility=challenger.utility,
    )


def _changed_cells(challenger: Challenger) -> Ints:
    """How many cells change with each person; under ``replace_one`` also with the most active replacement."""
    visits = challenger.traces.n_visits
    if challenger.table.relation is Relation.ADD_REMOVE:
        return visits
    return visits + visits[challenger.people.pool].max()


def _crowd_cells(challenger: Challenger) -> CrowdCells:
    traces, people = challenger.traces, challenger.people
    if challenger.table.everyone:
        return CrowdCells.of_everyone(traces, people.reference)
    return CrowdCells.of(traces, people)


def _with_fixed_counts(crowd: CrowdCells) -> CrowdCells:
    """The same cells for attackers who do not know the counts, which are the same in every release."""
    step = _FIXED_RATES * max(1.0, crowd.in_pool.size / _FEW_CELLS)
    return replace(crowd, merging=CellMerging(np.array, partial(round_rates, step=step)))


def _groups(challenger: Challenger) -> GroupDraws:
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


def _informed(
    chain: ReleaseChain, groups: GroupDraws, crowd: CrowdCells, sample: Ints, basis: str
) -> AdversaryExposure:
    if chain.shift_free and not groups.replaces:
        rates, error = informed_optimum_by_cells(chain, crowd.traces.n_visits)
        return _against("informed", basis, rates, error)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_count()
        laws = informed_score_laws(chain, groups, kinds.visitors)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1)

    if groups.fixed:  # every count is known and always the same
        crowd = replace(crowd, merging=CellMerging(partial(merge_known_counts, chain), np.array))
    return _checked("informed", basis, solve, crowd, sample)


def _over_references(
    challenger: Challenger, chain: ReleaseChain, groups: GroupDraws, sample: Ints
) -> AdversaryExposure:
    """Auxiliary attackers with each of the references, and their means; the first is checked for errors."""
    basis, n = AUXILIARY_IN_TABLE.format(n=challenger.n_references), challenger.n_references
    parts = []
    for split in range(n):
        one = challenger.with_reference(split)
        crowd, solve = _with_fixed_counts(_crowd_cells(one)), _auxiliary(one, chain, groups)
        checked = sample if split == 0 else sample[:0]
        parts.append(_checked("auxiliary", basis, solve, crowd, checked, own=True))
    return replace(
        parts[0],
        accuracy=np.mean([part.accuracy for part in parts], axis=0),
        auc=np.mean([part.auc for part in parts], axis=0),
        tpr=np.mean([part.tpr for part in parts], axis=0),
        split_accuracy=np.stack([part.accuracy for part in parts]),
    )


def _auxiliary(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> Solve:
    rates = rates_from_reference(challenger.reference.traces)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_belief(crowd.believed(rates))
        assert kinds.rates is not None
        laws = believed_score_laws(chain, groups, kinds.visitors, kinds.rates)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1, common=groups.fixed)

    return solve


def _zero(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> Solve:
    if challenger.table.everyone:
        public, release = replace(public_parameters(challenger), n_targets=1), challenger.whole_table()
    else:
        public, release = public_parameters(challenger), challenger.earlier(1)[1].whole[0]
    rates = np.clip(profile_from_release(release, public).rates, *_RATE_RANGE)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_belief(np.stack([rates for _ in PLACES]))
        assert kinds.rates is not None
        laws = believed_score_laws(chain, groups, kinds.visitors, kinds.rates)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1, common=groups.fixed)

    return solve


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
    error = 0.0
    if sample.size:
        exact = solve(crowd.only(sample), True)
        exact = _at_common_thresholds(exact, pooled_fpr) if own else exact
        error = max(
            float(np.max(np.abs(getattr(rates, metric)[sample] - getattr(exact, metric))))
            for metric in ("accuracy", "auc", "tpr")
        )
    return _against(name, basis, rates, error)


def _at_common_thresholds(rates: AttackRates, pooled_fpr: Reals | None) -> AttackRates:
    """The rates of an attacker who cannot fit a threshold to each person."""
    assert rates.at_zero is not None
    assert rates.tails is not None
    auc, tpr = rates.tails.rates(pooled_fpr)
    return AttackRates(rates.at_zero, auc, tpr)


def _against(name: str, basis: str, rates: AttackRates, error: float) -> AdversaryExposure:
    return AdversaryExposure(
        adversary=name, basis=basis, accuracy=rates.accuracy, auc=rates.auc, tpr=rates.tpr, error=error
    )


def _sample(n_visits: Ints) -> Ints:
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


def _notes(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> tuple[str, ...]:
    if challenger.table.everyone:
        exact = (
            "Each person is taken as the only target, in the table of everyone. Informed is exact: it rests "
            "on the true counts, and on no random groups. It is a ceiling for all attackers."
        )
        thresholds = (
            "Auxiliary and zero: accuracy is that at the attack's own threshold; AUC and members found are "
            "at one threshold for all people, with everybody taken once as a member and once as a non-member."
        )
        return exact, thresholds
    target = (
        f"Each person is taken as the only target, in groups of {groups.n_in + 1:,} drawn from "
        f"{groups.n_people:,} others."
    )
    apart = (
        "Auxiliary and zero: visits of others to a person's cells are taken as independent. Where many "
        "people visit several of them, these numbers may be too high for such groups: compare with leakgauge "
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
