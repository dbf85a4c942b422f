"""The guarantee to a person with many visits, composed from the noise on single counts."""

from dataclasses import replace

import numpy as np

from leakgauge.core.exposure import PersonalGuarantees
from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, Relation, Unit
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory import composition

SLACK = 1e-5  # of delta, beyond what the cells give up themselves
_SINGLY = 64  # numbers of cells up to this are composed one by one
_BEYOND = 40  # numbers beyond


def noise_guarantee(noise: AdditiveNoise, n_cells: int, relation: Relation) -> Guarantee:
    """The promise to a person who moves so many cells by one each: tight composition over them.

    Rounding, clamping and suppressing come after the noise, and can only take away.
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
        composed=composed_epsilon(noise, n_cells),
    )


def one_cell_guarantee(noise: AdditiveNoise) -> Guarantee:
    """What noise promises to one visit, whatever unit it was made for."""
    delta = noise.guarantee.delta
    return Guarantee(epsilon=noise.epsilon_at([(1.0, 1)], delta), delta=delta)


def composed_epsilon(noise: AdditiveNoise, n_cells: int) -> ComposedGuarantee:
    """Epsilon over so many cells from what each promises and from the noise distribution, with slack."""
    known = composition.with_slack(one_cell_guarantee(noise), n_cells, SLACK)
    tight = noise.epsilon_at([(1.0, n_cells)], known.delta)
    return ComposedGuarantee(
        parts=n_cells, delta=known.delta, kairouz=known.epsilon, tight=min(tight, known.epsilon)
    )


def stated_guarantee(stated: Guarantee, n_units: int, relation: Relation) -> Guarantee:
    """The promise of your own pipeline to a person who owns so many of the units it protects.

    The whole curve is the best composition of which only epsilon and delta are known (Kairouz et al. 2015).
    """
    total, known = composition.basic(stated, n_units), composition.with_slack(stated, n_units, SLACK)
    return replace(
        total,
        relation=relation,
        unit=Unit.USER,
        nominal_epsilon=stated.epsilon,
        nominal_unit=stated.unit,
        curve=composition.optimal(stated, n_units) if n_units > 1 else None,
        composed=ComposedGuarantee(parts=n_units, delta=known.delta, kairouz=known.epsilon),
    )


def guarantee_per_person(noise: AdditiveNoise, n_cells: Ints) -> PersonalGuarantees:
    """The composition over each person's own cells, beside the epsilon on the label.

    Of many different numbers of cells, only some are composed by the law (all, where that is a formula): a
    person gets the bound of the next larger one, or of Kairouz et al. for the exact number where that is
    better. So no bound is too small.
    """
    distinct, which = np.unique(n_cells, return_inverse=True)
    rows = [composition.with_slack(one_cell_guarantee(noise), n, SLACK) for n in distinct.tolist()]
    kairouz, delta = (np.array([getattr(row, name) for row in rows]) for name in ("epsilon", "delta"))
    some = distinct if noise.closed_form else _composed_numbers(distinct)
    law = np.array([composed_epsilon(noise, n).tight if n else 0.0 for n in some.tolist()], dtype=np.float64)
    tight = np.minimum(law[np.searchsorted(some, distinct)], kairouz)
    stated = noise.guarantee
    return PersonalGuarantees(
        nominal=stated.epsilon if stated.nominal_epsilon is None else stated.nominal_epsilon,
        unit=stated.unit.value,
        delta=delta[which],
        kairouz=kairouz[which],
        tight=tight[which],
    )


def _composed_numbers(numbers: Ints) -> Ints:
    """All small numbers, a few of the larger ones evenly by their logarithms, and the largest."""
    few, many = numbers[numbers <= _SINGLY], numbers[numbers > _SINGLY]
    if many.size <= _BEYOND:
        return numbers
    wanted = np.geomspace(many[0], many[-1], _BEYOND)
    places = np.searchsorted(many, wanted).clip(max=many.size - 1)
    return np.concatenate([few, many[np.unique(places)]])
