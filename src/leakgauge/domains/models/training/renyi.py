"""Accounting by Renyi divergences for batches of a fixed size, drawn anew at every step."""

from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput

# Those of the code of Humphries et al. (2023), which has all whole ones from 10 to 1,199.
_BETWEEN = np.arange(1.01, 10.97, 0.05)
_LOW = np.arange(2, 25)
_WHOLE = np.append(_LOW, [*np.geomspace(27, 250, 20).astype(int), 400, 700, 1199])


def renyi_epsilon(ratio: float, delta: float, share: float, steps: int) -> float:
    """Epsilon at ``delta`` of so many releases, each of a random ``share`` of the rows.

    ``ratio`` is the noise over how far another row in a batch can move the sum. (Wang, Balle and
    Kasiviswanathan 2019, theorem 27; between whole orders the logarithm of the moment is convex, their
    corollary 10: a chord is above it.)
    """
    epsilon, order = _best(_LOW, ratio, delta, share, steps)
    if order > _LOW[-1] - 2:  # high orders take most of the time, and are rarely the best
        epsilon, _ = _best(_WHOLE, ratio, delta, share, steps)
    return epsilon


def _best(
    whole: npt.NDArray[np.int64], ratio: float, delta: float, share: float, steps: int
) -> tuple[float, float]:
    accounting = dp_accounting()
    accountant = accounting.rdp.RdpAccountant(whole.tolist(), accounting.NeighboringRelation.REPLACE_ONE)
    noise = accounting.GaussianDpEvent(ratio)
    # Only the share of the rows matters to the bound.
    accountant.compose(accounting.SampledWithoutReplacementDpEvent(1, share, noise), steps)
    orders = np.append(_BETWEEN, whole[whole >= 10])
    moments = np.interp(orders, np.append(1, whole), np.append(0.0, (whole - 1) * accountant.rdp))
    epsilon, order = accounting.rdp.compute_epsilon(orders, moments / (orders - 1), delta)
    return float(epsilon), float(order)


def dp_accounting() -> Any:
    """The library, where it is installed."""
    try:
        import dp_accounting
    except ImportError:
        raise BadInput("dp-accounting is not installed; run: pip install 'leakgauge[ml]'") from None
    return dp_accounting
