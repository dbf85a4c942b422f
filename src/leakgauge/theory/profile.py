"""Trade-off curves of mechanisms whose delta is known at many epsilons."""

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Curve


def from_profile(epsilons: Reals, deltas: Reals) -> Curve:
    """What is reached at most while (epsilon, delta) holds, in both directions, for each of these pairs.

    A pair is two lines (Kairouz, Oh and Viswanath 2015): TPR <= delta + e^epsilon FPR, and its mirror image
    1 - FPR <= delta + e^epsilon (1 - TPR). The curve is the lowest of all lines: never below the exact one,
    and close to it where the epsilons are many.

    >>> from_profile(np.array([np.log(3)]), np.array([0.1])).tpr.round(3).tolist()
    [0.1, 0.775, 1.0, 1.0]
    """
    rising = epsilons.size > 0 and epsilons[0] >= 0 and bool((np.diff(epsilons) > 0).all())
    if not (rising and epsilons.shape == deltas.shape and ((deltas >= 0) & (deltas <= 1)).all()):
        raise BadInput("a privacy profile needs epsilons that rise from 0, and a delta in [0, 1] for each")
    steep, flat = np.exp(epsilons), np.exp(-epsilons[::-1])
    slopes = np.concatenate([[0.0], flat[flat < 1], steep])
    starts = np.concatenate([[1.0], (1 - flat * (1 - deltas[::-1]))[flat < 1], deltas])
    crossings = -np.diff(starts) / np.diff(slopes)
    fpr = np.unique(np.clip(np.append(crossings, [0.0, 1.0]), 0.0, 1.0))
    tpr = np.array([(starts + slopes * rate).min() for rate in fpr])
    return Curve(fpr, np.maximum.accumulate(tpr))
