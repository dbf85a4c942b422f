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
from leakgauge.referee.instrument_check import rounds_to_notice
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


@dataclass(frozen=True, kw_only=True)
class PromiseTest:
    """How one attacker's trials are tested against a promise, and how the error is divided.

    Attributes:
        metrics: Which bound on epsilon is used, and the confidence level.
        guarantee: The promise.
        n_verdicts: How many verdicts share the error.
        schedule: When it may stop early; None where all rounds are played.
        trials_per_round: How many trials share a release.
    """

    metrics: MetricsTable
    guarantee: Guarantee
    n_verdicts: int
    schedule: StoppingSchedule | None
    trials_per_round: float

    @property
    def rates(self) -> tuple[str, ...]:
        """The rates that are compared besides epsilon."""
        return curve_checks(self.guarantee, self.schedule)

    @property
    def error(self) -> float:
        """The error of this verdict."""
        return (1 - self.metrics.confidence) / self.n_verdicts

    @property
    def error_of_epsilon(self) -> float:
        """The part of the error that epsilon has."""
        return self.error / 2 if self.rates else self.error

    @property
    def error_of_rate(self) -> float:
        """The error of each comparison with the curve; the one-run test of it gets a part too."""
        return self.error / 2 / (len(self.rates) + (self.trials_per_round > 1))

    @property
    def epsilon_metric(self) -> EpsilonMetric:
        """The bound on epsilon that is compared with the promise."""
        return epsilon_metric(self.metrics, self.guarantee, self.schedule, 1 - self.error_of_epsilon)

    @property
    def rounds_to_violate(self) -> int | None:
        """In how many rounds scores without an error would violate the promise; nothing if in none.

        By epsilon it is exact; by a curve it is an estimate from above, since TPR at small FPR is left out.
        """
        counts = (_rounds_for_epsilon(self), _rounds_for_rates(self), _rounds_for_curve(self))
        return min((count for count in counts if count is not None), default=None)

    @property
    def rounds_needed(self) -> int | None:
        """In how many rounds the promise can be tested; nothing if in none.

        Then scores without an error would violate it, and a leak as large as it would be noticed.
        """
        violated, promised = self.rounds_to_violate, self.guarantee.epsilon
        if violated is None or np.isinf(promised):
            return violated
        noticed = rounds_to_notice(self.epsilon_metric, promised, self.trials_per_round, MOST_ROUNDS)
        return None if noticed is None else max(violated, noticed)


def _rounds_for_rates(test: PromiseTest) -> int | None:
    """About how many rounds without an error show an accuracy or AUC that the curve does not allow.

    Of n rounds without an error the lower bound of a rate is 1 - w (1 - error^(1/n)), w being what a round in
    which all goes wrong weighs: 1 for the accuracy, of which half of the rounds choose the threshold, and 2
    for the AUC, because every pair is in two rounds.
    """
    if not test.rates:
        return None
    bounds = metric_bounds(test.guarantee, LOW_FPRS)
    counts = [
        halves * max(FEWEST_ROUNDS, np.log(test.error_of_rate) / np.log1p((bounds[name] - 1) / weight))
        for name, halves, weight in (("accuracy", 2, 1), ("auc", 1, 2))
        if 0.5 <= bounds[name] < 1
    ]
    needed = min(counts, default=np.inf)
    return ceil(needed + 2 * np.sqrt(needed) + 10) if needed < MOST_ROUNDS else None


def _rounds_for_curve(test: PromiseTest) -> int | None:
    """In how many rounds guesses without an error contradict the curve, where trials share rounds.

    Nothing where several thousand trials do not suffice: then this counts none, though more might.
    """
    if test.guarantee.curve is None or not test.rates or test.trials_per_round <= 1:
        return None
    needed = coins_to_reject(test.guarantee.curve, test.error_of_rate)
    return None if needed is None else ceil(needed / test.trials_per_round)


def _rounds_for_epsilon(test: PromiseTest) -> int | None:
    """Count the rounds in which scores without an error would refute epsilon; nothing if none do."""
    promised, per_round = test.guarantee.epsilon, test.trials_per_round
    if not np.isfinite(promised):
        return None
    metric = test.epsilon_metric

    def bound(n_rounds: int) -> float:
        n = round(n_rounds * per_round)
        return metric.from_counts(n - n // 2, 0, 0, n // 2, shared_rounds=per_round > 1)

    high, before = 1, 0.0
    while not (shown := bound(high)) > promised:
        if shown < before or high * per_round > (MOST_ROUNDS if shown else FEW_ROUNDS):
            return None
        high, before = 2 * high, shown
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) > promised else (middle, high)
    return high
