"""Plain words for metrics, promises and attackers, and which metric is shown for each attacker."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leakgauge.referee.estimate import Estimate
from leakgauge.report import number_format
from leakgauge.verdict import Verdict

LONGEST = 64  # characters of a name that comes from a user
LONGEST_IN_CHART = 34
SEPARATOR = " · "
_EQUALS = "\u00a0=\u00a0"  # keeps an equation in one line


@dataclass(frozen=True, kw_only=True)
class Term:
    """A metric as a reader meets it; ``is_share`` metrics are written as percentages."""

    title: str
    meaning: str
    is_share: bool = False


_POOLED_TERMS = {
    "epsilon": Term(
        title="ε shown",
        meaning="the smallest ε that could still explain how well the adversary did: a lower bound",
    ),
    "accuracy": Term(
        title="Accuracy",
        meaning="how often the adversary says rightly who is in and who is not",
        is_share=True,
    ),
    "auc": Term(
        title="AUC",
        meaning="the chance that a member gets a higher score than a non-member; 0.5 is blind guessing",
    ),
    "tpr_at_fpr_0.1": Term(
        title="Hits at 10% false alarms",
        meaning="members recognised while accusing 1 non-member in 10",
        is_share=True,
    ),
    "tpr_at_fpr_0.01": Term(
        title="Hits at 1% false alarms",
        meaning="members recognised while accusing 1 non-member in 100",
        is_share=True,
    ),
    "tpr_at_fpr_0.001": Term(
        title="Hits at 0.1% false alarms",
        meaning="members recognised while accusing 1 non-member in 1,000",
        is_share=True,
    ),
    "advantage": Term(
        title="Advantage", meaning="hits minus false alarms; 0 is blind guessing, 1 is never wrong"
    ),
    "advantage_own": Term(
        title="Advantage, own threshold",
        meaning="hits minus false alarms at the attack's own threshold; below 0 it accuses the wrong ones",
    ),
    "advantage_per_release": Term(
        title="Advantage, threshold per release",
        meaning="hits minus false alarms at a threshold set for each release, on the half not counted",
    ),
    "advantage_in_sample": Term(
        title="Advantage, in-sample optimum",
        meaning="the most over all thresholds, chosen on the counted trials: too high by design",
    ),
    "advantage_in_sample_null": Term(
        title="In-sample optimum without a leak",
        meaning="what the in-sample optimum comes to on average where nothing leaks",
    ),
    "tpr": Term(
        title="Hits", meaning="share of members recognised at the attack's own threshold", is_share=True
    ),
    "tnr": Term(
        title="Correct rejections",
        meaning="share of non-members recognised at the attack's own threshold",
        is_share=True,
    ),
}
MAIN_METRICS = ("epsilon", "accuracy", "auc", "tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001")
TABLE_METRICS = (
    "epsilon",
    "accuracy_mean",
    "accuracy",
    "auc_mean",
    "auc",
    *MAIN_METRICS[3:],
)  # in the main table
_AVERAGED_METRICS = ("accuracy", "auc", "tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001")
METRIC_TERMS: Mapping[str, Term] = _POOLED_TERMS | {
    f"{name}_mean": replace(
        _POOLED_TERMS[name],
        title=f"{_POOLED_TERMS[name].title}, mean of targets",
        meaning=f"the same for each target, then averaged: {_POOLED_TERMS[name].meaning}",
    )
    for name in _AVERAGED_METRICS
}

UNITS: Mapping[str, str] = {
    "event": "one event",
    "user-day": "one day of one person",
    "user": "one person",
    "record": "one record",
    "client": "one client",
    "group": "all records of a release together",
}

RELATIONS: Mapping[str, str] = {
    "add_remove": "data with and without it",
    "replace_one": "data in which it is replaced by another",
}

COINS: Mapping[str, str] = {
    "fair": "flipped by the challenger: independent, one half in, one half out",
    "tied": "flipped by the challenger, one half in, one half out; but targets of a round resemble one "
    "another, so that their coins cannot be counted as independent",
    "given": "given by the data, not flipped: who is in was decided by a file or a split",
}


def term(name: str) -> Term:
    """The words for a metric; an unknown one goes by its own name."""
    return METRIC_TERMS.get(name) or Term(title=clip(name), meaning="a metric of this plan")


def metrics_in(verdicts: Sequence[Verdict]) -> set[str]:
    """The metrics that say something; a mean over one target only repeats, and one round has no such mean."""
    return {
        name
        for verdict in verdicts
        for name in verdict.metrics
        if (verdict.n_targets > 1 and verdict.rounds > 1) or not name.endswith("_mean")
    }


def term_in_sentence(name: str) -> str:
    """The title of a metric inside a sentence.

    >>> term_in_sentence("accuracy"), term_in_sentence("auc"), term_in_sentence("epsilon")
    ('accuracy', 'AUC', 'ε')
    """
    title = "ε" if name == "epsilon" else term(name).title
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def value_text(name: str, value: float | None) -> str:
    """A measured value of a metric.

    >>> value_text("accuracy", 0.7311), value_text("auc", 0.8)
    ('73.1%', '0.800')
    """
    return number_format.percent(value) if term(name).is_share else number_format.measured(value)


def bound_text(name: str, bound: float | None) -> str:
    """The most a promise allows of a metric; nothing where it sets no bound."""
    if bound is None:
        return ""
    return number_format.percent(bound) if term(name).is_share else number_format.number(bound)


def low_text(name: str, estimate: Estimate, bound: float | None = None) -> str:
    """The low end of an estimate, with enough digits to see it beside its bound."""
    write = number_format.lower_percent if term(name).is_share else number_format.lower
    return write(estimate.low, above=bound)


def interval_text(name: str, estimate: Estimate, bound: float | None = None) -> str:
    """An interval in words.

    >>> interval_text("auc", Estimate(value=0.8, low=0.7812, high=0.8188, confidence=0.95, method="jackknife"))
    '0.781 to 0.819'
    """
    if estimate.low is None and estimate.high is None:
        return "no interval"
    if estimate.high is None:
        return f"at least {low_text(name, estimate, bound)}"
    high = (
        number_format.upper_percent(estimate.high)
        if term(name).is_share
        else number_format.upper(estimate.high)
    )
    return f"at most {high}" if estimate.low is None else f"{low_text(name, estimate, bound)} to {high}"


def exceeds_bound(verdict: Verdict, name: str) -> bool:
    """Whether the interval on the page lies beyond what the promise allows."""
    estimate, bound = verdict.metrics.get(name), verdict.bounds.get(name)
    return estimate is not None and estimate.low is not None and bound is not None and estimate.low > bound


def promise_text(promised: Mapping[str, Any]) -> str:
    """A promise, short.

    >>> promise_text({"epsilon": 1.0, "delta": 1e-5, "unit": "user"})
    'ε\xa0=\xa01, δ\xa0=\xa010⁻⁵ for one person'
    """
    unit = str(promised.get("unit") or "")
    delta = promised.get("delta")
    return (
        f"ε{_EQUALS}{number_format.number(promised.get('epsilon')) if promised.get('epsilon') is not None else '∞'}"
        + (f", δ{_EQUALS}{number_format.number(delta)}" if delta else "")
        + (f" for {UNITS.get(unit, clip(unit))}" if unit else "")
    )


def clip(text: object, longest: int = LONGEST) -> str:
    """A name from a user, cut in the middle where it is very long.

    >>> clip("abcdefghij", 5)
    'ab…ij'
    """
    name = str(text)
    if len(name) <= longest:
        return name
    head = longest // 2
    return f"{name[:head]}…{name[len(name) - (longest - head - 1) :]}"


def adversary_names(shown: Sequence[Verdict], among: Sequence[Verdict]) -> list[str]:
    """What to call adversaries: unlike all ``among`` whom they stand, and no longer than needed."""
    several_audits = len({verdict.audit for verdict in among}) > 1
    several_labels = len({verdict.label for verdict in among}) > 1
    one_base = len({verdict.audit.partition("@")[0] for verdict in among}) == 1

    def name(verdict: Verdict) -> str:
        point = verdict.audit.partition("@")[2]
        audit = [point if point and one_base else verdict.audit] if several_audits else []
        label = [verdict.label] if several_labels or not several_audits else []
        return SEPARATOR.join(clip(part, LONGEST_IN_CHART) for part in [*audit, *label])

    called = [name(verdict) for verdict in among]
    often = Counter(called)
    unique = {
        id(verdict): text if often[text] == 1 else f"{text}{SEPARATOR}{place}"
        for place, (verdict, text) in enumerate(zip(among, called, strict=True), start=1)
    }
    return [unique[id(verdict)] for verdict in shown]


def has_epsilon_bound(verdict: Verdict) -> bool:
    """Whether these trials allow a bound on epsilon at all."""
    epsilon = verdict.metrics.get("epsilon")
    return epsilon is not None and epsilon.low is not None


# Which metric stands for how well an adversary does.
#
# Trials of all targets taken together have one threshold for everybody. An adversary of a given person sets one
# for that person, so where a round has several targets their own numbers are taken, and averaged.


AVERAGED = "on average over the targets"


def headline_metric(verdict: Verdict, name: str) -> str:
    """The metric to show for ``name`` where there is room for one: its mean of targets, if there are several.

    Where too few rounds let no target be judged by itself, the trials of all of them have to do.
    """
    mean = f"{name}_mean"
    known = mean in verdict.metrics and verdict.metrics[mean].value is not None
    return mean if verdict.n_targets > 1 and known else name


def is_averaged(verdict: Verdict, name: str) -> bool:
    """Whether what stands for a metric is an average over the targets."""
    return headline_metric(verdict, name) != name


def averaged_note(verdict: Verdict, name: str) -> str:
    """What to say behind a number that is an average; empty where it is none."""
    return f" {AVERAGED}" if is_averaged(verdict, name) else ""
