"""The two answers of a run in words, for somebody who must decide: is the promise kept, and how large is the risk?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leakgauge import catalog
from leakgauge.referee.estimate import Estimate
from leakgauge.report.adversary_names import clip
from leakgauge.report.metric_text import bound_text, describe_metric, interval_text, value_text
from leakgauge.report.next_steps import next_steps
from leakgauge.report.number_format import count, level, percent, times
from leakgauge.report.run_report import JudgedRun
from leakgauge.report.sections.promises import promise_text
from leakgauge.risk import Risk, RiskStatus, leading_metric
from leakgauge.summary import (
    NO_PROMISE,
    TOO_WEAK_ACCURACY,
    WEAK_ACCURACY,
    PromiseStrength,
    PromiseSummary,
    is_control,
)
from leakgauge.verdict import Finding, Verdict

WORST_METRIC = "accuracy_worst"
RECOGNISED = "recognised"  # the metric of a limit on people, as ``expose`` counts them


class Tone(StrEnum):
    """The colour of a lamp."""

    RED = "red"
    AMBER = "amber"
    GREY = "grey"
    GREEN = "green"


@dataclass(frozen=True)
class Lamp:
    """An answer: its colour, the same in a few words, and why."""

    tone: Tone
    word: str
    text: str


@dataclass(frozen=True, kw_only=True)
class LeadingNumber:
    """How often the strongest attacker that counts is right, and how well the most exposed target is identified."""

    value: str
    interval: str
    attacker: str
    assumes: str
    worst: str
    among: str
    control: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the first screen says."""

    promise: Lamp
    risk: Lamp
    number: LeadingNumber | None
    alerts: tuple[str, ...]
    people: str
    steps: tuple[str, ...]


def decision_of(run: JudgedRun) -> Decision:
    """Put the answers of a run into words."""
    leading = leading_verdict(run)
    return Decision(
        promise=promise_lamp(run.summary.promise),
        risk=risk_lamp(run.summary.risk, leading),
        number=None if leading is None else _leading_number(run, leading),
        alerts=_alerts(run.verdicts),
        people=people_sentence(run, leading.audit if leading else None),
        steps=next_steps(run, leading),
    )


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
    return knowledge_title(verdict.domain, verdict.knowledge)


def knowledge_title(domain: str, knowledge: str) -> str:
    """What somebody with this knowledge is called."""
    known = catalog.find_domain(domain)
    term = known.knowledge_terms.get(knowledge) if known else None
    return term.title if term else f"attacker with knowledge “{clip(knowledge)}”"


def promise_lamp(promise: PromiseSummary) -> Lamp:
    """Whether the promise is kept and worth something; a weak one is never a good sign."""
    if promise.status == NO_PROMISE:
        return Lamp(
            Tone.GREY, "No promise stated", "The plan states no ε, so there is nothing to compare with."
        )
    stated = promise_text({"epsilon": promise.epsilon, "delta": promise.delta, "unit": promise.unit})
    allows = f"The promise ({stated}) {_allowed(promise)}"
    if promise.status == Finding.VIOLATED:
        return Lamp(Tone.RED, "Broken", f"An attacker learned more than the promise ({stated}) allows.")
    if promise.strength is PromiseStrength.TOO_WEAK:
        return Lamp(Tone.RED, "Too weak to protect", f"{allows} {_state(promise)}")
    if promise.status == Finding.UNTESTABLE:
        return Lamp(Tone.RED, "Not tested", _state(promise))
    if promise.strength is PromiseStrength.WEAK:
        return Lamp(Tone.AMBER, "Weak", f"{allows} {_state(promise)}")
    if promise.status == Finding.UNDECIDED:
        return Lamp(Tone.AMBER, "Undecided", f"{allows} {_state(promise)}")
    return Lamp(Tone.GREEN, "Not violated", f"{allows} {_state(promise)}")


def _allowed(promise: PromiseSummary) -> str:
    allowed = promise.allowed_accuracy
    if allowed is None or not (most := bound_text("accuracy", allowed)):
        return "sets no limit to how often an attacker may be right."
    return f"allows an attacker to be right up to {most} of the time."


def _state(promise: PromiseSummary) -> str:
    match promise.status:
        case Finding.UNTESTABLE:
            return "No attack identified anybody even without protection, so the audit tested nothing."
        case Finding.UNDECIDED if not promise.testable:
            return "Even certain identification would not violate it."
        case Finding.UNDECIDED:
            needed = promise.rounds_needed
            more = f"; {count(needed)} are needed" if needed else ""
            return f"Too few simulated releases to test it{more}."
        case _:
            return "The attacks tried did not break it. An audit can refute a promise, never prove one."


def risk_lamp(risk: Risk, leading: Verdict | None) -> Lamp:
    """How well people can be identified, and whether the owner allows that; without a limit never green."""
    match risk.status:
        case RiskStatus.OVER:
            return Lamp(Tone.RED, "Over the limit", f"{_measured(risk, leading)}.")
        case RiskStatus.WITHIN:
            return Lamp(
                Tone.GREEN, "Within the limit", f"{_measured(risk, leading)}. This covers {risk.scope}."
            )
        case RiskStatus.UNDECIDED:
            needed = (
                f" About {times(risk.rounds_needed, 'simulated release')} would decide."
                if risk.rounds_needed
                else ""
            )
            return Lamp(Tone.AMBER, "Undecided", f"{_measured(risk, leading)}: {risk.reason}.{needed}")
        case RiskStatus.NO_LIMIT:
            value = None if leading is None else leading_value(leading)
            return _lamp_without_limit(value)


def _lamp_without_limit(value: float | None) -> Lamp:
    text = "The plan states no limit to compare with."
    if value is None:
        return Lamp(Tone.GREY, "Not measured", f"There are too few simulated releases to say. {text}")
    if value >= TOO_WEAK_ACCURACY:
        return Lamp(Tone.RED, "High risk", text)
    if value >= WEAK_ACCURACY:
        return Lamp(Tone.AMBER, "Considerable risk", text)
    return Lamp(Tone.GREY, "No limit stated", f"{text} This is not evidence that the release is safe.")


def _measured(risk: Risk, leading: Verdict | None) -> str:
    """The number that decides, and its limit."""
    if risk.metric is None or risk.limit is None:
        return "No number could be compared with the limit"
    if risk.metric == RECOGNISED:
        return f"{percent(risk.value)} of the people can be recognised (limit {percent(risk.limit)})"
    title = describe_metric(risk.metric).title
    who = (
        f" of the {attacker_title(leading)}" if leading is not None and leading.label == risk.attacker else ""
    )
    within = _bounds_text(risk)
    return f"{title}{who}: {value_text(risk.metric, risk.value)}{within}, limit {value_text(risk.metric, risk.limit)}"


def _bounds_text(risk: Risk) -> str:
    metric = risk.metric or ""
    if risk.status is RiskStatus.OVER and risk.low is not None:
        return f" (at least {value_text(metric, risk.low)})"
    if risk.high is not None:
        return f" (at most {value_text(metric, risk.high)})"
    return ""


def _leading_number(run: JudgedRun, leading: Verdict) -> LeadingNumber:
    name = leading_metric(leading.metrics) or ""
    estimate = leading.metrics[name]
    rivals = [v for v in run.verdicts if v.audit in run.summary.covers and not is_control(v)]
    worst = leading.metrics.get(WORST_METRIC)
    several = f"The best of {count(len(rivals))} attackers, so its interval is slightly optimistic."
    controls = [v for v in run.verdicts if v.audit == leading.audit and is_control(v) and leading_estimate(v)]
    return LeadingNumber(
        value=value_text(name, estimate.value),
        interval=interval_text(name, estimate),
        attacker=attacker_title(leading),
        assumes=describe_metric(name).meaning,
        worst="" if worst is None or worst.value is None else value_text(WORST_METRIC, worst.value),
        among=several if len(rivals) > 1 else "",
        control="" if not controls else percent(leading_value(controls[0])),
    )


def _alerts(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """What must not be overlooked: certain violations, and a mechanism that is not as stated."""
    alerts = {}
    for verdict in verdicts:
        if verdict.certain or verdict.about == "mechanism":
            said = " ".join(verdict.evidence) or "see the appendix"
            head = "Certain, without statistics" if verdict.certain else "The mechanism is not as stated"
            alerts[f"{head}: {clip(said, 300)}"] = None
    return tuple(alerts)[:2]


def people_sentence(run: JudgedRun, audit: str | None) -> str:
    """How many people the best attacker recognises; empty where ``leakgauge expose`` was not run."""
    summary = run.manifest.get("exposure")
    audits = [one for one in (summary or {}).get("audits", ()) if _recognises(one)]
    if not audits:
        return ""
    chosen = next((one for one in audits if one["audit"] == audit), audits[0])
    best = max(chosen["adversaries"], key=lambda attacker: attacker["recognised"]["people"])
    n, people = best["recognised"]["people"], chosen["people"]
    unit = "records" if chosen.get("unit") == "record" else "people"
    who = knowledge_title(chosen.get("domain", ""), best["adversary"])
    return (
        f"Of {count(people)} {unit}, {count(n)} ({percent(n / max(people, 1))}) can be recognised by the {who}: "
        f"right about them at least {level(best['recognised']['accuracy'])} of the time."
    )


def _recognises(audit: Mapping[str, Any]) -> bool:
    return bool(audit["adversaries"]) and all("recognised" in attacker for attacker in audit["adversaries"])
