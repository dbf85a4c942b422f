"""What the owner of a release should do next: at most three concrete actions."""

import math
from collections.abc import Mapping
from typing import Any

from leakgauge import catalog
from leakgauge.core.guarantee import Unit
from leakgauge.limits import RECOGNISED_AT, limited_metrics, read_limits
from leakgauge.report.adversary_names import clip, whole_sentences
from leakgauge.report.judged_run import JudgedRun, is_finished, round_term
from leakgauge.report.metric_text import UNIT_NAMES, is_above_promise
from leakgauge.report.number_format import percent
from leakgauge.risk import RiskStatus, leading_metric
from leakgauge.summary import (
    NO_PROMISE,
    RUN_EXPOSE,
    STATE_ASSUMED,
    TOO_WEAK_ACCURACY,
    WEAK_ACCURACY,
    PromiseStrength,
    assumed_words,
    control_status,
    is_control,
    recognised_risk,
    refuted_audits,
    unprotected_words,
)
from leakgauge.theory.metric_bounds import epsilon_for_limits
from leakgauge.verdict import Finding, Verdict

TUNE = " leakgauge tune finds the most useful settings under a limit."
MOST_STEPS = 3
MOST_ROUNDS = 1_000_000  # that anybody is advised to simulate; how many are needed is said beside the answer
DO_NOT_PUBLISH = "Do not publish"
FIND_CAUSE = (
    "Compare the noise in the code with the promise, and add up all that is published about one person; then "
    "audit again."
)
AUDIT_AGAIN = "Audit the changed release again before you publish it."
SMALLEST_EPSILON = 0.01  # advice is rounded down to multiples of it
STATE_A_LIMIT = (
    "State how much is acceptable, such as accuracy = 0.6 under [limits] in the plan, and judge again."
)
STATE_A_LIMIT_IN_PYTHON = (
    'State how much is acceptable, such as limits={"accuracy": 0.6} of judge and audit_model, or under '
    "[limits] in a plan."
)


def next_steps(run: JudgedRun, leading: Verdict | None) -> tuple[str, ...]:
    """The actions, the most urgent first."""
    value = None if leading is None else _value(leading)
    undecided = run.summary.risk.status is RiskStatus.UNDECIDED
    over = run.summary.risk.status is RiskStatus.OVER  # then other settings come first
    count_people = _count_people(run, leading) if "recognised" in run.summary.limits else []
    steps = [
        *([f"{STATE_ASSUMED[:1].upper()}{STATE_ASSUMED[1:]}."] if run.summary.assumed else []),
        *(_stop(run, value) if not run.summary.assumed or run.summary.exit_code == 1 else []),
        *_fixes(run),
        *(_more_rounds(run) if undecided or (not over and _rounds_above_promise(run)) else []),
        *([] if over else count_people),
        *_other_setting(run, leading),
        *_lower_risk(run, leading, value),
        *count_people,
        *_stronger_promise(run),
        *_more_rounds(run),
        *(
            [STATE_A_LIMIT_IN_PYTHON if run.without_plan else STATE_A_LIMIT]
            if run.summary.risk.status is RiskStatus.NO_LIMIT and not run.summary.limits
            else []
        ),
        *_count_people(run, leading),
    ]
    return tuple(dict.fromkeys(steps))[:MOST_STEPS] or (
        "Keep this report with the release, and audit again when the data, the settings or the code change.",
    )


def decision_line(run: JudgedRun, leading: Verdict | None) -> tuple[str, str]:
    """The decision as tone and one sentence, to be read first: publish or not, or why that is not decided."""
    summary = run.summary
    if summary.assumed and summary.exit_code != 1:
        return "warn", f"Not decided: {assumed_words(summary.assumed)}."
    if stop := _stop(run, None if leading is None else _value(leading)):
        bad = stop[0].startswith(DO_NOT_PUBLISH) or summary.promise.status == Finding.UNTESTABLE
        return ("bad" if bad else "warn"), stop[0]
    if summary.risk.metric == "recognised" and RUN_EXPOSE in (summary.risk.reason or ""):
        others = [one.status for one in summary.limit_results if one.metric != "recognised"]
        met = "; the other limits are met" if others and set(others) == {RiskStatus.WITHIN} else ""
        return "warn", f"Not decided: people recognised are not counted yet{met}."
    if summary.exit_code != 0 and summary.reasons:
        return "warn", f"Not decided: {whole_sentences(summary.reasons[0], 120)}."
    if summary.risk.status is RiskStatus.NO_LIMIT:
        return "neutral", "No decision: no limit on the risk is stated."
    covered = [found for found in run.verdicts if found.audit in summary.covers]
    if (unprotected := unprotected_words(summary.promise, summary.risk, covered)) is not None:
        return "warn", f"Within your limits {unprotected}."
    return "good", "Within your limits: this audit found nothing against publishing."


def _stop(run: JudgedRun, value: float | None) -> list[str]:
    promise, risk = run.summary.promise, run.summary.risk
    if promise.status == Finding.VIOLATED:
        return [
            f"{DO_NOT_PUBLISH}: find out why the mechanism or its accounting leaks more than it promises."
        ]
    if risk.status is RiskStatus.OVER:
        return [f"{DO_NOT_PUBLISH} with these settings."]
    if promise.status == Finding.UNTESTABLE:
        if all(control_status(found) == "not possible" for found in run.verdicts):
            return ["Check the scores and where they come from: these could not have shown any leak."]
        return [
            "Check the data and the connection to the release: the audit could not find even an open leak."
        ]
    if any(found.about == "mechanism" and found.audit in run.summary.covers for found in run.verdicts):
        return ["Find out why the mechanism is not as stated before you trust any other number."]
    if risk.status is RiskStatus.NO_LIMIT and value is not None and value >= TOO_WEAK_ACCURACY:
        return [f"{DO_NOT_PUBLISH} with these settings unless this risk is acceptable."]
    return []


def _other_setting(run: JudgedRun, leading: Verdict | None) -> list[str]:
    """The setting of a sweep in which the strongest attacker does worst, if it may be acceptable."""
    if leading is None or "@" not in leading.audit:
        return []
    base = leading.audit.partition("@")[0]
    strongest: dict[str, float] = {}
    for verdict in run.verdicts:
        if verdict.audit.partition("@")[0] == base and not is_control(verdict):
            strongest[verdict.audit] = max(strongest.get(verdict.audit, 0.0), _value(verdict) or 0.0)
    acceptable = run.summary.limits.get("accuracy", TOO_WEAK_ACCURACY)
    bad = _unacceptable(run)
    better = {
        audit: value for audit, value in strongest.items() if 0 < value < acceptable and audit not in bad
    }
    least = min(better, key=lambda audit: better[audit], default=leading.audit)
    if least == leading.audit:
        return []
    setting = clip(least.partition("@")[2])
    right = f"the best attacker is right {percent(strongest[least])} of the time"
    open_there = any(
        verdict.audit == least and verdict.risk and verdict.risk.status is RiskStatus.UNDECIDED
        for verdict in run.verdicts
    )
    caution = " Whether that is within your limit is undecided." if open_there else ""
    return [f"Of the settings tried, {setting} leaks least: there {right}.{caution}"]


def _unacceptable(run: JudgedRun) -> set[str]:
    """The audits that break their promise or are over a limit, also that on people recognised."""
    over = {
        verdict.audit
        for verdict in run.verdicts
        if verdict.finding is Finding.VIOLATED or (verdict.risk and verdict.risk.status is RiskStatus.OVER)
    }
    if "recognised" not in (table := run.summary.limits):
        return over
    limits, exposure = read_limits(table, "limits"), run.manifest.get("exposure")
    refuted = refuted_audits(run.verdicts)
    people = {
        audit: recognised_risk(exposure, [audit], limits, refuted)
        for audit in {verdict.audit for verdict in run.verdicts}
    }
    return over | {audit for audit, risk in people.items() if risk and risk.status is not RiskStatus.WITHIN}


def _lower_risk(run: JudgedRun, leading: Verdict | None, value: float | None) -> list[str]:
    """What the domain advises, where the risk is too large: by the limits, or without any from 75 % on."""
    risk = run.summary.risk
    large = risk.status is RiskStatus.OVER or (
        risk.value is not None and risk.limit is not None and risk.value > risk.limit
    )
    if risk.status is RiskStatus.NO_LIMIT:
        large = value is not None and value >= WEAK_ACCURACY
    if leading is None or not large:
        return []
    domain = catalog.find_domain(leading.domain)
    if domain is None or not (advice := domain.risk_advice(leading.parameters)):
        return []
    tunable = domain.can_tune(leading.parameters) and not run.without_plan and not is_finished(leading)
    return [f"{advice}{TUNE if tunable else ''}"]


def _fixes(run: JudgedRun) -> list[str]:
    """What the domain says to fix where the answers themselves show a fault."""
    rejected = [
        (catalog.find_domain(verdict.domain), row["name"])
        for verdict in run.verdicts
        if verdict.audit in run.summary.covers
        for row in verdict.conformance
        if row["rejected"]
    ]
    advice = [domain.conformance_advice.get(name, "") for domain, name in rejected if domain is not None]
    broken = [
        verdict
        for verdict in run.verdicts
        if verdict.audit in run.summary.covers and verdict.finding is Finding.VIOLATED
    ]
    for verdict in sorted(broken, key=lambda verdict: verdict.label != run.summary.promise.attacker):
        domain = catalog.find_domain(verdict.domain)
        advice.append("" if domain is None else domain.clue_advice.get(verdict.clue or "", ""))
    fixes = [text for text in dict.fromkeys(advice) if text]
    return [*fixes, *([AUDIT_AGAIN] if fixes else [FIND_CAUSE] if broken else [])]


def _stronger_promise(run: JudgedRun) -> list[str]:
    """A promise that would keep the limits of the owner, where the one that is stated does not."""
    promise, limits = run.summary.promise, run.summary.limits
    if promise.unit == Unit.GROUP or promise.status in (NO_PROMISE, Finding.VIOLATED):
        return []  # a smaller epsilon does not help records that depend on one another, nor a broken promise
    weak = promise.strength is PromiseStrength.TOO_WEAK
    if "accuracy" not in limits:  # else a promise is too weak from the limit on
        weak = weak or promise.strength is PromiseStrength.WEAK
    if not weak:
        return []
    unit = UNIT_NAMES.get(promise.unit or "", "one person")
    nominal = UNIT_NAMES.get(promise.nominal_unit or "", "")
    instead = f" instead of {nominal}" if nominal and promise.nominal_unit != promise.unit else ""
    if promise.unit in (Unit.STEP, Unit.TRAINING):
        return ["Claim a smaller ε for the training: with more noise, fewer steps or smaller batches."]
    kept = _epsilon_that_keeps(limits, promise.delta or 0.0)
    if not instead:
        return [f"Promise a smaller ε for {unit}{kept}."]
    return [f"Promise ε for {unit}{instead}, and lower it{kept}."]


def _epsilon_that_keeps(limits: Mapping[str, Any], delta: float) -> str:
    """Which epsilon would keep every attacker within the limits of the owner, if there are any."""
    stated = {name: limit for name, limit in limits.items() if name in limited_metrics()}
    words = [f"{name} = {limit:g}" for name, limit in limits.items() if name in (*stated, "recognised")]
    if "recognised" in limits:  # whoever is identified less often counts as not recognised
        stated["accuracy"] = min(stated.get("accuracy", 1.0), limits.get("recognised_at", RECOGNISED_AT))
    epsilon = epsilon_for_limits(stated, delta)
    if epsilon is None or epsilon < SMALLEST_EPSILON:
        return ""
    shown = math.floor(epsilon / SMALLEST_EPSILON) * SMALLEST_EPSILON
    return f": ε = {shown:g} keeps every attacker within your limits ({', '.join(words)})"


def _more_rounds(run: JudgedRun) -> list[str]:
    promise, risk = run.summary.promise, run.summary.risk
    needed = [n for n in (promise.rounds_needed, risk.rounds_needed) if n is not None]
    needed += _rounds_above_promise(run)
    needed = [n for n in needed if n <= MOST_ROUNDS]
    if not needed or promise.status == Finding.VIOLATED:
        return []
    term = round_term(run.verdicts)
    if run.without_plan:
        more = f"at least {max(needed)} {term.short}s and another seed"
        return [f"Audit again with {more}, because this result has been seen."]
    again = "and start over with --fresh and another --seed, because this result has been seen"
    bounds = [verdict.metrics["epsilon"] for verdict in run.verdicts if "epsilon" in verdict.metrics]
    if any("valid at any time" in bound.method for bound in bounds):
        again = "and run it again: it may be looked at any time"
    return [f"{term.more}: set rounds = {max(needed)} in the plan, {again}."]


def _rounds_above_promise(run: JudgedRun) -> list[int]:
    """Rounds that halve the interval of attackers whose success is above a promise not shown to be broken."""
    if run.summary.promise.status != Finding.NOT_VIOLATED:
        return []
    tried = [found for found in run.verdicts if found.audit in run.summary.covers and not is_control(found)]
    return [4 * found.rounds for found in tried if is_above_promise(found) and not is_finished(found)]


def _count_people(run: JudgedRun, leading: Verdict | None) -> list[str]:
    """Whether the people who can be recognised could be counted, and were not."""
    domain = None if leading is None else catalog.find_domain(leading.domain)
    if domain is None or domain.exposure is None or run.manifest.get("exposure"):
        return []
    if run.without_plan:
        return []
    if "recognised" in run.summary.limits and (command := run.manifest.get("expose_command")):
        return [f"Count the people who can be recognised: {command}, with the folder of this run as DIR."]
    return [domain.exposure.advice]


def _value(verdict: Verdict) -> float | None:
    name = leading_metric(verdict.metrics)
    return None if name is None else verdict.metrics[name].value
