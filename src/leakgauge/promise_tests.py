"""The tests that a promise faces: bounds on epsilon and rates, and the rounds in which they can fail it."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from leakgauge import catalog
from leakgauge.core.game import Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.plan import MetricsTable
from leakgauge.referee.assumptions import unfair_coins
from leakgauge.referee.intervals import FEWEST_ROUNDS
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.one_run_curve import coins_to_reject
from leakgauge.theory.metric_bounds import metric_bounds

MOST_ROUNDS = 2**40  # beyond this no number of rounds is called enough
FEW_ROUNDS = 2**13  # whoever shows nothing by then, without a single error, never will: delta is too large
# Metrics set against an exact curve, besides epsilon; without a curve epsilon says all they could.
CURVE_CHECKS = ("accuracy", "auc", *(f"tpr_at_fpr_{fpr}" for fpr in LOW_FPRS))


@dataclass(frozen=True, kw_only=True)
class StoppingSchedule:
    """When an audit that may stop early is looked at: after every block."""

    block: int


def promise_refuted(
    trials: Trials,
    *,
    guarantee: Guarantee | None,
    metrics: MetricsTable,
    n_verdicts: int,
    schedule: StoppingSchedule,
) -> bool:
    """Say whether the e-process has refuted the promise by now."""
    if guarantee is None:
        return False
    error = (1 - metrics.confidence) / n_verdicts
    bound = epsilon_metric(metrics, guarantee, schedule, 1 - error)(trials).low
    return bound is not None and bound > guarantee.epsilon


def epsilon_metric(
    metrics: MetricsTable, guarantee: Guarantee | None, schedule: StoppingSchedule | None, confidence: float
) -> EpsilonMetric:
    """Build the bound on epsilon that a plan asks for, at the delta of the promise."""
    name = metrics.epsilon if schedule is None else "e_process"
    parameters: dict[str, Any] = {"delta": guarantee.delta if guarantee else 0.0, "confidence": confidence}
    if schedule is not None:
        parameters["block"] = schedule.block
    if metrics.assume is not None and name == "gdp":
        parameters |= {"assume": metrics.assume, "claimed": None if guarantee is None else guarantee.epsilon}
    return catalog.build(catalog.METRICS, "Metric", f"epsilon_{name}", parameters, "metrics.epsilon")


def applicable_metrics(trials: Trials, metrics: MetricsTable) -> MetricsTable | None:
    """Return which bound on epsilon really answers for these trials; nothing where none can."""
    if metrics.epsilon not in ("one_run", "e_process") or not unfair_coins(trials):
        return metrics
    answers = metrics.epsilon == "one_run" and not trials.shared_rounds
    return replace(metrics, epsilon="clopper_pearson") if answers else None


def curve_checks(guarantee: Guarantee, schedule: StoppingSchedule | None) -> tuple[str, ...]:
    """Name the rates that are compared besides epsilon, which then gets half of the error."""
    return CURVE_CHECKS if guarantee.curve is not None and schedule is None else ()


def rounds_needed(
    metrics: MetricsTable | None,
    guarantee: Guarantee | None,
    n_verdicts: int,
    schedule: StoppingSchedule | None,
    trials_per_round: float,
) -> int | None:
    """Count the rounds in which scores without an error would violate the promise; nothing if none do.

    By epsilon it is exact; by a curve it is an estimate from above, since TPR at small FPR is left out.
    """
    if metrics is None or guarantee is None:
        return None
    counts = (
        _rounds_for_epsilon(metrics, guarantee, n_verdicts, schedule, trials_per_round),
        _rounds_for_rates(metrics, guarantee, n_verdicts, schedule, trials_per_round),
        _rounds_for_curve(metrics, guarantee, n_verdicts, schedule, trials_per_round),
    )
    return min((count for count in counts if count is not None), default=None)


def _rounds_for_rates(
    metrics: MetricsTable,
    guarantee: Guarantee,
    n_verdicts: int,
    schedule: StoppingSchedule | None,
    trials_per_round: float,
) -> int | None:
    """About how many rounds without an error show an accuracy or AUC that the curve does not allow.

    Of n rounds without an error the lower bound of a rate is 1 - w (1 - error^(1/n)), w being what a round in
    which all goes wrong weighs: 1 for the accuracy, of which half of the rounds choose the threshold, and 2
    for the AUC, because every pair is in two rounds.
    """
    if not curve_checks(guarantee, schedule):
        return None
    error = _part_of_error(metrics, guarantee, n_verdicts, schedule, trials_per_round)
    bounds = metric_bounds(guarantee, LOW_FPRS)
    counts = [
        halves * max(FEWEST_ROUNDS, np.log(error) / np.log1p((bounds[name] - 1) / weight))
        for name, halves, weight in (("accuracy", 2, 1), ("auc", 1, 2))
        if 0.5 <= bounds[name] < 1
    ]
    needed = min(counts, default=np.inf)
    return ceil(needed + 2 * np.sqrt(needed) + 10) if needed < MOST_ROUNDS else None


def _rounds_for_curve(
    metrics: MetricsTable,
    guarantee: Guarantee,
    n_verdicts: int,
    schedule: StoppingSchedule | None,
    trials_per_round: float,
) -> int | None:
    """In how many rounds guesses without an error contradict the curve, where trials share rounds.

    Nothing where several thousand trials do not suffice: then this counts none, though more might.
    """
    if guarantee.curve is None or not curve_checks(guarantee, schedule) or trials_per_round <= 1:
        return None
    error = _part_of_error(metrics, guarantee, n_verdicts, schedule, trials_per_round)
    needed = coins_to_reject(guarantee.curve, error)
    return None if needed is None else ceil(needed / trials_per_round)


def _part_of_error(
    metrics: MetricsTable,
    guarantee: Guarantee,
    n_verdicts: int,
    schedule: StoppingSchedule | None,
    trials_per_round: float,
) -> float:
    """The error of each comparison with the curve; the one-run test of it gets a part too."""
    parts = len(curve_checks(guarantee, schedule)) + (trials_per_round > 1)
    return (1 - metrics.confidence) / n_verdicts / 2 / parts


def _rounds_for_epsilon(
    metrics: MetricsTable,
    guarantee: Guarantee,
    n_verdicts: int,
    schedule: StoppingSchedule | None,
    trials_per_round: float,
) -> int | None:
    """Count the rounds in which scores without an error would refute epsilon; nothing if none do."""
    if not np.isfinite(guarantee.epsilon):
        return None
    error = (1 - metrics.confidence) / n_verdicts / (2 if curve_checks(guarantee, schedule) else 1)
    metric = epsilon_metric(metrics, guarantee, schedule, 1 - error)

    def bound(n_rounds: int) -> float:
        n = round(n_rounds * trials_per_round)
        return metric.from_counts(n - n // 2, 0, 0, n // 2, shared_rounds=trials_per_round > 1)

    high, before = 1, 0.0
    while not (shown := bound(high)) > guarantee.epsilon:
        if shown < before or high * trials_per_round > (MOST_ROUNDS if shown else FEW_ROUNDS):
            return None
        high, before = 2 * high, shown
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) > guarantee.epsilon else (middle, high)
    return high
