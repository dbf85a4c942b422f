"""What an attack was measured to reach at its own threshold: how the papers count."""

from collections.abc import Sequence
from math import hypot

from leakgauge.core.errors import BadInput
from leakgauge.pages.numbers import level
from leakgauge.papers.comparison import Ours
from leakgauge.verdict import Verdict


def accuracy(verdict: Verdict) -> Ours:
    """Balanced accuracy (TPR + TNR) / 2 at the attack's own threshold.

    The two rates come from different rounds, so their errors are independent and add in squares
    (Newcombe 1998; Zou and Donner 2008).
    """
    found = [verdict.metrics.get("tpr"), verdict.metrics.get("tnr")]
    rates = [
        (rate.low, rate.value, rate.high)
        for rate in found
        if rate is not None and rate.low is not None and rate.value is not None and rate.high is not None
    ]
    if len(rates) < 2:
        raise BadInput(
            f"{verdict.audit}, {verdict.label}: no rates at the attack's own threshold; play more rounds"
        )
    value = sum(middle for _, middle, _ in rates) / 2
    below = hypot(*(middle - low for low, middle, _ in rates)) / 2
    above = hypot(*(high - middle for _, middle, high in rates)) / 2
    return Ours(value=value, low=max(value - below, 0.0), high=min(value + above, 1.0))


def advantage(verdict: Verdict) -> Ours:
    """TPR - FPR at the attack's own threshold: twice the balanced accuracy, less one."""
    found = accuracy(verdict)
    return Ours(value=2 * found.value - 1, low=2 * found.low - 1, high=2 * found.high - 1)


def confidence(verdicts: Sequence[Verdict]) -> str:
    """How sure the intervals are.

    >>> confidence([])
    ''
    """
    found = {verdict.metrics["tpr"].confidence for verdict in verdicts if "tpr" in verdict.metrics}
    return " or ".join(level(sure) for sure in sorted(found))
