"""The guarantee to a person with many visits, composed from the noise on single counts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.exposure import PersonalGuarantees
from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, LeastProtected, Relation, Unit
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.plan_tables import LocationsChallengerTable, LocationsUserMechanismTable
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory import composition, tradeoff

SLACK = 1e-5  # added to delta by the composition
CLAIM_TOLERANCE = 1e-6  # relative difference of a stated epsilon and that of the noise
_ALL_UP_TO = 64  # numbers of cells up to this are all composed
_LARGER = 40  # how many of the larger numbers of cells are composed
_LEVELS = 10  # how many numbers of cells of each value, where there are several values
_MOST_KINDS = 2_000  # people with different numbers of cells, to compare all pairs of them
_MOST_COMPARED = 24  # people whose guarantees are all computed, to find the weakest


CellNumbers: TypeAlias = int | Sequence[int]  # of one person; a sequence: of the values 1, 2 and so on


def shifts_of(cells: CellNumbers) -> list[tuple[float, int]]:
    """By how much a person moves counts, and how many counts.

    >>> shifts_of(4), shifts_of([3, 1]), shifts_of([0, 2])
    ([(1.0, 4)], [(1.0, 3), (2.0, 1)], [(2.0, 2)])
    """
    numbers = (cells,) if isinstance(cells, int) else cells
    return [(float(value), int(n)) for value, n in enumerate(numbers, start=1) if n]


def largest_value_counts(value_counts: Ints) -> Ints:
    """The people, as rows of ``value_counts``, whom nobody exceeds in the cells of any value or more.

    Nobody has a weaker guarantee than all of them: a larger shift is easier to see. Where there are many,
    one row stands for all, with the largest numbers of each.
    """
    at_least = np.unique(np.cumsum(value_counts[:, ::-1], axis=1), axis=0)  # of the largest value first
    if len(at_least) > _MOST_KINDS:
        at_least = at_least.max(axis=0, keepdims=True)
    dominated = (at_least[None] >= at_least[:, None]).all(axis=2).sum(axis=1) > 1
    rows = at_least[~dominated]
    if len(rows) > _MOST_COMPARED:
        rows = rows.max(axis=0, keepdims=True)
    return np.diff(rows, axis=1, prepend=0)[:, ::-1]


def largest_replacement(value_counts: Ints) -> Ints:
    """As many cells of each value as anybody has who may replace a target, or more."""
    at_least = np.cumsum(value_counts[:, ::-1], axis=1).max(axis=0)
    return np.diff(at_least, prepend=0)[::-1]


def weakest_noise_guarantee(noise: AdditiveNoise, value_counts: Ints, relation: Relation) -> Guarantee:
    """The guarantee that holds for everybody; a row of ``value_counts`` for each person.

    Its epsilon is the largest, and no person's trade-off curve exceeds its own: with several values, who has
    the largest epsilon is not always who is recognised best.
    """
    rows = largest_value_counts(value_counts)
    each = [noise_guarantee(noise, row.tolist(), relation) for row in rows]
    weakest = max(each, key=lambda guarantee: guarantee.epsilon)
    curves = [one.curve for one in each if one.curve is not None]
    if len(curves) < len(each) or len(each) == 1:
        return weakest
    return replace(weakest, curve=tradeoff.upper_envelope(curves))


def noise_guarantee(noise: AdditiveNoise, cells: CellNumbers, relation: Relation) -> Guarantee:
    """The guarantee for a person with so many cells, by tight composition.

    Rounding, clamping and suppressing are post-processing, so they cannot weaken it.
    """
    shifts = shifts_of(cells)
    stated, best = noise.guarantee, noise.best_attack(shifts)
    epsilon = noise.epsilon_at(shifts, stated.delta)
    return replace(
        stated,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=None if best is None else best.high,
        relation=relation,
        unit=Unit.USER,
        sensitivity=sum(value * n for value, n in shifts),
        nominal_epsilon=stated.nominal_epsilon,
        nominal_unit=stated.unit,
        nominal_exact=stated.epsilon,
        composed=composed_epsilon(noise, cells),
    )


def one_cell_guarantee(noise: AdditiveNoise, value: int = 1) -> Guarantee:
    """The guarantee of the noise for one cell, whatever unit it was calibrated to."""
    delta = noise.guarantee.delta
    return Guarantee(epsilon=noise.epsilon_at([(float(value), 1)], delta), delta=delta)


def composed_epsilon(noise: AdditiveNoise, cells: CellNumbers) -> ComposedGuarantee:
    """Epsilon over a person's cells: from the guarantee of each cell, and from the noise distribution.

    Without the noise distribution, each cell counts with the largest value.
    """
    numbers = (cells,) if isinstance(cells, int) else cells
    n_cells = sum(numbers)
    part = one_cell_guarantee(noise, len(numbers))
    known = composition.with_slack(part, n_cells, SLACK)
    kairouz = min(known.epsilon, float(_summed_epsilon(noise, np.array([numbers]))[0]))
    tight = noise.epsilon_at(shifts_of(cells), known.delta)
    return ComposedGuarantee(
        parts=n_cells,
        delta=known.delta,
        kairouz=kairouz,
        tight=min(tight, kairouz),
        part_epsilon=part.epsilon,
    )


def _summed_epsilon(noise: AdditiveNoise, value_counts: Ints) -> Reals:
    """The sum of the epsilons of each person's cells, each with its value; infinite where delta is not 0."""
    parts = [one_cell_guarantee(noise, value) for value in range(1, value_counts.shape[1] + 1)]
    if any(part.delta > 0 for part in parts):
        return np.full(len(value_counts), np.inf)
    return np.asarray(value_counts @ np.array([part.epsilon for part in parts]), dtype=np.float64)


def stated_guarantee(stated: Guarantee, n_units: int, relation: Relation) -> Guarantee:
    """The guarantee of your own pipeline for a person to whom ``n_units`` of the protected units belong.

    The curve is the optimal composition when only epsilon and delta are known (Kairouz et al. 2015).
    """
    total, known = composition.basic(stated, n_units), composition.with_slack(stated, n_units, SLACK)
    return replace(
        total,
        relation=relation,
        unit=Unit.USER,
        nominal_epsilon=stated.epsilon,
        nominal_unit=stated.unit,
        curve=composition.optimal(stated, n_units) if n_units > 1 else None,
        composed=ComposedGuarantee(
            parts=n_units, delta=known.delta, kairouz=known.epsilon, part_epsilon=stated.epsilon
        ),
        claimed=True,
    )


def with_least_protected(guarantee: Guarantee, weakest: Guarantee) -> Guarantee:
    """The guarantee of the targets, with that of the least protected person of the data beside it."""
    assert weakest.composed is not None
    n_parts = weakest.composed.parts
    least = LeastProtected(epsilon=weakest.epsilon, accuracy=tradeoff.max_accuracy(weakest), parts=n_parts)
    return replace(guarantee, least_protected=least)


def guarantee_per_person(noise: AdditiveNoise, value_counts: Ints) -> PersonalGuarantees:
    """The guarantee composed over each person's own cells, with the stated epsilon for comparison.

    ``value_counts`` says how many cells each person has: by person, or people x values 1, 2 and so on.

    If there are many different numbers of cells, only some are composed from the noise distribution (all, if
    it has a closed form). The other people get the bound of the next larger number, or that of Kairouz et al.
    for the exact number if it is smaller. So no bound is too small.
    """
    value_counts = value_counts.reshape(len(value_counts), -1)
    distinct, which = np.unique(value_counts.sum(axis=1), return_inverse=True)
    part = one_cell_guarantee(noise, value_counts.shape[1])
    rows = [composition.with_slack(part, n, SLACK) for n in distinct.tolist()]
    kairouz, delta = (np.array([getattr(row, name) for row in rows]) for name in ("epsilon", "delta"))
    kairouz = np.minimum(kairouz[which], _summed_epsilon(noise, value_counts))
    some = value_counts if noise.closed_form else _rounded_up(value_counts)
    composed, row = np.unique(some, axis=0, return_inverse=True)
    from_noise = np.array(
        [composed_epsilon(noise, counts).tight if sum(counts) else 0.0 for counts in composed.tolist()]
    )
    tight = np.minimum(from_noise[row.ravel()], kairouz)
    stated = noise.guarantee
    return PersonalGuarantees(
        nominal=stated.epsilon if stated.nominal_epsilon is None else stated.nominal_epsilon,
        unit=stated.unit.value,
        delta=delta[which],
        kairouz=kairouz,
        tight=tight,
        achieved=stated.epsilon,
        part=part.epsilon,
    )


def claim_note(noise: AdditiveNoise) -> str | None:
    """What to say where a plan states an epsilon and a noise that gives a larger one; nothing elsewhere."""
    stated = noise.guarantee
    if stated.nominal_epsilon is None or stated.epsilon <= stated.nominal_epsilon * (1 + CLAIM_TOLERANCE):
        return None
    return (
        f"Warning: the plan states epsilon = {stated.nominal_epsilon:g} for one {stated.unit.value}, and its "
        f"noise gives {stated.epsilon:.4g}: less protection than stated. All numbers are about this noise."
    )


def _rounded_up(value_counts: Ints) -> Ints:
    """Numbers of cells that are at least as large, few of them different."""
    if value_counts.shape[1] == 1:
        some = _composed_numbers(np.unique(value_counts))
        return some[np.searchsorted(some, value_counts)]
    if len(np.unique(value_counts, axis=0)) <= _ALL_UP_TO:
        return value_counts
    shares = np.arange(1, _LEVELS + 1) / _LEVELS
    levels = [np.unique(np.quantile(column, shares, method="higher")) for column in value_counts.T]
    return np.stack([up[np.searchsorted(up, column)] for up, column in zip(levels, value_counts.T)], axis=1)


def _composed_numbers(numbers: Ints) -> Ints:
    """All small numbers, and some larger ones spaced evenly by logarithm, including the largest."""
    few, many = numbers[numbers <= _ALL_UP_TO], numbers[numbers > _ALL_UP_TO]
    if many.size <= _LARGER:
        return numbers
    wanted = np.geomspace(many[0], many[-1], _LARGER)
    places = np.searchsorted(many, wanted).clip(max=many.size - 1)
    return np.concatenate([few, many[np.unique(places)]])


def people_guarantee(
    release_steps: ReleaseChain | LocationsUserMechanismTable,
    traces: Traces,
    people: PopulationSplit,
    table: LocationsChallengerTable,
) -> Guarantee | None:
    """The guarantee for the target with the most visits, and for the person with the most visits beside it.

    None if the mechanism promises nothing. Under ``replace_one`` the person who replaces a target changes
    counts too, so the visits of the most active person of the pool are added.
    """
    replaces = table.relation is Relation.REPLACE_ONE
    composed: Callable[[Ints], Guarantee]
    if isinstance(release_steps, LocationsUserMechanismTable):
        if (stated := release_steps.stated) is None:
            return None
        owned = _units_per_person(traces, release_steps.unit)
        n_more = int(owned[people.in_pools].max()) if replaces else 0
        composed = lambda units: stated_guarantee(stated, int(units.max()) + n_more, table.relation)  # noqa: E731
    elif (noise := release_steps.noise) is None:
        return None
    else:
        owned = traces.value_counts
        more = largest_replacement(owned[people.in_pools]) if replaces else 0
        composed = lambda cells: weakest_noise_guarantee(noise, cells + more, table.relation)  # noqa: E731
    guarantee = composed(owned[people.targets])
    if (owned == owned[0]).all():
        return guarantee  # the same for everybody
    return with_least_protected(guarantee, composed(owned))


def _units_per_person(traces: Traces, unit: Unit) -> Ints:
    """How many of the protected units (visits, days, users) belong to each person."""
    match unit:
        case Unit.EVENT:
            return traces.value_counts.sum(axis=1)
        case Unit.USER_DAY:
            return traces.n_days
        case _:
            return np.count_nonzero(traces.visits_per_release, axis=1)
