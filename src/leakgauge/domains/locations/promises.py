"""What noise on single visits promises to a person with many."""

from dataclasses import replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import composition, gdp
from leakgauge.theory.cells import Geometric, Laplace
from leakgauge.theory.losses import best_attack


def promise(noise: Mechanism, n_cells: int, relation: Relation) -> Guarantee:
    """The promise to a person who moves so many cells by one each: tight composition over them.

    Rounding, clamping and suppressing come after the noise, and can only take away.
    """
    stated = noise.guarantee
    match noise:
        case gaussian.Mechanism():
            mu = float(np.sqrt(n_cells) / noise.noise_scale)
            epsilon, curve = gdp.epsilon_at(mu, noise.delta), gdp.curve(mu)
        case laplace.Mechanism():
            epsilon = n_cells / noise.noise_scale
            curve = best_attack([(Laplace(1 / noise.noise_scale), n_cells)]).high
        case geometric.Mechanism():
            epsilon = n_cells / noise.noise_scale
            curve = best_attack([(Geometric(1 / noise.noise_scale), n_cells)]).high
        case _:
            raise BadInput(f"no promise of {type(noise).__module__} to a person is known; use laplace")
    return replace(
        stated,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=curve,
        relation=relation,
        unit=Unit.USER,
        sensitivity=float(n_cells),
        nominal_epsilon=stated.nominal_epsilon,
        nominal_unit=stated.unit,
    )


def stated_promise(stated: Guarantee, n_units: int, relation: Relation) -> Guarantee:
    """The promise of a pipeline of one's own to a person who owns so many of the units it protects.

    The whole curve is the best composition of which only epsilon and delta are known (Kairouz et al. 2015).
    """
    composed = composition.basic(stated, n_units)
    return replace(
        composed,
        relation=relation,
        unit=Unit.USER,
        nominal_epsilon=stated.epsilon,
        nominal_unit=stated.unit,
        curve=composition.optimal(stated, n_units) if n_units > 1 else None,
    )
