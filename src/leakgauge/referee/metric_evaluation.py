"""All metrics by name, and their evaluation on trials, of many releases or of a single one."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee import metrics
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_REPEATS, FEWEST_ROUNDS
from leakgauge.referee.jackknife import are_repeats
from leakgauge.referee.metric_protocol import RateMetric

ONE_RELEASE_SCOPE = "over the records of this one release; says nothing about other releases"
ONE_RELEASE_REASON = "not available: needs several releases, there is one"
_ORDER = 3  # block of the stream of ties: the order of records decides which of them choose a threshold


def rate_metrics(requested: Collection[str] = ()) -> dict[str, Callable[..., RateMetric]]:
    """Name every metric that is not a bound on epsilon, except those that nobody ``requested``.

    A plan requests a metric by the key that is its ``on_request``; the others are always computed.
    """
    return {
        name: metric
        for name, metric in all_rate_metrics().items()
        if (key := metric().on_request) is None or key in requested
    }


def all_rate_metrics() -> dict[str, "partial[RateMetric]"]:
    """Name every metric that is not a bound on epsilon, also those on request; a file may hold several."""
    return dict(_rate_metrics())


@cache
def _rate_metrics() -> dict[str, "partial[RateMetric]"]:
    """All of them, read once: verdicts ask for them very often."""
    by_name = {}
    for file in iter_modules(metrics.__path__):
        if not file.name.startswith("epsilon_"):
            metric = import_module(f"{metrics.__name__}.{file.name}").Metric
            for name, parameters in (metric.variants or {file.name: {}}).items():
                by_name[name] = partial(metric, **parameters)
    return by_name


def evaluate(metric: Callable[[Trials], Estimate], trials: Trials, confidence: float) -> Estimate:
    """Evaluate one metric; where the trials violate its assumptions, the estimate says so in its reason."""
    try:
        return metric(trials)
    except BadInput as refusal:
        return Estimate(value=None, confidence=confidence, method="none", reason=str(refusal))


def evaluate_rate(metric: RateMetric, trials: Trials, confidence: float) -> Estimate:
    """Evaluate a rate metric; for a single release its interval is over records, and its method says so.

    Given the release, the scores of records are independent draws of members and of others. No bound on
    epsilon and no finding may be based on it, because it does not include the randomness of the release. One
    of many releases that could be made is not the one that matters: it has a value and no interval.
    """
    if not is_one_release(trials):
        return evaluate(metric, trials, confidence)
    answer = _of_one_release(metric, trials, confidence)
    if not trials.repeatable:
        return answer
    method = answer.method.removesuffix(f", {ONE_RELEASE_SCOPE}")
    reason = answer.reason if answer.value is None else _one_of_many(trials)
    return replace(answer, low=None, high=None, high_any_split=None, method=method, reason=reason)


def _one_of_many(trials: Trials) -> str:
    """Why one release of many that could be made has no interval."""
    needed = FEWEST_REPEATS if are_repeats(trials) else FEWEST_ROUNDS
    return f"no interval: there is one simulated release, and others may differ; at least {needed} are needed"


def _of_one_release(metric: RateMetric, trials: Trials, confidence: float) -> Estimate:
    if not metric.pools_trials:
        answer = evaluate(metric, trials, confidence)
        return replace(answer, reason=ONE_RELEASE_REASON) if answer.low is None else answer
    answer = evaluate(metric, _record_by_record(trials), confidence)
    reason = None if answer.reason is None else _of_records(answer.reason)
    if answer.low is None and answer.value is None:
        return replace(answer, reason=reason)
    return replace(answer, method=f"{_of_records(answer.method)}, {ONE_RELEASE_SCOPE}", reason=reason)


def evaluate_sequence(metric: RateMetric, trials: Trials, block: int, confidence: float) -> Estimate:
    """Evaluate a rate metric with bounds that may be read at any time; the reason says where it has none."""
    return evaluate(lambda rows: metric.sequence(rows, block), trials, confidence)


def threshold_loss(metric: RateMetric, trials: Trials) -> float:
    """At most how much a metric loses by thresholds chosen on few rounds, or on few records."""
    return metric.threshold_loss(_record_by_record(trials) if is_one_release(trials) else trials)


def is_one_release(trials: Trials) -> bool:
    """Whether there are several trials, all of the same round."""
    return len(trials) > 1 and bool((trials.rounds == trials.rounds[0]).all())


def is_of_one_release(answer: Estimate) -> bool:
    """Whether an estimate is about the one release that there is, by its method."""
    return answer.method.endswith(ONE_RELEASE_SCOPE)


def is_only_release(trials: Trials) -> bool:
    """Whether they are of the one release that there is, such as a finished model."""
    return is_one_release(trials) and not trials.repeatable


def _record_by_record(trials: Trials) -> Trials:
    """The same trials, each as a round of its own, in a random order, not in that of a file."""
    order = stream(0, Role.TIES, _ORDER).permutation(len(trials))
    return replace(trials, rounds=order.astype(np.int64))


def _of_records(text: str) -> str:
    return text.replace("jackknife over rounds", "jackknife").replace("rounds", "records")
