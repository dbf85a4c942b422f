"""Concentrated differential privacy: what a rho allows at a delta."""

import numpy as np

from leakgauge.core.errors import BadInput


def epsilon_at(rho: float, delta: float) -> float:
    """An epsilon that rho-zCDP keeps at a delta; those of n releases add up in rho.

    The least over orders a > 1 of a rho + (log(1 / delta) + (a - 1) log(1 - 1 / a) - log a) / (a - 1)
    (Bun and Steinke 2016; in this form, Canonne, Kamath and Steinke 2020). Every order gives a sound one.

    >>> round(epsilon_at(rho=0.5, delta=1e-5), 4)
    4.7284
    """
    from scipy.optimize import minimize_scalar

    if not 0 <= rho < np.inf:
        raise BadInput(f"rho must be >= 0 and finite, got {rho}")
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}")
    if rho == 0:
        return 0.0

    def at(log_excess: float) -> float:
        excess = np.exp(log_excess)  # of the order over 1
        order = 1 + excess
        shrink = np.log(1 / delta) - np.log(order)
        return float(order * rho + np.log1p(-1 / order) + shrink / excess)

    near = 0.5 * np.log(np.log(1 / delta) / rho)  # the best order without the small terms
    found = minimize_scalar(at, bounds=(near - 12, near + 12), method="bounded", options={"xatol": 1e-10})
    return max(float(found.fun), 0.0)
