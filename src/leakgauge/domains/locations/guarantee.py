"""The guarantee to a person with many visits, composed from the noise on single counts."""

from dataclasses import replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import PersonalGuarantees
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.domains.locations.data.traces import Ints
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import composition, gdp, tradeoff
from leakgauge.theory.loss_composition import best_attack
from leakgauge.theory.privacy_loss import GeometricCell, LaplaceCell

SLACK = 1e-5  # of delta, beyond what the cells give up themselves


def noise_guarantee(noise: Mechanism, n_cells: int, relation: Relation) -> Guarantee:
    """The promise to a person who moves so many cells by one each: tight composition over them.

    Rounding, clamping and suppressing come after the noise, and can only take away.
    """
    stated, one = noise.guarantee, one_cell_guarantee(noise)
    if isinstance(noise, gaussian.Mechanism):
        epsilon = gdp.epsilon_at(float(np.sqrt(n_cells)) / noise.noise_scale, noise.delta)
    else:
        epsilon = n_cells * one.epsilon
    return replace(
        stated,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=_tradeoff_curve(noise, n_cells),
        relation=relation,
        unit=Unit.USER,
        sensitivity=float(n_cells),
        nominal_epsilon=stated.nominal_epsilon,
        nominal_unit=stated.unit,
        composed=composed_epsilon(noise, n_cells),
    )


def one_cell_guarantee(noise: Mechanism) -> Guarantee:
    """What noise promises to one visit, whatever unit it was made for."""
    match noise:
        case gaussian.Mechanism():
            return Guarantee(epsilon=gdp.epsilon_at(1 / noise.noise_scale, noise.delta), delta=noise.delta)
        case laplace.Mechanism() | geometric.Mechanism():
            return Guarantee(epsilon=1 / noise.noise_scale)
        case _:
            raise BadInput(f"no promise of {type(noise).__module__} to a person is known; use laplace")


def composed_epsilon(noise: Mechanism, n_cells: int) -> ComposedGuarantee:
    """Epsilon over so many cells, from what each promises and from the law, with some slack in delta."""
    known = composition.with_slack(one_cell_guarantee(noise), n_cells, SLACK)
    if isinstance(noise, gaussian.Mechanism):
        tight = gdp.epsilon_at(float(np.sqrt(n_cells)) / noise.noise_scale, known.delta)
    else:
        tight = tradeoff.epsilon_at(_tradeoff_curve(noise, n_cells), known.delta)
    return ComposedGuarantee(
        parts=n_cells, delta=known.delta, kairouz=known.epsilon, tight=min(tight, known.epsilon)
    )


def stated_guarantee(stated: Guarantee, n_units: int, relation: Relation) -> Guarantee:
    """The promise of a pipeline of one's own to a person who owns so many of the units it protects.

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


def _tradeoff_curve(noise: Mechanism, n_cells: int) -> TradeoffCurve:
    """The best attack on so many cells, never below the exact one."""
    match noise:
        case gaussian.Mechanism():
            return gdp.curve(float(np.sqrt(n_cells)) / noise.noise_scale)
        case geometric.Mechanism():
            return best_attack([(GeometricCell(1 / noise.noise_scale), n_cells)]).high
        case laplace.Mechanism():
            return best_attack([(LaplaceCell(1 / noise.noise_scale), n_cells)]).high
        case _:
            raise BadInput(f"no curve of {type(noise).__module__} is known; use laplace")


_SINGLY = 64  # numbers of cells up to this are composed one by one
_BEYOND = 40  # numbers beyond


def guarantee_per_person(noise: Mechanism, n_cells: Ints) -> PersonalGuarantees:
    """The composition over each person's own cells, beside the epsilon on the label.

    Of many different numbers of cells, only some are composed by the law (all, where that is a formula): a
    person gets the bound of the next larger one, or of Kairouz et al. for the exact number where that is
    better. So no bound is too small.
    """
    distinct, which = np.unique(n_cells, return_inverse=True)
    rows = [composition.with_slack(one_cell_guarantee(noise), n, SLACK) for n in distinct.tolist()]
    kairouz, delta = (np.array([getattr(row, name) for row in rows]) for name in ("epsilon", "delta"))
    some = distinct if isinstance(noise, gaussian.Mechanism) else _composed_numbers(distinct)
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
