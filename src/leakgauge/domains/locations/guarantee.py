"""The guarantee to a person with many visits, composed from the noise on single counts."""

from dataclasses import replace

import numpy as np

from leakgauge.core.exposure import PersonalGuarantees
from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, LeastProtected, Relation, Unit
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory import composition, tradeoff

SLACK = 1e-5  # added to delta by the composition
CLAIM_TOLERANCE = 1e-6  # relative difference of a stated epsilon and that of the noise
_ALL_UP_TO = 64  # numbers of cells up to this are all composed
_LARGER = 40  # how many of the larger numbers of cells are composed


def noise_guarantee(noise: AdditiveNoise, n_cells: int, relation: Relation) -> Guarantee:
    """The guarantee for a person who changes ``n_cells`` counts by one each, by tight composition.

    Rounding, clamping and suppressing are post-processing, so they cannot weaken it.
    """
    stated, best = noise.guarantee, noise.best_attack([(1.0, n_cells)])
    epsilon = noise.epsilon_at([(1.0, n_cells)], stated.delta)
    return replace(
        stated,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=None if best is None else best.high,
        relation=relation,
        unit=Unit.USER,
        sensitivity=float(n_cells),
        nominal_epsilon=stated.nominal_epsilon,
        nominal_unit=stated.unit,
        nominal_exact=stated.epsilon,
        composed=composed_epsilon(noise, n_cells),
    )


def one_cell_guarantee(noise: AdditiveNoise) -> Guarantee:
    """The guarantee of the noise for one visit, whatever unit it was calibrated to."""
    delta = noise.guarantee.delta
    return Guarantee(epsilon=noise.epsilon_at([(1.0, 1)], delta), delta=delta)


def composed_epsilon(noise: AdditiveNoise, n_cells: int) -> ComposedGuarantee:
    """Epsilon over ``n_cells`` cells: from the guarantee of each cell, and from the noise distribution."""
    part = one_cell_guarantee(noise)
    known = composition.with_slack(part, n_cells, SLACK)
    tight = noise.epsilon_at([(1.0, n_cells)], known.delta)
    return ComposedGuarantee(
        parts=n_cells,
        delta=known.delta,
        kairouz=known.epsilon,
        tight=min(tight, known.epsilon),
        part_epsilon=part.epsilon,
    )


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
    )


def with_least_protected(guarantee: Guarantee, weakest: Guarantee, n_parts: int) -> Guarantee:
    """The guarantee of the targets, with that of the person of the data who owns most parts beside it."""
    least = LeastProtected(epsilon=weakest.epsilon, accuracy=tradeoff.max_accuracy(weakest), parts=n_parts)
    return replace(guarantee, least_protected=least)


def guarantee_per_person(noise: AdditiveNoise, n_cells: Ints) -> PersonalGuarantees:
    """The guarantee composed over each person's own cells, with the stated epsilon for comparison.

    If there are many different numbers of cells, only some are composed from the noise distribution (all, if
    it has a closed form). The other people get the bound of the next larger number, or that of Kairouz et al.
    for the exact number if it is smaller. So no bound is too small.
    """
    distinct, which = np.unique(n_cells, return_inverse=True)
    part = one_cell_guarantee(noise)
    rows = [composition.with_slack(part, n, SLACK) for n in distinct.tolist()]
    kairouz, delta = (np.array([getattr(row, name) for row in rows]) for name in ("epsilon", "delta"))
    some = distinct if noise.closed_form else _composed_numbers(distinct)
    from_noise = np.array(
        [composed_epsilon(noise, n).tight if n else 0.0 for n in some.tolist()], dtype=np.float64
    )
    tight = np.minimum(from_noise[np.searchsorted(some, distinct)], kairouz)
    stated = noise.guarantee
    return PersonalGuarantees(
        nominal=stated.epsilon if stated.nominal_epsilon is None else stated.nominal_epsilon,
        unit=stated.unit.value,
        delta=delta[which],
        kairouz=kairouz[which],
        tight=tight[which],
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


def _composed_numbers(numbers: Ints) -> Ints:
    """All small numbers, and some larger ones spaced evenly by logarithm, including the largest."""
    few, many = numbers[numbers <= _ALL_UP_TO], numbers[numbers > _ALL_UP_TO]
    if many.size <= _LARGER:
        return numbers
    wanted = np.geomspace(many[0], many[-1], _LARGER)
    places = np.searchsorted(many, wanted).clip(max=many.size - 1)
    return np.concatenate([few, many[np.unique(places)]])
