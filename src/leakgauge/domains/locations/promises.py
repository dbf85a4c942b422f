"""What noise on single visits promises to a person with many."""

from dataclasses import replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Composed, Curve, Guarantee, Relation, Unit
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import composition, gdp, tradeoff
from leakgauge.theory.cells import Geometric, Laplace
from leakgauge.theory.losses import best_attack

SLACK = 1e-5  # of delta, beyond what the cells give up themselves


def promise(noise: Mechanism, n_cells: int, relation: Relation) -> Guarantee:
    """The promise to a person who moves so many cells by one each: tight composition over them.

    Rounding, clamping and suppressing come after the noise, and can only take away.
    """
    stated, one = noise.guarantee, one_cell(noise)
    if isinstance(noise, gaussian.Mechanism):
        epsilon = gdp.epsilon_at(float(np.sqrt(n_cells)) / noise.noise_scale, noise.delta)
    else:
        epsilon = n_cells * one.epsilon
    return replace(
        stated,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=_curve(noise, n_cells),
        relation=relation,
        unit=Unit.USER,
        sensitivity=float(n_cells),
        nominal_epsilon=stated.nominal_epsilon,
        nominal_unit=stated.unit,
        composed=composed(noise, n_cells),
    )


def one_cell(noise: Mechanism) -> Guarantee:
    """What noise promises to one visit, whatever unit it was made for."""
    match noise:
        case gaussian.Mechanism():
            return Guarantee(epsilon=gdp.epsilon_at(1 / noise.noise_scale, noise.delta), delta=noise.delta)
        case laplace.Mechanism() | geometric.Mechanism():
            return Guarantee(epsilon=1 / noise.noise_scale)
        case _:
            raise BadInput(f"no promise of {type(noise).__module__} to a person is known; use laplace")


def composed(noise: Mechanism, n_cells: int) -> Composed:
    """Epsilon over so many cells, from what each promises and from the law, with some slack in delta."""
    known = composition.with_slack(one_cell(noise), n_cells, SLACK)
    if isinstance(noise, gaussian.Mechanism):
        tight = gdp.epsilon_at(float(np.sqrt(n_cells)) / noise.noise_scale, known.delta)
    else:
        tight = tradeoff.epsilon_at(_curve(noise, n_cells), known.delta)
    return Composed(parts=n_cells, delta=known.delta, kairouz=known.epsilon, tight=min(tight, known.epsilon))


def stated_promise(stated: Guarantee, n_units: int, relation: Relation) -> Guarantee:
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
        composed=Composed(parts=n_units, delta=known.delta, kairouz=known.epsilon),
    )


def _curve(noise: Mechanism, n_cells: int) -> Curve:
    """The best attack on so many cells, never below the exact one."""
    match noise:
        case gaussian.Mechanism():
            return gdp.curve(float(np.sqrt(n_cells)) / noise.noise_scale)
        case geometric.Mechanism():
            return best_attack([(Geometric(1 / noise.noise_scale), n_cells)]).high
        case laplace.Mechanism():
            return best_attack([(Laplace(1 / noise.noise_scale), n_cells)]).high
        case _:
            raise BadInput(f"no curve of {type(noise).__module__} is known; use laplace")
