"""The check of the audit in words: who recognises members where nothing protects them, and false alarms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.report.adversary_names import adversary_names, attackers_and_settings
from leakgauge.report.number_format import level, lower_percent, percent, times
from leakgauge.verdict import Verdict

MOST_LINES = 10  # of attackers that failed
ALARMING = 0.001  # chance that some attacker of a sound audit is said to raise too many false alarms


def control_of(verdict: Verdict) -> dict[str, Any]:
    """The result of the positive control; empty in verdicts from before there was one."""
    return verdict.instrument.get("control") or {}


def control_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What to know about positive controls: how many were passed, who failed, and where there was none."""
    statuses = [control_of(verdict).get("status") for verdict in verdicts]
    passed, failed = statuses.count("passed"), statuses.count("failed")
    lines = []
    if passed or failed:
        played = "Positive control (the same attack where members are easy to recognise)"
        lines.append(f"{played}: {_passed(verdicts, passed, failed)}.")
    lines += dict.fromkeys(
        f"Positive control {status}: {control_of(verdict)['reason']}."
        for verdict, status in zip(verdicts, statuses)
        if status in ("not possible", "not needed")
    )
    warnings = [
        f"{name}: {warning}."
        for name, verdict in zip(adversary_names(verdicts, verdicts), verdicts)
        for warning in control_warnings(verdict)
    ]
    if len(warnings) > MOST_LINES:
        warnings[MOST_LINES:] = [f"and {len(warnings) - MOST_LINES} more, in verdicts.json and the report"]
    return [*lines, *warnings]


def _passed(verdicts: Sequence[Verdict], passed: int, failed: int) -> str:
    """How many attackers passed; in several settings, in how many cases."""
    if len({verdict.audit for verdict in verdicts}) == 1:
        return f"passed by {passed} of {times(passed + failed, 'attacker')}"
    played = [
        (verdict.audit, verdict.label)
        for verdict in verdicts
        if control_of(verdict).get("status") in ("passed", "failed")
    ]
    return f"passed in {passed} of {times(passed + failed, 'case')} ({attackers_and_settings(played)})"


def control_sentences(verdict: Verdict) -> str:
    """The warnings as sentences."""
    return " ".join(f"{warning[0].upper()}{warning[1:]}." for warning in control_warnings(verdict))


def control_warnings(verdict: Verdict) -> list[str]:
    """Why success or failure of this attacker says little, if it does."""
    control = control_of(verdict)
    failed = (
        [f"positive control failed: {control.get('reason')}"] if control.get("status") == "failed" else []
    )
    return [*failed, *verdict.notes]


@dataclass(frozen=True)
class FalseAlarms:
    """What the false-alarm rates of an audit mean: whether some are too high, and one sentence."""

    too_high: bool
    sentence: str


def raises_false_alarms(verdict: Verdict, n_checked: int) -> bool:
    """Whether chance does not explain how often an attacker of several reports a leak where there is none."""
    return bool((verdict.instrument.get("null") or {}).get("p_value", 1.0) < ALARMING / max(n_checked, 1))


def tolerated_rate(verdicts: Sequence[Verdict]) -> float:
    """The false-alarm rate that the confidence of the intervals allows."""
    sure = max((found.confidence for one in verdicts for found in one.metrics.values()), default=0.95)
    return round(1 - sure, 9)


def false_alarms(verdicts: Sequence[Verdict]) -> FalseAlarms | None:
    """Say whether the largest false-alarm rate is within chance or too high; nothing where none is known."""
    checked = [verdict for verdict in verdicts if verdict.instrument.get("null")]
    if not checked:
        return None
    tolerated = tolerated_rate(verdicts)
    allowed = f"the {level(tolerated)} that are tolerated"
    worst = max(checked, key=lambda verdict: verdict.instrument["null"]["rate"])
    null = worst.instrument["null"]
    rate, name = percent(null["rate"]), adversary_names([worst], verdicts)[0]
    if raises_false_alarms(worst, len(checked)):
        at_least = "" if null.get("low") is None else f" (at least {lower_percent(null['low'])})"
        return FalseAlarms(
            True,
            f"Too many false alarms: without any leak, {name} reports one in {rate} of the checks{at_least}, "
            f"more than {allowed}. Do not rely on a leak that it reports.",
        )
    if null["rate"] <= tolerated:
        return FalseAlarms(False, f"No attacker raises more false alarms than {allowed}.")
    if null.get("low") is None or null["low"] <= tolerated:
        return FalseAlarms(
            False,
            f"The largest false-alarm rate ({rate}) is above {allowed} by no more than chance explains: its "
            f"interval includes {level(tolerated)}.",
        )
    rare = 1 / (null.get("p_value", 1.0) * len(checked))
    often = f"once in {rare:,.0f} times" if rare >= 2 else "often"
    return FalseAlarms(
        False,
        f"The largest false-alarm rate ({rate}) is above {allowed}, and its interval does not include "
        f"{level(tolerated)}. In a sound audit with {times(len(checked), 'attacker')} chance gives such a "
        f"rate {often}, so this alone does not show that it is too high; another seed would tell.",
    )
