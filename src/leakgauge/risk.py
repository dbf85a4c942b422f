"""Risk: how well one attacker identifies people, compared with the limits of the owner.

The promise and the risk are two questions. A promise may be kept though people are identified with ease,
because it is weak; whether that is acceptable is decided by the owner's limits alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import islice
from math import ceil

import numpy as np

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.limits import Limits, metrics_under_limit
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.intervals import FEWEST_ROUNDS, FEWEST_SPLITS
from leakgauge.referee.jackknife import n_splits, these_splits
from leakgauge.referee.metric_evaluation import (
    evaluate_rate,
    evaluate_sequence,
    is_one_release,
    is_only_release,
    rate_metrics,
    threshold_loss,
)

LEADING_METRICS = ("accuracy_own", "accuracy_mean", "accuracy")  # the first that is known is shown first
MOST_ROUNDS = 10**9  # beyond this no number of rounds is suggested
MOST_ROUNDS_TRIED = 2**17
MOST_TARGETS_TRIED = 50
ROUNDS_FOR_INTERVALS = 100  # with so many, nearly all metrics have an interval
LEAST_DISTANCE = 0.25  # from a limit, in widths of the bound; closer, a value is on either side by chance
_UNINFORMATIVE, _DRAWS = 100, 20  # blocks of the stream of ties: releases without information
_MISSED = 2  # of them may be above a limit

ANY_ATTACKER = "any attacker with this knowledge"
ATTACKERS_TRIED = "the attackers tried"
ONE_RELEASE = "the attackers tried, on this one release"
DRAWN_SPLITS = f"{ATTACKERS_TRIED}, for "  # so many splits of the people
INSIDE = "the limit is inside the confidence interval"
AT_LIMIT = f"{INSIDE}, and so close to the value that nobody can say how many more rounds would decide"
NOT_CLEARED = "; what the stated noise distribution allows clears nobody: "
OVERFITTED = (
    "a threshold fitted to these releases knows the people who are in all of them, and this attacker does "
    "not: that number is too high to show that the limit is exceeded, and at the attack's own threshold it "
    "is not shown either; state the limit for an attacker who knows everyone else"
)


class RiskStatus(StrEnum):
    """How the success of an attacker compares with the limits.

    Attributes:
        WITHIN: Every upper confidence bound is below its limit.
        OVER: Some lower confidence bound is above its limit.
        UNDECIDED: Neither can be said with confidence.
        NO_LIMIT: The owner stated no limit for this attacker.
    """

    WITHIN = "within"
    OVER = "over"
    UNDECIDED = "undecided"
    NO_LIMIT = "no limit"


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How well an attacker does, compared with the owner's limits.

    Attributes:
        status: Whether it is within the limits.
        metric: The name of the metric that the status rests on; the leading number where there is no limit.
        value: Its estimate.
        low: Its one-sided lower bound for the comparison with the limit, at the error divided by all
            comparisons; the low end of the interval of the metric where there is no limit.
        high: Its one-sided upper bound for the comparison with the limit; the high end of the interval of the
            metric where there is no limit.
        low_confidence: The confidence of `low` by itself: it is too high with a chance of 1 minus this. None
            where `low` is exact or missing.
        high_confidence: The same for `high`.
        channel: What beside the answers the attacker looks at, where that tells more than they do.
        limit: The limit; None where there is none.
        attacker: The label of the attacker.
        scope: Whom the status is about: the attackers tried, or any attacker with this knowledge.
        reason: Why it is undecided, or has no limit.
        rounds_needed: About how many rounds would decide, in steps of 1, 2, 5, 10, or give an interval where
            there is none yet; None where that is not known, as with a value at the limit.
        by_limit: The same for each limit by itself, by the name in `[limits]`; not in `verdicts.json`, where
            the summary has the worst of each.
    """

    status: RiskStatus
    metric: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    attacker: str | None = None
    scope: str = ATTACKERS_TRIED
    reason: str | None = None
    rounds_needed: int | None = None
    low_confidence: float | None = None
    high_confidence: float | None = None
    channel: str | None = None
    by_limit: Mapping[str, "Risk"] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class LimitResult:
    """One stated limit beside the attacker that comes closest to it, or is furthest above.

    Attributes:
        metric: The name of the limit, as in `[limits]`.
        limit: The limit.
        status: Whether all attackers that count are within it.
        compared: The metric that is compared: a limit on `accuracy` applies to `accuracy_own` too.
        value: Its estimate.
        low: Its one-sided lower bound, as in `Risk`.
        high: Its one-sided upper bound.
        attacker: The label of the attacker.
        audit: The audit; None for people recognised, which are counted over all audits.
        reason: Why it is undecided.
    """

    metric: str
    limit: float | None
    status: RiskStatus
    compared: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    attacker: str | None = None
    audit: str | None = None
    reason: str | None = None


def limit_result(name: str, risk: Risk, audit: str | None) -> LimitResult:
    """State the worst risk by one limit."""
    return LimitResult(
        metric=name,
        limit=risk.limit,
        status=risk.status,
        compared=risk.metric,
        value=risk.value,
        low=risk.low,
        high=risk.high,
        attacker=risk.attacker,
        audit=audit,
        reason=risk.reason,
    )


def change_risk(risk: Risk, change: Callable[[Risk], Risk]) -> Risk:
    """Change a risk, and in the same way that by each limit."""
    return replace(change(risk), by_limit={name: change(one) for name, one in risk.by_limit.items()})


@dataclass(frozen=True, kw_only=True)
class RiskContext:
    """What decides how the error is divided, and what no number of rounds can change.

    Attributes:
        confidence: The confidence level of the audit.
        comparisons: Audits times attackers times limited metrics: the error of `over` is divided by it.
        sweep_points: How many settings were compared: the error of `within` is divided by it.
        optimum: What the best possible attacker reaches, by metric, where the noise distribution is known.
        refuted: Why the stated noise distribution does not hold, so that its optimum clears nobody: what this
            audit found. None where nothing speaks against it.
        noise_is_stated: Whether a noise distribution is stated, on which attackers rest, also where its
            optimum is not relied on: that of a service, or of knowledge that failed its positive control.
        looked: Why bounds for a fixed number of rounds do not hold, such as rounds added after a look at the
            result; then those are used that may be read at any time, where a metric has them.
        block: After how many rounds at a time such bounds are read.
        overfitted: Whether numbers with thresholds fitted to the rounds are too high for this attacker. Then
            only its own threshold can show that it is over a limit.
        understated: Why this attacker does worse in these rounds than somebody could. Then it can be over a
            limit, but not within.
    """

    confidence: float
    comparisons: int = 1
    sweep_points: int = 1
    optimum: Mapping[str, float] | None = None
    refuted: str | None = None
    noise_is_stated: bool = False
    looked: str | None = None
    block: int = 100
    overfitted: bool = False
    understated: str | None = None


@dataclass(frozen=True, kw_only=True)
class _LimitCheck:
    """One metric beside its limit, with the bounds that decide; ``stated`` is the name of the limit."""

    stated: str
    metric: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    low_confidence: float | None = None
    high_confidence: float | None = None
    high_any_split: float | None = None

    @property
    def over(self) -> bool:
        return self.low is not None and self.low > self.limit

    @property
    def within(self) -> bool:
        return self.high is not None and self.high < self.limit

    @property
    def within_for_any_split(self) -> bool:
        return self.high_any_split is not None and self.high_any_split < self.limit

    @property
    def margin(self) -> float:
        """How far the upper bound is above the limit; what is not known counts as far."""
        return 1.0 if self.high is None else self.high - self.limit

    def rounds_needed(self, n_rounds: int) -> int | None:
        """About how many rounds would put the limit outside the interval, if the value stays: 1, 2, 5, 10 ...

        Nothing where the value is so close to the limit that chance decides on which side it is. The number
        depends on the square of that distance, so it is no better known than to such steps.
        """
        if self.value is None or self.low is None or self.high is None:
            return None
        distance = abs(self.value - self.limit)
        width = self.high - self.value if self.value < self.limit else self.value - self.low
        if not distance > LEAST_DISTANCE * width:
            return None
        needed = n_rounds * (width / distance) ** 2
        return _next_step(needed) if needed < MOST_ROUNDS else None


def _next_step(number: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50 and so on.

    >>> _next_step(2.1), _next_step(500), _next_step(501)
    (5, 500, 1000)
    """
    power = 10 ** (len(str(ceil(number))) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= ceil(number))


def assess_risk(
    trials: Trials,
    estimates: Mapping[str, Estimate],
    *,
    limits: Limits,
    attacker: str,
    counted: bool,
    n_rounds: int,
    context: RiskContext,
) -> Risk:
    """Compare the success of one attacker with the limits.

    ``estimates`` are those of its verdict; ``counted`` says whether the limits are about it. Where the exact
    optimum is below every limit no rounds are needed, and the answer is about any such attacker, unless the
    noise distribution it rests on was refuted. Then nobody is within: the attackers tried rest on it too,
    unless no distribution was stated at all.
    """
    if not limits.metrics or not counted:
        return _without_limit(estimates, attacker, counted=counted, limits=limits)
    risk = _compared(trials, estimates, limits, attacker, n_rounds, context)
    stated = context.noise_is_stated or context.optimum is not None
    one_release = is_one_release(trials)

    def doubted(risk: Risk) -> Risk:
        if context.refuted and stated and risk.status is not RiskStatus.OVER:
            said = (
                risk.reason or "the attackers tried stay below the limit, but take the noise to be as stated"
            )
            cleared = _exact_checks(limits, context.optimum) is not None
            reason = f"{said}{NOT_CLEARED if cleared else '; '}{context.refuted}"
            risk = replace(risk, status=RiskStatus.UNDECIDED, reason=reason, rounds_needed=None)
        if context.understated and risk.status is RiskStatus.WITHIN and risk.scope != ANY_ATTACKER:
            return replace(risk, status=RiskStatus.UNDECIDED, reason=context.understated, rounds_needed=None)
        if risk.scope == ATTACKERS_TRIED and one_release:
            return replace(risk, scope=ONE_RELEASE)
        return risk

    return change_risk(risk, doubted)


def _compared(
    trials: Trials,
    estimates: Mapping[str, Estimate],
    limits: Limits,
    attacker: str,
    n_rounds: int,
    context: RiskContext,
) -> Risk:
    checks = _limit_checks(trials, estimates, limits, context)
    # the noise is refuted by some attacker of the audit, or by these trials
    refuted = context.refuted is not None or any(check.over for check in checks)
    exact = None if refuted else _exact_checks(limits, context.optimum)

    def decided(some: list[_LimitCheck]) -> Risk:
        if exact is not None:
            return _risk(RiskStatus.WITHIN, max(some, key=_margin), attacker, scope=ANY_ATTACKER)
        return _decided(trials, some, attacker, n_rounds, context)

    used = checks if exact is None else exact
    by_limit = {name: decided([check for check in used if check.stated == name]) for name in limits.metrics}
    return replace(decided(used), by_limit=by_limit)


def _decided(
    trials: Trials, checks: list[_LimitCheck], attacker: str, n_rounds: int, context: RiskContext
) -> Risk:
    """The risk by some of the comparisons with limits."""
    if over := [check for check in checks if check.over]:
        return _risk(RiskStatus.OVER, max(over, key=_excess), attacker)
    if all(check.within for check in checks):
        return _risk(
            RiskStatus.WITHIN, max(checks, key=_margin), attacker, scope=_split_scope(trials, checks)
        )
    open_checks = [check for check in checks if not check.within]
    worst = max(open_checks, key=_margin)
    above = [check for check in open_checks if check.value is not None and check.value > check.limit]
    needed = [check.rounds_needed(n_rounds) for check in above or open_checks]
    known = [rounds for rounds in needed if rounds is not None]
    rounds_needed = _rounds_to_decide(known, needed, any_suffices=bool(above))
    if is_only_release(trials):  # the interval is over its records, which more rounds do not add to
        rounds_needed = None
    elif worst.high is None and context.looked is None:
        rounds_needed = ROUNDS_FOR_INTERVALS if n_rounds < ROUNDS_FOR_INTERVALS else None
    return _risk(
        RiskStatus.UNDECIDED,
        worst,
        attacker,
        reason=worst.reason or _inside_interval(trials, at_limit=rounds_needed is None),
        rounds_needed=rounds_needed,
    )


def _split_scope(trials: Trials, checks: list[_LimitCheck]) -> str:
    """Whom `within` is about: only the splits of the people that were drawn, where a rare one may differ.

    An attack that works in one split of ten is not seen at all in a third of audits with ten splits.
    """
    if trials.splits is None or all(check.within_for_any_split for check in checks):
        return ATTACKERS_TRIED
    return f"{DRAWN_SPLITS}{these_splits(n_splits(trials))}"


def _inside_interval(trials: Trials, *, at_limit: bool) -> str:
    """Why a limit is not decided; an interval over splits of the people needs more of these too."""
    if is_only_release(trials):
        return f"{INSIDE}, which is over the records of one release: more members and others would narrow it"
    if n_splits(trials) < FEWEST_SPLITS:
        return AT_LIMIT if at_limit else INSIDE
    return f"{INSIDE}, which is over {n_splits(trials)} splits of the people: raise splits with rounds"


def _rounds_to_decide(known: list[int], needed: list[int | None], *, any_suffices: bool) -> int | None:
    """One bound above its limit decides; to be within, all bounds have to be below theirs."""
    if any_suffices:
        return min(known, default=None)
    return max(known) if known and len(known) == len(needed) else None


def count_comparisons(limits: Limits, n_attackers: int) -> int:
    """How many comparisons with limits a run makes: attackers of all its audits times limited metrics."""
    limited = sum(max(1, len(metrics_under_limit(name)[0])) for name in limits.metrics)
    return max(1, n_attackers * limited)


def rounds_for_limits(
    limits: Limits, *, confidence: float, sweep_points: int = 1, splits: int = 1, n_targets: int = 1
) -> dict[str, int | None]:
    """About how many rounds each limit needs, with an attacker who learns nothing.

    Then nine of ten audits are within it. Anybody who does better needs more. Nothing where even very many
    rounds do not suffice. Where rounds take turns with so many ``splits`` of the people, thresholds are
    chosen on other splits and intervals are over splits.
    """
    share = (1 - confidence) / sweep_points
    return {
        name: _rounds_for_limit(name, limit, 1 - 2 * share, splits, n_targets)
        for name, limit in limits.metrics.items()
    }


@cache
def _rounds_for_limit(name: str, limit: float, confidence: float, splits: int, n_targets: int) -> int | None:
    """Double the rounds until the upper bound is below the limit, then halve the steps."""
    metrics, itself = metrics_under_limit(name)
    checked = [rate_metrics()[metric](confidence=confidence) for metric in metrics or (itself,)]

    def is_enough(n_rounds: int) -> bool:
        missed = (
            draw
            for draw in range(_DRAWS)
            if not is_within(_uninformative_trials(n_rounds, draw, splits, n_targets))
        )
        return len(list(islice(missed, _MISSED + 1))) <= _MISSED

    def is_within(trials: Trials) -> bool:
        return all(
            (evaluate_rate(metric, trials, confidence).high or 1.0) + threshold_loss(metric, trials) < limit
            for metric in checked
        )

    high = FEWEST_ROUNDS
    while not is_enough(high):
        if high > MOST_ROUNDS_TRIED:
            return None
        high *= 2
    low = high // 2
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _uninformative_trials(n_rounds: int, draw: int, splits: int, n_targets: int) -> Trials:
    """Rounds with some targets, each in half of them, and scores that say nothing about any."""
    rng = stream(0, Role.TIES, _UNINFORMATIVE + draw)
    members = np.concatenate([rng.permutation(n_rounds) % 2 == 0 for _ in range(n_targets)])
    scores = rng.normal(size=n_rounds * n_targets)
    rounds, targets = np.tile(np.arange(n_rounds), n_targets), np.repeat(np.arange(n_targets), n_rounds)
    trials = Trials(rounds, targets, members, scores, Coins.FAIR, Reading(threshold=0.0))
    return trials if splits == 1 else replace(trials, splits=rounds % splits)


def leading_metric(estimates: Mapping[str, Estimate]) -> str | None:
    """Name the number to show first: what the attacker achieves at its own threshold, where it has one."""
    known = (name for name in LEADING_METRICS if name in estimates and estimates[name].value is not None)
    return next(known, None)


def _without_limit(
    estimates: Mapping[str, Estimate], attacker: str, *, counted: bool, limits: Limits
) -> Risk:
    reason = "no limit is stated" if counted or not limits.metrics else "the limits are about other attackers"
    name = leading_metric(estimates)
    if name is None:
        return Risk(status=RiskStatus.NO_LIMIT, attacker=attacker, reason=reason)
    answer = estimates[name]
    one_sided = (1 + answer.confidence) / 2  # an interval leaves half of its error on each side
    return Risk(
        status=RiskStatus.NO_LIMIT,
        metric=name,
        value=answer.value,
        low=answer.low,
        high=answer.high,
        attacker=attacker,
        reason=reason,
        low_confidence=None if answer.low is None else one_sided,
        high_confidence=None if answer.high is None else one_sided,
    )


def _exact_checks(limits: Limits, optimum: Mapping[str, float] | None) -> list[_LimitCheck] | None:
    """The optimum beside each limit, if all are known and below."""
    if optimum is None:
        return None
    if not all(name in optimum and optimum[name] < limit for name, limit in limits.metrics.items()):
        return None
    return [
        _LimitCheck(
            stated=name,
            metric=name,
            limit=limit,
            value=optimum[name],
            low=None,
            high=optimum[name],
            reason=None,
        )
        for name, limit in limits.metrics.items()
    ]


def _limit_checks(
    trials: Trials, estimates: Mapping[str, Estimate], limits: Limits, context: RiskContext
) -> list[_LimitCheck]:
    error = 1 - context.confidence
    shares = error / context.comparisons, error / context.sweep_points  # often the same
    checks = []
    for name, limit in limits.metrics.items():
        for metric in _applicable(name, estimates):
            # bounds on one side: a two-sided interval spends half of its error there
            bounds = {
                share: _bounds(metric, trials, 1 - 2 * share, context) for share in dict.fromkeys(shares)
            }
            below, above = (bounds[share] for share in shares)
            # somebody who places thresholds better is at most so much more often right
            fixed = context.looked is None and above.high is not None
            loss = threshold_loss(rate_metrics()[metric](), trials) if fixed else 0.0
            checks.append(
                _LimitCheck(
                    stated=name,
                    metric=metric,
                    limit=limit,
                    value=below.value,
                    low=None if _is_too_high(metric, context) else below.low,
                    high=None if above.high is None else min(1.0, above.high + loss),
                    high_any_split=None if above.high_any_split is None else above.high_any_split + loss,
                    reason=above.reason
                    if above.high is None
                    else OVERFITTED
                    if _is_too_high(metric, context)
                    else None,
                    low_confidence=1 - shares[0],
                    high_confidence=1 - shares[1],
                )
            )
    return checks


def _bounds(metric: str, trials: Trials, confidence: float, context: RiskContext) -> Estimate:
    """The estimate with bounds for the planned rounds, or for any time where looks decided on the rounds."""
    known = rate_metrics()[metric](confidence=confidence)
    if context.looked is None:
        return evaluate_rate(known, trials, confidence)
    if known.has_sequence:
        return evaluate_sequence(known, trials, context.block, confidence)
    return replace(evaluate_rate(known, trials, confidence), low=None, high=None, reason=context.looked)


def is_limit_decided(trials: Trials, limits: Limits, context: RiskContext) -> bool:
    """Whether one attacker is over a limit or within all of them, by bounds that may be read at any time."""
    names = {name for limit in limits.metrics for name in (*metrics_under_limit(limit)[0], limit)}
    estimates = {name: _bounds(name, trials, context.confidence, context) for name in names}
    checks = _limit_checks(trials, estimates, limits, context)
    return any(check.over for check in checks) or all(check.within for check in checks)


def _is_too_high(metric: str, context: RiskContext) -> bool:
    return context.overfitted and rate_metrics()[metric]().fits_threshold


def _applicable(name: str, estimates: Mapping[str, Estimate]) -> list[str]:
    """The metrics to which a limit applies here; the limited metric itself where its mean is unknown."""
    others, itself = metrics_under_limit(name)
    known = [other for other in others if estimates[other].value is not None]
    means = [other for other in known if rate_metrics()[other]().mean_of == itself]
    return known if means else [*known, itself]


def _risk(
    status: RiskStatus,
    check: _LimitCheck,
    attacker: str,
    *,
    scope: str = ATTACKERS_TRIED,
    reason: str | None = None,
    rounds_needed: int | None = None,
) -> Risk:
    return Risk(
        status=status,
        metric=check.metric,
        value=check.value,
        low=check.low,
        high=check.high,
        limit=check.limit,
        attacker=attacker,
        scope=scope,
        reason=reason,
        rounds_needed=rounds_needed,
        low_confidence=None if check.low is None else check.low_confidence,
        high_confidence=None if check.high is None else check.high_confidence,
    )


def _margin(check: _LimitCheck) -> float:
    return check.margin


def _excess(check: _LimitCheck) -> float:
    return (check.low or 0.0) - check.limit
