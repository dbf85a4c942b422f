"""What a guarantee allows each metric to reach, by the name of the metric."""

from collections.abc import Sequence

import numpy as np

from leakgauge.core.guarantee import Guarantee, Unit
from leakgauge.theory import tradeoff
from leakgauge.theory.advantage import humphries


def allowed(guarantee: Guarantee, fprs: Sequence[float]) -> dict[str, float]:
    """Bound every metric that has one; means over targets obey the same bound.

    The curve of the guarantee is concave, so an average of targets under it is under it too. A promise to a
    group of records that depend on one another stands beside what the label would allow if they did not:
    ``advantage_independent`` (Humphries et al. 2023, theorem III.1). It does not apply to them.

    >>> round(allowed(Guarantee(epsilon=float(np.log(3))), [])["accuracy"], 6)
    0.75
    """
    accuracy, area = tradeoff.max_accuracy(guarantee), tradeoff.max_auc(guarantee)
    bounds = {
        "epsilon": float(guarantee.epsilon),
        "accuracy": accuracy,
        "accuracy_mean": accuracy,
        **dict.fromkeys(("advantage", "advantage_own", "advantage_per_release"), 2 * accuracy - 1),
        "auc": area,
        "auc_mean": area,
    }
    for fpr, tpr in zip(fprs, tradeoff.max_tpr(np.asarray(fprs, float), guarantee)):
        bounds[f"tpr_at_fpr_{fpr}"] = bounds[f"tpr_at_fpr_{fpr}_mean"] = float(tpr)
    if guarantee.unit is Unit.GROUP and guarantee.nominal_epsilon is not None:
        bounds["advantage_independent"] = float(humphries(guarantee.nominal_epsilon, guarantee.delta))
    return bounds
