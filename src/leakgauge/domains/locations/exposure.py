"""How exposed each person is in counts per place and hour, computed without simulating releases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.guarantee import guarantee_per_person
from leakgauge.domains.locations.mobility.cell_rates import ReferenceRates, rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profile_from_release
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.score_distributions import (
    GroupDraws,
    believed_score_laws,
    informed_score_laws,
    round_counts,
    round_rates,
)
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.mechanisms._additive import AttackBounds
from leakgauge.theory.characteristic_functions import FPR
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

PLACES = TARGET, POOL, REFERENCE = range(3)  # the part of the population that a person belongs to
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
ADVERSARIES = ("informed", "auxiliary", "zero")  # the strongest first


@dataclass(frozen=True, eq=False)
class CellKinds:
    """Kinds of cells by number of other visitors and assumed rate, and how many of each kind people visit."""

    visitors: Ints  # of each kind
    rates: Reals | None  # assumed by the attacker, of each kind
    cells: csr_array  # people x kinds


@dataclass(frozen=True, eq=False)
class CrowdCells:
    """The cells of all people, and how many others of the pool visit them."""

    traces: Traces
    places: npt.NDArray[np.int8]  # of the people: target, pool or reference
    in_pool: Ints  # how many of the pool visit each cell

    @classmethod
    def of(cls, traces: Traces, people: PopulationSplit) -> "CrowdCells":
        places = np.full(traces.n_people, TARGET, dtype=np.int8)
        places[people.pool], places[people.reference] = POOL, REFERENCE
        in_pool = traces.visits.indices[np.repeat(places == POOL, traces.n_visits)]
        return cls(traces, places, np.bincount(in_pool, minlength=traces.map.n_cells).astype(np.int64))

    def only(self, people: Ints) -> "CrowdCells":
        """The same pool, with the cells of some people only."""
        return CrowdCells(self.traces.of(people), self.places[people], self.in_pool)

    @property
    def others(self) -> Ints:
        """How many of the pool visit each cell, without the person itself: places x cells."""
        return np.stack([np.maximum(self.in_pool - (place == POOL), 0) for place in PLACES])

    def by_count(self, *, exactly: bool = False) -> CellKinds:
        """Kinds by the number of others only."""
        counts = self.others if exactly else round_counts(self.others)
        kinds, cells = self._kinds(counts.astype(np.float64))
        return CellKinds(kinds.astype(np.int64), None, cells)

    def by_belief(self, rates: Reals, *, exactly: bool = False) -> CellKinds:
        """Kinds by the number of others and by the rate that an attacker assumes: places x cells."""
        counts = self.others if exactly else round_counts(self.others)
        kinds, cells = self._kinds(counts + 1j * (rates if exactly else round_rates(rates)))
        return CellKinds(kinds.real.astype(np.int64), kinds.imag, cells)

    def believed(self, rates: ReferenceRates) -> Reals:
        """The rates from the reference without the person itself: places x cells."""
        cells = np.arange(self.in_pool.size)
        return np.stack([rates(cells, weight) for weight in (1.0, 1.0, 0.0)])

    def _kinds(self, keys: npt.NDArray[np.inexact[Any]]) -> tuple[npt.NDArray[Any], csr_array]:
        """The distinct keys (places x cells) of visited cells, and the matrix people x keys."""
        visits, n_cells = self.traces.visits, keys.shape[1]
        owners = np.repeat(self.places, self.traces.n_visits)
        seen = np.zeros(keys.shape, dtype=bool)
        for place in PLACES:
            seen[place, visits.indices[owners == place]] = True
        distinct, kind = np.unique(keys[seen], return_inverse=True)
        kinds = np.zeros(keys.size, dtype=np.int32)
        kinds[np.flatnonzero(seen)] = kind
        kind_of_visit = kinds[owners.astype(np.int64) * n_cells + visits.indices]
        ones = np.ones(kind_of_visit.size, dtype=np.uint8)
        return distinct, csr_array(
            (ones, kind_of_visit, visits.indptr), shape=(self.traces.n_people, distinct.size)
        )


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

    Each person is taken as the only target, with a group drawn from the rest of the pool. ``begin`` is called
    with the name of each step.
    """
    chain, traces = challenger.chain, challenger.traces
    if not isinstance(chain, ReleaseChain):
        raise BadInput(
            "exposure needs the noise distribution, and that of mechanism 'own' is not known; "
            "simulate releases instead: leakgauge run with the same plan"
        )
    groups = _groups(challenger)
    crowd = CrowdCells.of(traces, challenger.people)
    sample = _sample(traces.n_visits)
    relation = challenger.table.relation

    def against(name: str) -> AdversaryExposure:
        begin(name)
        match name:
            case "informed":
                return _informed(chain, groups, crowd, sample, INFORMED[relation])
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
        notes=(*challenger.notes, *_notes(chain, groups, relation)),
        promised=None
        if chain.noise is None
        else guarantee_per_person(chain.noise, _changed_cells(challenger)),
    )


def _changed_cells(challenger: Challenger) -> Ints:
    """How many cells change with each person; under ``replace_one`` also with the most active replacement."""
    visits = challenger.traces.n_visits
    if challenger.table.relation is Relation.ADD_REMOVE:
        return visits
    return visits + visits[challenger.people.pool].max()


def _groups(challenger: Challenger) -> GroupDraws:
    n_people = int(challenger.people.pool.size) - 1
    n_replacements = int(challenger.table.relation is Relation.REPLACE_ONE)
    n_in = min(challenger.table.group_size - 1, n_people - n_replacements)
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
        kinds = crowd.by_count(exactly=exactly)
        laws = informed_score_laws(chain, groups, kinds.visitors)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1)

    return _checked("informed", basis, solve, crowd, sample)


def _auxiliary(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> Solve:
    rates = rates_from_reference(challenger.reference.traces)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_belief(crowd.believed(rates), exactly=exactly)
        assert kinds.rates is not None
        laws = believed_score_laws(chain, groups, kinds.visitors, kinds.rates)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1)

    return solve


def _zero(challenger: Challenger, chain: ReleaseChain, groups: GroupDraws) -> Solve:
    table = challenger.table
    public = PublicParameters(
        chain, table.group_size, challenger.n_targets, table.relation, challenger.traces.map
    )
    _, block = challenger.earlier(1)
    rates = np.clip(profile_from_release(block.whole[0], public).rates, *_RATE_RANGE)

    def solve(crowd: CrowdCells, exactly: bool) -> AttackRates:
        kinds = crowd.by_belief(np.stack([rates for _ in PLACES]), exactly=exactly)
        assert kinds.rates is not None
        laws = believed_score_laws(chain, groups, kinds.visitors, kinds.rates)
        return score_sum_rates(laws, kinds.cells, finer=_FINER if exactly else 1)

    return solve


def _checked(name: str, basis: str, solve: Solve, crowd: CrowdCells, sample: Ints) -> AdversaryExposure:
    """Compute the rates of all people, and recompute a sample exactly to measure the error."""
    rates = solve(crowd, False)
    error = 0.0
    if sample.size:
        exact = solve(crowd.only(sample), True)
        error = max(
            float(np.max(np.abs(getattr(rates, metric)[sample] - getattr(exact, metric))))
            for metric in ("accuracy", "auc", "tpr")
        )
    return _against(name, basis, rates, error)


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


def _notes(chain: ReleaseChain, groups: GroupDraws, relation: Relation) -> tuple[str, ...]:
    target = (
        f"Each person is taken as the only target, in groups of {groups.n_in + 1:,} drawn from "
        f"{groups.n_people:,} others."
    )
    apart = (
        "Auxiliary and zero: visits of others to a person's cells are taken as independent. Where many "
        "people visit several of them, these numbers may be too high: compare with leakgauge run."
    )
    if relation is Relation.REPLACE_ONE:
        ceiling = (
            "Informed is not an upper bound here, because another person takes the target's place "
            "(replace_one)."
        )
    else:
        ceiling = "Informed is an upper bound on any attacker, because a target is added or removed."
    counts = "Informed: the others' counts in a person's cells are taken as independent."
    return (target, ceiling, apart) if chain.shift_free else (target, ceiling, counts, apart)
