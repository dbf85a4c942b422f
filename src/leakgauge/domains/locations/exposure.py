"""How exposed each person is in counts per place and hour, computed without simulating releases."""

from collections.abc import Callable, Sequence

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.cell_exposure.cell_kinds import PLACES, CrowdCells
from leakgauge.domains.locations.cell_exposure.informed_optimum import informed_optimum_by_cells
from leakgauge.domains.locations.cell_exposure.score_distributions import (
    GroupDraws,
    believed_score_laws,
    informed_score_laws,
)
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.traces import Ints, Traces
from leakgauge.domains.locations.guarantee import guarantee_per_person
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profile_from_release
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.theory.score_sums import AttackRates, score_sum_rates

_CHECKED, _VISITS = 60, 1500  # people recomputed to measure the error, and their visits in total
_FINER = 4  # factor of the resolution when recomputing
_RATE_RANGE = 1e-9, 0.999  # of rates that an attacker estimates from a release

INFORMED = {
    Relation.ADD_REMOVE: (
        "the best possible attack, by somebody who knows everybody else in the group: nobody can do better, "
        "whatever they know"
    ),
    Relation.REPLACE_ONE: (
        "the best attack on the person's own cells, by somebody who knows everybody else in the group. It "
        "is not an upper bound: the person who replaces the target changes other cells too, which may "
        "reveal more"
    ),
}
AUXILIARY = "the likelihood attack by somebody who knows the person's trace and the traces of other people"
ZERO = "the likelihood attack by somebody who knows the person's trace and has seen one earlier release"

ADVERSARIES = ("informed", "auxiliary", "zero")  # the strongest first

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
        "people visit several of them these numbers may be too high: play with leakgauge run."
    )
    if relation is Relation.REPLACE_ONE:
        ceiling = (
            "Informed is not an upper bound here: it is one under add_remove, and this audit uses "
            "replace_one."
        )
    else:
        ceiling = "Informed is a ceiling under add_remove, as in this audit; under replace_one it is none."
    counts = "Informed: the others' counts in a person's cells are taken as independent."
    return (target, ceiling, apart) if chain.shift_free else (target, ceiling, counts, apart)
