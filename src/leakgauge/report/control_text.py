"""The positive control in words: who recognises members where nothing protects them, and who does not."""

from collections.abc import Sequence
from typing import Any

from leakgauge.report.adversary_names import adversary_names, attackers_and_settings
from leakgauge.report.number_format import lower_percent, percent, times
from leakgauge.verdict import Verdict

MOST_LINES = 10  # of attackers that failed


def control_of(verdict: Verdict) -> dict[str, Any]:
    """The result of the positive control; empty in verdicts from before there was one."""
    return verdict.instrument.get("control") or {}


def control_cell(verdict: Verdict) -> str:
    """The result for a table: the accuracy that was shown, or why there is none."""
    control = control_of(verdict)
    if control.get("accuracy") is None:
        return str(control.get("status", "not run"))
    return f"{control['status']}: {percent(control['accuracy'])} (≥ {lower_percent(control['low'])})"


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
