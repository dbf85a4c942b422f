"""Measured success of attacks, with intervals, as the papers count it; differences and means."""

from collections.abc import Sequence
from math import hypot

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import OurNumber
from leakgauge.report.number_format import level
from leakgauge.verdict import Verdict


def accuracy(verdict: Verdict) -> OurNumber:
    """Balanced accuracy (TPR + TNR) / 2 at the attack's own threshold.

    The two rates come from different rounds, so their errors are independent and add in squares
    (Newcombe 1998; Zou and Donner 2008).
    """
    estimates = [verdict.metrics.get("tpr"), verdict.metrics.get("tnr")]
    rates = [
        (rate.low, rate.value, rate.high)
        for rate in estimates
        if rate is not None and rate.low is not None and rate.value is not None and rate.high is not None
    ]
    if len(rates) < 2:
        raise BadInput(
            f"{verdict.audit}, {verdict.label}: no rates at the attack's own threshold; increase rounds"
        )
    value = sum(middle for _, middle, _ in rates) / 2
    below = hypot(*(middle - low for low, middle, _ in rates)) / 2
    above = hypot(*(high - middle for _, middle, high in rates)) / 2
    return OurNumber(value=value, low=max(value - below, 0.0), high=min(value + above, 1.0))


def metric(verdict: Verdict, metric: str) -> OurNumber:
    """A metric of a verdict, such as "auc_mean", with its interval."""
    estimate = verdict.metrics.get(metric)
    if estimate is None or estimate.value is None or estimate.low is None or estimate.high is None:
        raise BadInput(f"{verdict.audit}, {verdict.label}: {metric} has no interval; increase rounds")
    return OurNumber(value=estimate.value, low=estimate.low, high=estimate.high)


def difference(first: OurNumber, second: OurNumber) -> OurNumber:
    """Return the first minus the second, with the interval for independent estimates (Zou and Donner 2008).

    Attacks on the same releases have positively correlated errors; for them the interval is wider than
    needed.
    """
    value = first.value - second.value
    below = hypot(first.value - first.low, second.high - second.value)
    above = hypot(first.high - first.value, second.value - second.low)
    return OurNumber(value=value, low=value - below, high=value + above)


def magnitude(number: OurNumber) -> OurNumber:
    """Return the absolute value, with the interval of all absolute values in that of the number."""
    ends = abs(number.low), abs(number.high)
    low = 0.0 if number.low <= 0 <= number.high else min(ends)
    return OurNumber(value=abs(number.value), low=low, high=max(ends))


def mean(numbers: Sequence[OurNumber]) -> OurNumber:
    """Return the mean over independent games; their errors add in squares."""
    if not numbers:
        raise BadInput("a mean needs at least one game")
    value = sum(ours.value for ours in numbers) / len(numbers)
    below = hypot(*(ours.value - ours.low for ours in numbers)) / len(numbers)
    above = hypot(*(ours.high - ours.value for ours in numbers)) / len(numbers)
    return OurNumber(value=value, low=value - below, high=value + above)


def advantage(verdict: Verdict) -> OurNumber:
    """TPR - FPR at the attack's own threshold: twice the balanced accuracy, less one."""
    balanced = accuracy(verdict)
    return OurNumber(value=2 * balanced.value - 1, low=2 * balanced.low - 1, high=2 * balanced.high - 1)


def confidence_text(verdicts: Sequence[Verdict]) -> str:
    """Return the confidence level of the intervals.

    >>> confidence_text([])
    ''
    """
    levels = {verdict.metrics["tpr"].confidence for verdict in verdicts if "tpr" in verdict.metrics}
    return " or ".join(level(sure) for sure in sorted(levels))
