"""Metrics in the report: titles, values and intervals, and which metric stands for an attacker."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from leakgauge import catalog
from leakgauge.core.guarantee import Guarantee
from leakgauge.promise_tests import CURVE_CHECKS
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.metric_protocol import MetricDescription
from leakgauge.report import number_format
from leakgauge.report.adversary_names import clip
from leakgauge.risk import LEADING_METRICS, leading_metric
from leakgauge.theory.metric_bounds import metric_bounds
from leakgauge.verdict import Verdict

COMPARED_METRICS = ("epsilon", *CURVE_CHECKS)  # those that a finding may rest on
LOW_RATES = tuple(f"tpr_at_fpr_{fpr}" for fpr in LOW_FPRS)
TABLE_METRICS = (  # of the main table; of alternatives the first that is known
    ("epsilon",),
    ("accuracy_own",),
    ("accuracy_worst",),
    ("accuracy_mean", "accuracy"),
    ("auc_mean", "auc"),
    ("tpr_at_fpr_0.01",),
)
UNIT_NAMES: Mapping[str, str] = {  # whom a promise protects
    "event": "one event",
    "user-day": "one day of one person",
    "user": "one person",
    "record": "one record",
    "step": "one record in the batch of a training step",
    "training": "one record in every batch of a training",
    "client": "one client",
    "group": "all records of a release together",
}
_UNITS_IN_TABLES: Mapping[str, str] = {
    "event": "per event",
    "user-day": "per day",
    "user": "per person",
    "record": "per record",
    "step": "per step",
    "training": "in every step",
    "client": "per client",
    "group": "together",
}
_SAME_ACCURACY = 1e-3  # up to which a promise allows no less than its epsilon alone
LARGEST_LIMIT = 0.999  # a promise that allows a larger share does not limit it


@dataclass(frozen=True)
class UnknownMetric(MetricDescription):
    """A metric of a plan that no file defines; it goes by its own name."""

    meaning: ClassVar[str] = "a metric of this plan"
    rank: ClassVar[int] = 1000

    name: str

    @property
    def title(self) -> str:
        return clip(self.name)


def describe_metric(name: str) -> MetricDescription:
    """The title and meaning of a metric; an unknown one goes by its own name.

    >>> describe_metric("auc").title, describe_metric("loss").title
    ('AUC', 'loss')
    """
    return catalog.metric_descriptions().get(name) or UnknownMetric(name)


def metrics_in(verdicts: Sequence[Verdict]) -> set[str]:
    """The metrics to show: those that compare targets need several of them in several rounds."""
    return {name for verdict in verdicts for name in verdict.metrics if is_shown(verdict, name)}


def is_shown(verdict: Verdict, name: str) -> bool:
    """Whether a metric says more than another one: of one target, the worst and the mean are itself."""
    described = describe_metric(name)
    compares = described.mean_of is not None or described.worst_of is not None
    return not compares or (verdict.n_targets > 1 and verdict.rounds > 1)


def table_metrics(present: Collection[str]) -> list[str]:
    """The metrics of the main table, among those that are present.

    >>> table_metrics({"accuracy", "auc", "auc_mean", "advantage"})
    ['accuracy', 'auc_mean']
    """
    chosen = (next((name for name in names if name in present), "") for names in TABLE_METRICS)
    return [name for name in chosen if name]


def value_text(name: str, value: float | None) -> str:
    """A measured value of a metric, written in its format.

    >>> value_text("accuracy", 0.7311), value_text("auc", 0.8)
    ('73.1%', '0.800')
    """
    return number_format.percent(value) if describe_metric(name).is_share else number_format.measured(value)


def promised_text(promised: Mapping[str, Any] | None) -> str:
    """The epsilon of a promise for a table; of which unit it is, where the label is about another one.

    >>> promised_text({"epsilon": 3.94, "unit": "step", "nominal": {"epsilon": 4.0, "unit": "record"}})
    '3.94 per step'
    >>> promised_text({"epsilon": 1.0, "unit": "user", "nominal": {"epsilon": 1.0, "unit": "user"}})
    '1'
    """
    if not promised:
        return number_format.NOTHING
    epsilon, unit = promised["epsilon"], str(promised.get("unit") or "")
    text = "∞" if epsilon is None else number_format.number(epsilon)
    nominal = promised.get("nominal") or {}
    if nominal.get("epsilon") is None or nominal.get("unit") in (None, unit):
        return text
    return f"{text} {_UNITS_IN_TABLES.get(unit, f'per {clip(unit)}')}"


def bound_text(name: str, bound: float | None) -> str:
    """The most a promise allows of a metric; nothing where it sets no bound, or one that limits nothing."""
    if bound is None or (describe_metric(name).is_share and bound > LARGEST_LIMIT):
        return ""
    return number_format.percent(bound) if describe_metric(name).is_share else number_format.number(bound)


def low_text(name: str, estimate: Estimate, bound: float | None = None) -> str:
    """The low end of an estimate, with enough digits to see it beside its bound."""
    write = number_format.lower_percent if describe_metric(name).is_share else number_format.lower
    return write(estimate.low, above=bound)


def interval_text(name: str, estimate: Estimate, bound: float | None = None) -> str:
    """An interval in words.

    >>> found = Estimate(value=0.8, low=0.7812, high=0.8188, confidence=0.95, method="jackknife")
    >>> interval_text("auc", found)
    '0.781 to 0.819'
    """
    if estimate.low is None and estimate.high is None:
        return "no bound" if describe_metric(name).is_lower_bound else "no interval"
    if estimate.high is None:
        return f"at least {low_text(name, estimate, bound)}"
    write = number_format.upper_percent if describe_metric(name).is_share else number_format.upper
    high = write(estimate.high)
    return f"at most {high}" if estimate.low is None else f"{low_text(name, estimate, bound)} to {high}"


def bound_end_text(name: str, *, limit: float, low: float | None = None, high: float | None = None) -> str:
    """A one-sided bound beside a limit, with enough digits to see on which side of it it is.

    >>> bound_end_text("accuracy", low=0.60004, limit=0.6)
    '60.004%'
    >>> bound_end_text("accuracy", high=0.59996, limit=0.6)
    '59.996%'
    """
    share = describe_metric(name).is_share
    if low is not None:
        return (number_format.lower_percent if share else number_format.lower)(low, above=limit)
    return (number_format.upper_percent if share else number_format.upper)(high, below=limit)


def exceeds_bound(verdict: Verdict, name: str) -> bool:
    """Whether the low end of the interval exceeds what the promise allows."""
    estimate, bound = verdict.metrics.get(name), verdict.bounds.get(name)
    return estimate is not None and estimate.low is not None and bound is not None and estimate.low > bound


def metric_above_promise(verdict: Verdict, *, whole_interval: bool = False) -> str | None:
    """The first number of an attacker that is above what the promise allows: accuracy, AUC or epsilon.

    Either its whole interval is above, or its value, as it is written. The finding may still be "not
    violated": it is corrected for all comparisons, and chance may explain a value.
    """
    for name in (leading_metric(verdict.metrics), headline_metric(verdict, "auc"), "epsilon"):
        estimate = verdict.metrics.get(name or "")
        bound = None if name is None else verdict.bounds.get(_bounded_as(name))
        if name is None or estimate is None or bound is None:
            continue
        compared = estimate.low if whole_interval else estimate.value
        if compared is None or compared <= bound:
            continue
        if whole_interval or value_text(name, compared) != value_text(name, bound):
            return name
    return None


def is_above_promise(verdict: Verdict) -> bool:
    """Whether the whole interval of accuracy, AUC or epsilon is above what the promise allows."""
    return metric_above_promise(verdict, whole_interval=True) is not None


def above_promise_words(verdict: Verdict, metric: str) -> str:
    """What an attacker did that is above the promise, after its name in a sentence."""
    bound, value = verdict.bounds[_bounded_as(metric)], verdict.metrics[metric].value
    shown = "" if value is None else f" ({value_text(metric, value)})"
    if metric == "epsilon":
        return f"points to a larger ε than the {number_format.number(bound)} that is promised{shown}"
    if metric in LEADING_METRICS:
        allowed = number_format.allowed_percent(bound)
        return f"was right more often than the {allowed} that the promise allows{shown}"
    return f"reached a larger AUC than the {value_text(metric, bound)} that the promise allows{shown}"


def _bounded_as(metric: str) -> str:
    """The name under which a promise bounds a metric."""
    return "accuracy" if metric in LEADING_METRICS else describe_metric(metric).mean_of or metric


def not_sure_of_violation(found: Verdict) -> str:
    """Why an attacker whose success is above the promise does not refute it.

    Epsilon alone is tested where nothing more is promised, and rates too where the exact curve is known.
    """
    stated, allowed = (found.promised or {}).get("epsilon"), found.bounds.get("accuracy")
    if stated is None or allowed is None:
        return "the test of the promise is stricter"
    delta = (found.promised or {}).get("delta") or 0.0
    by_epsilon = metric_bounds(Guarantee(epsilon=stated, delta=delta), [])["accuracy"]
    only_epsilon = allowed >= by_epsilon - _SAME_ACCURACY
    if any(exceeds_bound(found, name) for name in (("epsilon",) if only_epsilon else COMPARED_METRICS)):
        return "the test of the promise is corrected for all comparisons of this run"
    bound = found.metrics.get("epsilon")
    if only_epsilon and bound is not None and bound.low is not None:
        shown = f"only ε of at least {number_format.lower(bound.low)}"
        return f"the test of the promise shows {shown}, and {number_format.number(stated)} is promised"
    return "the numbers by which it is tested, such as accuracy with a calibrated threshold, may be within it"


def has_epsilon_bound(verdict: Verdict) -> bool:
    """Whether these trials allow a bound on epsilon at all."""
    epsilon = verdict.metrics.get("epsilon")
    return epsilon is not None and epsilon.low is not None


def headline_metric(verdict: Verdict, name: str) -> str:
    """The metric to show for ``name`` where there is room for one: its mean of targets, if there are several.

    All targets taken together have one threshold, but an attacker who is after one person sets one for that
    person. Where rounds are too few to judge any target by itself, the trials of all of them are used.
    """
    known = (
        metric
        for metric, estimate in verdict.metrics.items()
        if estimate.value is not None and describe_metric(metric).mean_of == name
    )
    return next(known, name) if verdict.n_targets > 1 else name


def has_worst_target(verdict: Verdict) -> bool:
    """Whether a most exposed target is known that is not the only one."""
    worst = verdict.metrics.get("accuracy_worst")
    return worst is not None and worst.value is not None and is_shown(verdict, "accuracy_worst")


def leading_name(verdict: Verdict) -> str:
    """The metric that says how often an attacker is right, at its own threshold where it has one."""
    return leading_metric(verdict.metrics) or "accuracy"
