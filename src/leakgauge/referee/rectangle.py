"""From bounds on both error rates to a bound on epsilon."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals


def epsilon_of_errors(fpr_high: npt.ArrayLike, fnr_high: npt.ArrayLike, delta: float) -> Reals:
    """Smallest epsilon that allows both error rates at once, given upper bounds of them.

    The two lines of (epsilon, delta)-DP (Kairouz, Oh and Viswanath 2015) as used for audits by Jagielski,
    Ullman and Oprea (2020). No evidence gives 0.

    >>> float(epsilon_of_errors(0.25, 0.25, 0.0).round(4))
    1.0986
    """
    fpr, fnr = np.asarray(fpr_high, float), np.asarray(fnr_high, float)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1 - fnr - delta, 0)) - np.log(fpr)
        backward = np.log(np.maximum(1 - fpr - delta, 0)) - np.log(fnr)
    return np.maximum(np.maximum(forward, backward), 0.0)
