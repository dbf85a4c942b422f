"""What the first screen of a report says: promise, risk, the leading number, people and next steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leakgauge import catalog
from leakgauge.referee.estimate import Estimate
from leakgauge.report.adversary_names import attackers_and_settings, clip, whole_sentences
from leakgauge.report.answers import Answer, LimitRow, limit_rows, promise_answer, risk_answer
from leakgauge.report.control_text import false_alarms
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.metric_text import describe_metric, interval_text, value_text
from leakgauge.report.next_steps import decision_line, next_steps
from leakgauge.report.number_format import count, level, percent
from leakgauge.risk import RiskStatus, leading_metric
from leakgauge.summary import WITHIN_YOUR_LIMITS, RunSummary, is_control, refuted_audits
from leakgauge.verdict import Finding, Verdict

WORST_METRIC = "accuracy_worst"


class Evidence(StrEnum):
    """What the chart of the first screen shows: how often attackers are right, or the ε that they prove."""

    SUCCESS = "success"
    EPSILON = "epsilon"


@dataclass(frozen=True, kw_only=True)
class LeadingNumber:
    """How often the strongest attacker is right, and how well the most exposed target is identified."""

    value: str
    title: str
    interval: str
    attacker: str
    assumes: str
    worst: str
    among: str
    control: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the first screen says; ``line`` is read first, and ``evidence`` is what the chart shows."""

    tone: str
    line: str
    promise: Answer
    risk: Answer
    number: LeadingNumber | None
    alerts: tuple[str, ...]
    people: str
    steps: tuple[str, ...]
    limits: tuple[LimitRow, ...] = ()
    evidence: Evidence = Evidence.SUCCESS


def decision_of(run: JudgedRun) -> Decision:
    """Put the answers of a run into words."""
    leading = leading_verdict(run)
    promise = promise_answer(run.summary, run.verdicts)
    tone, line = decision_line(run, leading)
    if run.manifest.get("incomplete"):
        tone, line = "bad", "Do not decide on this report: the run is incomplete."
    return Decision(
        tone=tone,
        line=line,
        promise=promise,
        risk=risk_answer(run.summary, run.verdicts),
        number=None if leading is None else _leading_number(run, leading),
        alerts=(
            *_incomplete_alert(run),
            *_false_alarms_alert(run),
            *_alerts(run.verdicts, promise.text),
            *_warnings(run.summary),
        ),
        people=people_sentence(run, leading.audit if leading else None),
        steps=next_steps(run, leading),
        limits=limit_rows(run.summary, run.verdicts),
        evidence=_evidence(run, leading),
    )


def _evidence(run: JudgedRun, leading: Verdict | None) -> Evidence:
    """What shows the decision: ε, where a promise is broken though nobody does too well on average."""
    if leading is None or run.summary.promise.status != Finding.VIOLATED:
        return Evidence.SUCCESS
    if run.summary.risk.status is RiskStatus.OVER:
        return Evidence.SUCCESS
    allowed, value = leading.bounds.get("accuracy"), leading_value(leading)
    return Evidence.EPSILON if allowed is None or (value or 0.0) <= allowed else Evidence.SUCCESS


def leading_verdict(run: JudgedRun) -> Verdict | None:
    """The attacker that the risk is taken from, or else the one that is right most often; never a control."""
    known = [
        verdict
        for verdict in run.verdicts
        if verdict.audit in run.summary.covers and not is_control(verdict) and leading_estimate(verdict)
    ]
    decisive = [
        verdict
        for verdict in known
        if verdict.audit == run.summary.audit and verdict.label == run.summary.risk.attacker
    ]
    return max(decisive or known, key=lambda verdict: leading_value(verdict) or 0.0, default=None)


def leading_estimate(verdict: Verdict) -> Estimate | None:
    """The number to show first for an attacker: how often it is right; nothing where that is not known."""
    name = leading_metric(verdict.metrics)
    return None if name is None else verdict.metrics[name]


def leading_value(verdict: Verdict) -> float | None:
    """The value of the number to show first."""
    estimate = leading_estimate(verdict)
    return None if estimate is None else estimate.value


def attacker_title(verdict: Verdict) -> str:
    """Who attacks, in the words of the domain: by what they know."""
    return clip(catalog.knowledge_term(verdict.domain, verdict.knowledge).title, 100)


def _leading_number(run: JudgedRun, leading: Verdict) -> LeadingNumber:
    name = leading_metric(leading.metrics) or ""
    estimate = leading.metrics[name]
    rivals = [v for v in run.verdicts if v.audit in run.summary.covers and not is_control(v)]
    worst = leading.metrics.get(WORST_METRIC) if leading.n_targets > 1 else None
    is_best = len(rivals) > 1 and leading_value(leading) == max(leading_value(v) or 0.0 for v in rivals)
    who = attackers_and_settings([(rival.audit, rival.label) for rival in rivals])
    several = f"The best of {who}, so its interval is slightly optimistic."
    attacker, title = attacker_title(leading), "correct identifications"
    if leading.n_targets > 1:
        title += f" on average over {count(leading.n_targets)} targets"
    controls = [v for v in run.verdicts if v.audit == leading.audit and is_control(v) and leading_estimate(v)]
    return LeadingNumber(
        value=value_text(name, estimate.value),
        interval=interval_text(name, estimate),
        attacker=attacker,
        title=title if run.summary.risk.metric == name else f"{title} by the {attacker}",
        assumes=describe_metric(name).meaning,
        worst="" if worst is None or worst.value is None else _with_interval(worst),
        among=several if is_best else "",
        control="" if not controls else percent(leading_value(controls[0])),
    )


def _with_interval(worst: Estimate) -> str:
    value = value_text(WORST_METRIC, worst.value)
    return value if worst.low is None else f"{value} ({interval_text(WORST_METRIC, worst)})"


def _incomplete_alert(run: JudgedRun) -> tuple[str, ...]:
    """That the run folder does not hold all rounds, where it does not."""
    if not (missing := run.manifest.get("incomplete")):
        return ()
    alert = (
        f"Incomplete: {whole_sentences(missing, 300)}. This report shows an earlier result, which the rounds "
        "in the run folder do not support. Do not decide on it: run the plan again."
    )
    return (alert,)


def _false_alarms_alert(run: JudgedRun) -> tuple[str, ...]:
    """That the audit itself reports leaks too often where there are none, where it does."""
    alarms = false_alarms([verdict for verdict in run.verdicts if verdict.audit in run.summary.covers])
    return (alarms.sentence,) if alarms is not None and alarms.too_high else ()


def _warnings(summary: RunSummary) -> tuple[str, ...]:
    """What to beware of; and why the release is not cleared, where the risk alone would clear it."""
    said = WITHIN_YOUR_LIMITS  # by the line that is read first
    warnings = [f"Beware: {warning}." for warning in summary.warnings if not warning.startswith(said)]
    if summary.exit_code == 3 and summary.risk.status is RiskStatus.WITHIN and summary.reasons:
        warnings.insert(0, f"Not cleared (exit code 3): {summary.reasons[0]}.")
    return tuple(whole_sentences(warning, 300) for warning in warnings)[:2]


def _alerts(verdicts: Sequence[Verdict], already_said: str) -> tuple[str, ...]:
    """What must not be overlooked: what transcripts show, violations or a mechanism that is not as stated."""
    alerts: dict[str, None] = {}
    for verdict in verdicts:
        if verdict.certain or verdict.evidence or verdict.about == "mechanism":
            said = " ".join(text for text in verdict.evidence if text not in already_said)
            if verdict.evidence and not said:
                continue
            said = said or "see the appendix"
            head = "The answers themselves break the promise"
            if verdict.certain:
                head = "Certain"
            elif verdict.about == "mechanism":
                head = "The mechanism is not as stated"
            alerts[f"{head}: {whole_sentences(said, 300)}"] = None
    return tuple(alerts)[:2]


def people_sentence(run: JudgedRun, audit: str | None) -> str:
    """How many people the best attacker recognises; empty where ``leakgauge expose`` was not run."""
    summary = run.manifest.get("exposure")
    audits = [one for one in (summary or {}).get("audits", ()) if _recognises(one)]
    if not audits:
        return ""
    chosen = next((one for one in audits if one["audit"] == audit), audits[0])
    best = max(chosen["attackers"], key=lambda attacker: attacker["recognised"]["people"])
    n, people = best["recognised"]["people"], chosen["people"]
    share = percent(n / max(people, 1))
    unit = "records" if chosen.get("unit") == "record" else "people"
    who = clip(catalog.knowledge_term(chosen.get("domain", ""), best["attacker"]).title)
    setting = f" {chosen['setting']}" if chosen.get("setting") else ""
    doubt = ""
    if chosen["audit"] in refuted_audits(run.verdicts):
        doubt = " This is computed for the noise as stated, which this audit refutes: it may be far more."
    return (
        f"Of {count(people)} {unit}, {count(n)} ({share}) can be recognised{setting} by the {who}: "
        f"right about them at least {level(best['recognised']['accuracy'])} of the time.{doubt}"
    )


def _recognises(audit: Mapping[str, Any]) -> bool:
    return bool(audit["attackers"]) and all("recognised" in attacker for attacker in audit["attackers"])
