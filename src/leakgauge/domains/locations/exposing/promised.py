"""What the noise promises to each person, by how many cells they move."""

import numpy as np

from leakgauge.core.exposure import Promised
from leakgauge.core.game import Mechanism
from leakgauge.domains.locations.promises import SLACK, composed, one_cell
from leakgauge.domains.locations.traces import Ints
from leakgauge.mechanisms import gaussian
from leakgauge.theory import composition

_SINGLY = 64  # numbers of cells up to this are composed one by one
_BEYOND = 40  # numbers beyond


def promised(noise: Mechanism, n_cells: Ints) -> Promised:
    """The composition over each person's own cells, beside the epsilon on the label.

    Of many different numbers of cells, only some are composed by the law (all, where that is a formula): a
    person gets the bound of the next larger one, or of Kairouz et al. for the exact number where that is
    better. So no bound is too small.
    """
    distinct, which = np.unique(n_cells, return_inverse=True)
    rows = [composition.with_slack(one_cell(noise), n, SLACK) for n in distinct.tolist()]
    kairouz, delta = (np.array([getattr(row, name) for row in rows]) for name in ("epsilon", "delta"))
    some = distinct if isinstance(noise, gaussian.Mechanism) else _some(distinct)
    law = np.array([composed(noise, n).tight if n else 0.0 for n in some.tolist()], dtype=np.float64)
    tight = np.minimum(law[np.searchsorted(some, distinct)], kairouz)
    stated = noise.guarantee
    return Promised(
        nominal=stated.epsilon if stated.nominal_epsilon is None else stated.nominal_epsilon,
        unit=stated.unit.value,
        delta=delta[which],
        kairouz=kairouz[which],
        tight=tight[which],
    )


def _some(numbers: Ints) -> Ints:
    """All small numbers, a few of the larger ones evenly by their logarithms, and the largest."""
    few, many = numbers[numbers <= _SINGLY], numbers[numbers > _SINGLY]
    if many.size <= _BEYOND:
        return numbers
    wanted = np.geomspace(many[0], many[-1], _BEYOND)
    places = np.searchsorted(many, wanted).clip(max=many.size - 1)
    return np.concatenate([few, many[np.unique(places)]])
