"""Verdicts: the trials of one attacker judged against the promise, and their form in verdicts.json."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

from leakgauge import catalog, promise_tests
from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.limits import Limits
from leakgauge.plan import MetricsTable
from leakgauge.referee import conformance as conformance_tests
from leakgauge.referee import instrument_check
from leakgauge.referee.assumptions import unfair_coins
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.metric_evaluation import evaluate, evaluate_rate, evaluate_sequence, rate_metrics
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.one_run_curve import rejects_curve
from leakgauge.referee.per_target import target_rows
from leakgauge.referee.roc import is_reversed, roc, thin_curve
from leakgauge.risk import LEADING_METRICS, Risk, RiskStatus, change_risk
from leakgauge.support.result_views import result_views
from leakgauge.theory import tradeoff
from leakgauge.theory.metric_bounds import metric_bounds

_JUDGE = "_judge_again"  # no field of a verdict: a function that holds its trials
_REVERSED = "members clearly score lower than others, so whoever reverses the scores identifies them; "
REVERSED = (
    f"{_REVERSED}a higher score must mean more likely a member: check the sign of the scores, and who is "
    "called a member"
)
REVERSED_RELEASE = (
    f"{_REVERSED}the release does the opposite of what is stated: check that releases with and without the "
    "target are not swapped, and that the noise and the rules are those of the release"
)
MEMBERSHIP_GIVEN = (
    "membership was given, not drawn at random, so members and non-members may differ even without the "
    "release; with scores of your own, say so if a fair coin decided each membership (coins fair)"
)


class Finding(StrEnum):
    """What an audit can say about a promise; it never says "private".

    Attributes:
        VIOLATED: The attack succeeds more often than the promise allows.
        NOT_VIOLATED: This attack, in these rounds, does not. A stronger attack might.
        UNDECIDED: In so few rounds a leak as large as the promise would not have been noticed.
        UNTESTABLE: No attack recognised anybody even in the positive control, without protection.
    """

    VIOLATED = "violated"
    NOT_VIOLATED = "not violated"
    UNDECIDED = "undecided"
    UNTESTABLE = "untestable"


@dataclass(frozen=True, kw_only=True)
class VerdictSubject:
    """What a verdict is about."""

    audit: str
    domain: str
    label: str
    attack: str
    knowledge: str
    parameters: dict[str, dict[str, Any]]  # data, challenger, mechanism, attack
    seed: int
    utility: dict[str, float] | None = None  # what the release is good for, by whoever used it
    assumed: tuple[str, ...] = ()  # keys of the plan that nobody stated


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How well one attacker did, and what the promise allows; the fields are those of `verdicts.json`.

    Attributes:
        audit: The name of the audit.
        domain: The kind of release.
        label: The name of the attacker.
        attack: The name of the attack.
        knowledge: The name of what the attacker knew.
        parameters: The tables data, challenger, mechanism and attack of the plan, without personal values.
        seed: The seed of all random numbers.
        rounds: How many releases were simulated.
        n_targets: How many people's membership was in question in a round.
        coins: How membership was decided: "fair" or "given".
        event: What a learned attack looks at, in words.
        clue: The known cause of what it looks at, by name, such as `floating_point`.
        metrics: The estimates by the name of the metric, such as `accuracy`, `auc` and `epsilon`.
        bounds: What the promise allows, by the name of the metric.
        promised: The promise: epsilon, delta, relation and unit; None if nothing is promised.
        finding: Whether the promise is kept; None if nothing is promised.
        corrected_for: The number of verdicts in the plan, by which the error of the finding is divided.
        rounds_needed: In how many rounds a leak as large as the promise would be noticed; None if in none.
        stopped_early: Whether the audit ended before the planned number of rounds.
        roc: The ROC curve: fpr and tpr, at most 500 points.
        bound_roc: The ROC curve that the promise allows.
        per_target: Correct identifications, AUC and accuracy for each target, if there are several.
        instrument: How the same statistics judge a release without a leak, and one with a known leak; and
            whether the attack recognises members where nothing protects them.
        utility: What the release is good for, where the domain measures it.
        studied: Numbers that the attack worked out before the first counted round.
        spent: The epsilon of the answers that the attack obtained, by each way of counting it.
        draws: Where the attacker's data were drawn several times: the number of draws, and the mean, the
            smallest and the largest accuracy at its own threshold over them.
        notes: Why these trials are no evidence of safety, if they are none.
        risk: How well this attacker identifies people, compared with the owner's limits.
        about: What a finding is about, if not the stated epsilon: "curve" or "mechanism".
        certain: Whether a violation needs no statistics.
        evidence: What transcripts show besides the game, in words: violations first, then what else is not as
            stated.
        conformance: The tests of transcripts: name, p value, number of values, whether each rejects, and
            whether that means a larger epsilon.
        withdrawn: Why the rounds are no evidence, so that the game says nothing; None usually.
        unread: What came back and no attack and no test read, by name: nobody is cleared beside it.
        assumed: The keys of the plan that leakgauge assumed and nobody stated, such as `mechanism.epsilon`.
        for_any_epsilon: Whether a violation would be one with any other epsilon too.
    """

    audit: str
    domain: str
    label: str
    attack: str
    knowledge: str
    parameters: dict[str, dict[str, Any]]
    seed: int
    rounds: int
    n_targets: int
    coins: str
    event: str | None = None
    clue: str | None = None
    metrics: dict[str, Estimate]
    bounds: dict[str, float | None]
    promised: dict[str, Any] | None
    finding: Finding | None
    corrected_for: int
    rounds_needed: int | None
    stopped_early: bool
    roc: dict[str, list[float]]
    bound_roc: dict[str, list[float]] | None
    per_target: list[dict[str, Any]] = field(default_factory=list)
    instrument: dict[str, Any] = field(default_factory=dict)
    utility: dict[str, float] | None = None
    studied: dict[str, float] | None = None
    spent: dict[str, dict[str, float]] | None = None
    draws: dict[str, float] | None = None
    notes: list[str] = field(default_factory=list)
    risk: Risk | None = None
    about: str | None = None
    certain: bool = False
    evidence: tuple[str, ...] = ()
    conformance: list[dict[str, Any]] = field(default_factory=list)
    withdrawn: str | None = None
    unread: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    for_any_epsilon: bool = False

    def to_frame(self) -> Any:
        """One row for each metric: a frame of pandas or polars, or a dict of columns."""
        return result_views().result_frame([self])

    def plot(self) -> Any:
        """Draw how often the attacker is right, beside what the promise allows: a chart of Altair."""
        return result_views().result_chart([self], {})

    def save_report(self, path: str | Path) -> Path:
        """Write the report as one HTML file."""
        return result_views().save_result([self], path, {})

    def check(self, limits: "Limits | Mapping[str, Any]") -> Any:
        """Judge the same trials by limits, such as {"accuracy": 0.6}; the answer has an `exit_code`."""
        return result_views().check_verdict(self, limits)

    def judged_again(self, limits: "Limits") -> "Verdict":
        """Return this verdict with the risk by other limits; only one that still has its trials can."""
        judge: Callable[[Limits], Verdict] | None = vars(self).get(_JUDGE)
        if judge is None:
            raise BadInput(
                "check: this verdict has no trials; take the one that the audit returned, or call check of "
                "the whole result"
            )
        return judge(limits)

    def _repr_html_(self) -> str:
        return result_views().result_html([self], {})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _JUDGE}


def keep_trials(found: Verdict, judge: "Callable[[Limits], Verdict]") -> Verdict:
    """Let a verdict be judged by other limits: ``judge`` holds its trials, which no file of it has."""
    object.__setattr__(found, _JUDGE, judge)
    return found


def judge_trials(
    trials: Trials,
    *,
    guarantee: Guarantee | None,
    subject: VerdictSubject,
    metrics: MetricsTable,
    n_verdicts: int = 1,
    stopped_early: bool = False,
    schedule: promise_tests.StoppingSchedule | None = None,
    control: dict[str, Any] | None = None,
    conformance: Conformance | None = None,
) -> Verdict:
    """Judge one attacker's trials against the promise.

    Intervals are at the confidence of the plan, per verdict; the finding divides the error by the number of
    verdicts. An audit with a schedule might have stopped at any block, so only its e-process counts.
    ``control`` is the result of the attack's positive control. ``mark_untestable`` then compares the
    attackers of an audit. ``conformance`` is what the transcripts show besides the game: its tests then have
    half of the error, except where an audit may stop early, which leaves only what is certain.
    """
    error = (1 - metrics.confidence) / n_verdicts
    tested = conformance is not None and schedule is None
    n_shares = n_verdicts * 2 if tested else n_verdicts  # of the error, of which the game has one
    epsilon = promise_tests.epsilon_metric(metrics, guarantee, schedule, metrics.confidence)
    answers = promise_tests.applicable_metrics(trials, metrics)
    targets, n_rounds = np.unique(trials.targets), np.unique(trials.rounds).size
    rng = stream(subject.seed, Role.INSTRUMENT)
    test = (
        None
        if guarantee is None
        else promise_tests.PromiseTest(
            metrics=answers or metrics,
            guarantee=guarantee,
            n_verdicts=n_shares,
            schedule=schedule,
            trials_per_round=len(trials) / n_rounds,
        )
    )
    planted = instrument_check.planted_leak(
        len(trials),
        (epsilon if test is None else test.epsilon_metric) if answers else None,
        None if guarantee is None else guarantee.epsilon,
        rng,
        shared_rounds=trials.shared_rounds,
    )
    finding, about = (
        (None, None)
        if guarantee is None
        else compare_with_promise(trials, guarantee, metrics, n_shares, schedule)
    )
    control = control or instrument_check.no_positive_control("none was run")
    if test is not None and finding is Finding.NOT_VIOLATED and control["status"] != "not needed":
        seen, promised = planted["epsilon"], test.guarantee.epsilon
        if np.isfinite(promised) and (seen is None or seen > promised):
            finding = Finding.UNDECIDED  # a leak as large as the promise would not have been noticed
    found = Verdict(
        **{**vars(subject), "utility": {**(subject.utility or {}), **_mean_utility(trials)} or None},
        rounds=n_rounds,
        n_targets=max(targets.size, -(-len(trials) // n_rounds)),  # each round may have targets of its own
        coins=trials.coins.value,
        event=trials.reading.event,
        clue=trials.reading.clue,
        metrics=_estimates(trials, epsilon, metrics, schedule),
        bounds={} if guarantee is None else dict(metric_bounds(guarantee, LOW_FPRS)),
        promised=None if guarantee is None else _promise_fields(guarantee),
        finding=finding,
        about=about,
        corrected_for=n_verdicts,
        rounds_needed=None
        if test is None or answers is None or trials.coins is Coins.GIVEN
        else test.rounds_needed,
        stopped_early=stopped_early,
        roc=_roc_points(trials),
        bound_roc=None if guarantee is None else _thinned_points(*vars(tradeoff.curve(guarantee)).values()),
        per_target=_per_target(trials) if 1 < targets.size < len(trials) else [],  # one trial tells nothing
        instrument={
            "null": instrument_check.null_release(trials, epsilon, metrics.confidence, rng),
            "planted": planted,
            "control": control,
        },
        studied=trials.reading.studied or None,
        spent={name: _least_mean_most(column) for name, column in trials.spent.items()} or None,
        draws=_over_draws(trials),
        notes=_notes(trials, subject),
    )
    return found if conformance is None else _with_conformance(found, conformance, error / 2 * tested)


def verdict_without_rounds(
    reason: str,
    *,
    guarantee: Guarantee | None,
    subject: VerdictSubject,
    metrics: MetricsTable,
    n_targets: int,
    coins: Coins,
    n_verdicts: int = 1,
) -> Verdict:
    """Judge an audit of which no round was simulated, because none could have shown anything."""
    names = [*rate_metrics(["in_sample"] if metrics.in_sample else []), "epsilon"]
    none = Estimate(value=None, confidence=metrics.confidence, method="none", reason=reason)
    return Verdict(
        **vars(subject),
        rounds=0,
        n_targets=n_targets,
        coins=coins.value,
        metrics=dict.fromkeys(names, none),
        bounds={} if guarantee is None else dict(metric_bounds(guarantee, LOW_FPRS)),
        promised=None if guarantee is None else _promise_fields(guarantee),
        finding=None if guarantee is None else Finding.UNTESTABLE,
        corrected_for=n_verdicts,
        rounds_needed=None,
        stopped_early=False,
        roc={"fpr": [], "tpr": []},
        bound_roc=None,
        instrument={
            "null": None,
            "planted": None,
            "control": instrument_check.no_positive_control(reason),
        },
        notes=[reason],
        risk=Risk(status=RiskStatus.UNDECIDED, attacker=subject.label, reason=reason),
        withdrawn=reason,
    )


def _with_conformance(found: Verdict, seen: Conformance, error: float) -> Verdict:
    """Add what the transcripts show: a violation, or a mechanism that is not as stated.

    Without a promise nothing is violated, but the mechanism may still not be as stated.
    """
    decided = conformance_tests.decide_conformance(seen, error)
    evidence = (*decided.violations, *decided.departures)
    violated = bool(decided.violations) and found.promised is not None
    shown = found.finding is Finding.VIOLATED  # by the game, which says more than a departure
    # of a mechanism that is certainly not as stated, the game says nothing
    open_again = bool(seen.departures) and found.finding is Finding.NOT_VIOLATED
    found = replace(
        found,
        finding=Finding.VIOLATED if violated else Finding.UNDECIDED if open_again else found.finding,
        rounds_needed=None if open_again and not violated else found.rounds_needed,
        certain=violated and decided.certain,
        about=None if violated else "mechanism" if evidence and not shown else found.about,
        evidence=evidence,
        conformance=decided.rows,
        unread=seen.unread,
        for_any_epsilon=violated and bool(seen.certain) and seen.for_any_epsilon,
    )
    withdrawn = seen.dependent or seen.unanswered
    return found if withdrawn is None else _without_game(found, withdrawn)


def _without_game(found: Verdict, reason: str) -> Verdict:
    """Withdraw what the game says where its rounds are no evidence: what the transcripts show remains."""
    metrics = {
        name: Estimate(value=None, confidence=estimate.confidence, method="none", reason=reason)
        for name, estimate in found.metrics.items()
    }
    by_transcript = found.finding is Finding.VIOLATED and found.evidence and found.about is None
    finding = found.finding if by_transcript or found.finding is None else Finding.UNTESTABLE
    about = None if found.about == "curve" else found.about
    return replace(
        found,
        metrics=metrics,
        finding=finding,
        about=about,
        notes=[reason],
        withdrawn=reason,
        roc={"fpr": [], "tpr": []},
        per_target=[],
    )


def measured_channels(found: Verdict) -> list[dict[str, Any]]:
    """The tests of what came back beside the answers that say how often somebody who looks at it is right."""
    return [row for row in found.conformance if row.get("right") is not None and row["n"]]


def risk_without_game(found: Verdict, risk: Risk, error: float = 0.0) -> Risk:
    """Withdraw the risk too where the rounds are no evidence; a real attacker has one of them.

    ``error`` is that of the lower bound on the success of who looks at something beside the answers.
    """
    if found.withdrawn is None:
        changed = change_risk(risk, lambda one: _risk_beside_channels(found, one, error))
        over = (one for one in changed.by_limit.values() if one.status is RiskStatus.OVER)
        return changed if changed.status is not RiskStatus.UNDECIDED else next(over, changed)
    allowed = found.bounds.get("accuracy")
    bound = (
        "" if allowed is None else f"; by the promise an attacker is right at most {allowed:.1%} of the time"
    )
    status = RiskStatus.NO_LIMIT if risk.status is RiskStatus.NO_LIMIT else RiskStatus.UNDECIDED
    reason = f"{found.withdrawn}{bound}"

    def withdrawn(one: Risk) -> Risk:
        return replace(one, status=status, value=None, low=None, high=None, reason=reason, rounds_needed=None)

    return change_risk(risk, withdrawn)


def _risk_beside_channels(found: Verdict, risk: Risk, error: float) -> Risk:
    """Nothing is within a limit where something tells the target, or may, and no attack used it.

    What tells it more often than the attacks do is the risk.
    """
    reason = not_read(found.unread)
    best = max(measured_channels(found), key=lambda row: row["right"] / row["n"], default=None)
    if best is not None and error > 0 and (risk.metric is None or risk.metric in LEADING_METRICS):
        right, n = best["right"], best["n"]
        value, low = right / n, float(scipy.special.betaincinv(max(right, 1), n - right + 1, error))
        over = risk.limit is not None and low > risk.limit
        more = risk.limit is None and best["rejected"]
        if right and (over or more) and value > (risk.value or 0.0):
            return replace(
                risk,
                status=RiskStatus.OVER if over else risk.status,
                metric="accuracy_own",
                value=value,
                low=low,
                high=None,
                low_confidence=1 - error,
                high_confidence=None,
                channel=best["channel"],
                reason=None if over else risk.reason,
                rounds_needed=None,
            )
    if found.certain or any(row["rejected"] and row["reveals"] for row in found.conformance):
        reason = "something beside the answers tells the target, and the attackers tried do not use it"
    elif risk.limit is not None and risk.metric in LEADING_METRICS:
        reason = reason or _open_channel(found, risk.limit, risk.high_confidence)
    if risk.status is not RiskStatus.WITHIN or reason is None:
        return risk
    return replace(risk, status=RiskStatus.UNDECIDED, reason=reason, rounds_needed=None)


def _open_channel(found: Verdict, limit: float, confidence: float | None) -> str | None:
    """Name what came back beside the answers if whoever reads it may be right more often than the limit."""
    for row in measured_channels(found):
        right, n = row["right"], row["n"]
        if scipy.special.betaincinv(right + 1, max(n - right, 1e-9), confidence or 0.95) >= limit:
            return f"{row['channel']} may tell the target: right in {right:,} of {n:,} rounds"
    return None


def not_read(channels: Sequence[str]) -> str | None:
    """Say what came back and was not read; nothing where all of it was."""
    if not channels:
        return None
    return f"not read: {', '.join(channels)}; an attacker who uses it may be right more often"


def why_not_as_stated(verdicts: Sequence[Verdict]) -> str | None:
    """What some attacker of one audit found against the stated noise distribution; nothing if none did.

    A promise that is violated, or a mechanism that is not as stated, is that of all attackers: the exact
    optimum of the stated distribution then says nothing about any of them.
    """
    if broken := [found for found in verdicts if found.finding is Finding.VIOLATED]:
        return f"{broken[0].label} found the promise violated, so the noise is not as stated"
    if other := [found for found in verdicts if found.about == "mechanism" or found.evidence]:
        return f"the answers given to {other[0].label} show that the mechanism is not as stated"
    return None


def why_untestable(found: Verdict) -> str | None:
    """Why the counted rounds of a verdict tested nothing; nothing where it is that its control failed."""
    control = (found.instrument.get("control") or {}).get("status")
    by_notes = found.notes and control in ("passed", "not possible")
    return found.withdrawn or (found.notes[0] if by_notes else None)


def mark_untestable(verdicts: Sequence[Verdict], counted: Collection[str]) -> list[Verdict]:
    """Withdraw the findings of an audit of which no attacker that counts could have seen a leak.

    ``counted`` are their labels. Such an attacker passed its positive control, where one was possible, and
    its scores in the counted rounds differ. A violation stays one.
    """
    able = [verdict for verdict in verdicts if verdict.label in counted]
    statuses = {verdict.label: verdict.instrument["control"]["status"] for verdict in able}
    accepted = ("passed",) if {"passed", "failed"} & set(statuses.values()) else ("not possible",)
    if "not needed" in statuses.values() or not able:
        return list(verdicts)
    if any(statuses[verdict.label] in accepted and not verdict.notes for verdict in able):
        return list(verdicts)
    return [
        verdict
        if verdict.finding in (None, Finding.VIOLATED)
        else replace(verdict, finding=Finding.UNTESTABLE)
        for verdict in verdicts
    ]


def _notes(trials: Trials, subject: VerdictSubject) -> list[str]:
    """Say why trials are no evidence of safety: nothing was answered, or the scores are equal or reversed."""
    notes = []
    if trials.spent and not any(column.any() for column in trials.spent.values()):
        notes.append("no question was answered in any round: this is not evidence of safety")
    if instrument_check.all_scores_equal(trials):
        notes.append("all scores are equal, so nobody is identified: this is not evidence of safety")
    if is_reversed(trials):
        own = catalog.is_built_in(subject.domain, subject.attack) and trials.coins is not Coins.GIVEN
        notes.append(REVERSED_RELEASE if own else REVERSED)
    return notes


def why_not_compared(verdict: Verdict) -> str | None:
    """Why these trials cannot be compared with a promise, however many there are; nothing if they can."""
    if verdict.coins == Coins.GIVEN:
        return MEMBERSHIP_GIVEN
    bound = verdict.metrics.get("epsilon")
    return bound.reason if bound is not None and bound.low is None else None


def decide_finding(
    trials: Trials,
    guarantee: Guarantee,
    metrics: MetricsTable,
    n_verdicts: int,
    schedule: promise_tests.StoppingSchedule | None,
) -> Finding:
    """Say whether these trials violate the promise."""
    return compare_with_promise(trials, guarantee, metrics, n_verdicts, schedule)[0]


def compare_with_promise(
    trials: Trials,
    guarantee: Guarantee,
    metrics: MetricsTable,
    n_verdicts: int,
    schedule: promise_tests.StoppingSchedule | None,
) -> tuple[Finding, str | None]:
    """Compare corrected lower bounds with what the promise allows; say what a violation is about.

    Without a curve epsilon alone is compared, at the whole error of this verdict; with one it gets half, and
    the rates share the other half equally; where trials share rounds and coins are fair, also with the
    one-run test of the curve. A violation shown by these alone is about the curve. Undecided means that not
    even scores without a single error would do; so it is where membership was given, since members and others
    may differ even without the release.
    """
    if trials.coins is Coins.GIVEN:
        return Finding.UNDECIDED, None
    trials = replace(trials, splits=None)  # a promise holds for every split of the people
    error, bounds = (1 - metrics.confidence) / n_verdicts, metric_bounds(guarantee, LOW_FPRS)
    rates = promise_tests.curve_checks(guarantee, schedule)
    share = error / 2 if rates else error
    curve = guarantee.curve if rates and trials.shared_rounds and not unfair_coins(trials) else None
    part = share / (len(rates) + (curve is not None)) if rates else 0.0
    epsilon, known = promise_tests.epsilon_metric(metrics, guarantee, schedule, 1 - share), rate_metrics()
    # two-sided intervals: only the lower half of their error is at stake
    checks = {name: known[name](confidence=1 - 2 * part) for name in rates}

    def exceeds(name: str, metric: Callable[[Trials], Estimate], scored: Trials) -> bool:
        low = evaluate(metric, scored, metrics.confidence).low
        return low is not None and low > bounds[name]

    def exceeds_curve(scored: Trials) -> bool:
        if curve is not None and rejects_curve(scored, curve, part):
            return True
        return any(exceeds(name, metric, scored) for name, metric in checks.items())

    if exceeds("epsilon", epsilon, trials):
        return Finding.VIOLATED, None
    if exceeds_curve(trials):
        return Finding.VIOLATED, "curve"
    reading = Reading(threshold=0.0, signed=True, fraction=1.0)
    perfect = replace(trials, scores=np.where(trials.members, 1.0, -1.0), reading=reading)
    testable = exceeds("epsilon", epsilon, perfect) or exceeds_curve(perfect)
    return Finding.NOT_VIOLATED if testable else Finding.UNDECIDED, None


def _estimates(
    trials: Trials,
    epsilon: EpsilonMetric,
    metrics: MetricsTable,
    schedule: promise_tests.StoppingSchedule | None,
) -> dict[str, Estimate]:
    confidence = metrics.confidence
    estimates = {
        name: evaluate_rate(metric(confidence=confidence), trials, confidence)
        for name, metric in rate_metrics(["in_sample"] if metrics.in_sample else []).items()
    }
    if schedule is not None:
        reason = "no interval: the audit may stop early, and intervals hold for a fixed number of rounds"
        known = rate_metrics()
        estimates = {
            name: evaluate_sequence(known[name](confidence=confidence), trials, schedule.block, confidence)
            if name in known and known[name]().has_sequence
            else replace(estimate, low=None, high=None, reason=reason)
            for name, estimate in estimates.items()
        }
    return {**estimates, "epsilon": evaluate(epsilon, trials, confidence)}


def _promise_fields(guarantee: Guarantee) -> dict[str, Any]:
    nominal = {"epsilon": guarantee.nominal_epsilon, "unit": guarantee.nominal_unit or guarantee.unit}
    if guarantee.nominal_exact is not None:
        nominal["exact"] = guarantee.nominal_exact
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "relation": guarantee.relation.value,
        "unit": guarantee.unit.value,
        "nominal": nominal if guarantee.nominal_epsilon is not None else None,
        "exact_epsilon": guarantee.exact_epsilon,
        "composed": None if guarantee.composed is None else asdict(guarantee.composed),
        "least_protected": None if guarantee.least_protected is None else asdict(guarantee.least_protected),
    }


def _least_mean_most(column: Reals) -> dict[str, float]:
    """What trials spent: the least, the mean and the most."""
    return {"least": float(column.min()), "mean": float(column.mean()), "most": float(column.max())}


def _over_draws(trials: Trials) -> dict[str, float] | None:
    """Accuracy at the own threshold under each split of the people, over all targets together."""
    if trials.splits is None or trials.reading.threshold is None:
        return None
    said = trials.scores >= trials.reading.threshold
    values = []
    for split in np.unique(trials.splits):
        members, others = (
            said[(trials.splits == split) & world] for world in (trials.members, ~trials.members)
        )
        if members.size and others.size:
            values.append((members.mean() + 1 - others.mean()) / 2)
    if len(values) < 2:
        return None
    return {
        "number": float(len(values)),
        "mean": float(np.mean(values)),
        "smallest": float(np.min(values)),
        "largest": float(np.max(values)),
    }


def _mean_utility(trials: Trials) -> dict[str, float]:
    """What the releases were good for, on average over the rounds that tell."""
    first = np.unique(trials.rounds, return_index=True)[1]
    known = {name: column[first][~np.isnan(column[first])] for name, column in trials.utility.items()}
    return {name: float(column.mean()) for name, column in known.items() if column.size}


def _roc_points(trials: Trials) -> dict[str, list[float]]:
    """Thin the ROC curve; so few rounds that one world is missing have none."""
    if trials.members.all() or not trials.members.any():
        return {"fpr": [], "tpr": []}
    curve = roc(trials)
    return _thinned_points(curve.fpr, curve.tpr)


def _thinned_points(fpr: Any, tpr: Any) -> dict[str, list[float]]:
    fpr, tpr = thin_curve(fpr, tpr)
    return {"fpr": fpr.tolist(), "tpr": tpr.tolist()}


def _per_target(trials: Trials) -> list[dict[str, Any]]:
    """Correct identifications, AUC and accuracy of each target, without intervals: there are many."""
    known = rate_metrics()
    metrics = {name: known[name](confidence=0.95) for name in ("accuracy_own", "auc", "accuracy")}
    return [
        {
            "target": int(target),
            "metrics": {
                name: evaluate(metric, rows, 0.95).value if 0 < rows.members.sum() < len(rows) else None
                for name, metric in metrics.items()
            },
        }
        for target, rows in target_rows(trials)
    ]


VERDICTS_SCHEMA = 2


def verdicts_to_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Write verdicts as verdicts.json holds them; what is missing or infinite becomes null."""
    return {"schema": VERDICTS_SCHEMA, "verdicts": [json_table(verdict) for verdict in verdicts]}


def json_table(found: Any) -> dict[str, Any]:
    """Write a verdict, a risk or a summary as JSON can hold it; without the risk by each limit."""

    def kept(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in fields if name != "by_limit"}

    return {name: json_value(value) for name, value in asdict(found, dict_factory=kept).items()}


def verdicts_from_json(content: Mapping[str, Any]) -> list[Verdict]:
    """Read verdicts back."""
    return [
        Verdict(
            **{
                **table,
                "metrics": {name: Estimate(**estimate) for name, estimate in table["metrics"].items()},
                "finding": None if table["finding"] is None else Finding(table["finding"]),
                "risk": None if table["risk"] is None else risk_from_json(table["risk"]),
                **{name: tuple(table.get(name, ())) for name in ("evidence", "unread", "assumed")},
            }
        )
        for table in content["verdicts"]
    ]


def risk_from_json(table: Mapping[str, Any]) -> Risk:
    """Read a risk back."""
    return Risk(**{**table, "status": RiskStatus(table["status"])})


def json_value(value: Any) -> Any:
    """Return the value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
