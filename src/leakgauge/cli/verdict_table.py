"""Verdicts printed on the terminal; not a command."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakgauge.support.visible_text import visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from leakgauge.summary import RunResult
    from leakgauge.verdict import Verdict

MOST_TABLE_ROWS = 40
HUGE_EPSILON = 15.0  # an epsilon that allows odds of millions to one
_WIDE_TERMINAL = 140  # columns
_AUDIT_WIDTH = 12
_BEST, _AUC = "best threshold", "AUC"  # columns for which only a wide terminal has room
_ROW_TONES = {"warn": "yellow", "bad": "red"}
_TONES = {"good": "green", "warn": "yellow", "bad": "red", "neutral": "default"}
_ORDER = ("violated", "untestable", "undecided", "not violated", None)


def _console() -> "Console":
    """Standard output without the check of each line: a table is printed at once."""
    from rich.console import Console

    console = Console(highlight=False, file=getattr(sys.stdout, "stream", None))
    if not console.is_terminal:
        console.width = _WIDE_TERMINAL
    return console


def _text(words: str, style: str = "") -> "Text":
    """Words in which no character acts, and that are no markup."""
    from rich.text import Text

    return Text(visible_line(words), style)


def _footnotes(verdicts: "Sequence[Verdict]", further: "Sequence[str]", *, report: bool) -> list[str]:
    """How to read the numbers, what is undecided, the confidence level, and the check of the audit itself."""
    from leakgauge.report.control_text import control_lines

    lines = (
        _reading_note(verdicts, further, report=report),
        _undecided_note(verdicts),
        _confidence_note(verdicts),
        _instrument_note(verdicts),
        *control_lines(verdicts),
    )
    return [line for line in lines if line]


def _reading_note(verdicts: "Sequence[Verdict]", further: "Sequence[str]", *, report: bool) -> str:
    """What the columns mean, and what their numbers assume."""
    from leakgauge.report.metric_text import has_worst_target

    leading = _leading_metrics(verdicts)
    worst = any(map(has_worst_target, verdicts))
    average = ", on average over targets" if worst else ""
    notes = [
        f"Correct: how often the attacker is right{average}, at the threshold that the attack fixed itself"
    ]
    if "accuracy_own" not in leading:
        notes = [
            f"Correct: how often the attacker is right{average}, at a threshold calibrated on other releases"
        ]
    elif len(leading) > 1:
        notes[0] += "; where it fixed none (*), at one calibrated on other releases"
    if worst:
        notes.append("most exposed: the same for the target identified best")
    if _BEST in further:
        notes.append(f"{_BEST}: the same at the threshold that is best for each target on other releases")
    if _AUC in further:
        notes.append("AUC uses no threshold")
    return f"{'; '.join(notes)}.{' All intervals are in the report.' if report else ''}"


def _leading_metrics(verdicts: "Sequence[Verdict]") -> set[str]:
    """The metrics of the column of correct identifications."""
    from leakgauge.risk import leading_metric

    return {name for verdict in verdicts if (name := leading_metric(verdict.metrics)) is not None}


def _all_promises_too_weak(undecided: "Sequence[Verdict]") -> bool:
    """Whether every promise that is undecided allows almost anything."""
    promised = ((verdict.promised or {}).get("epsilon") or 0.0 for verdict in undecided)
    return all(epsilon > HUGE_EPSILON for epsilon in promised)


def _undecided_note(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.report.judged_run import round_term
    from leakgauge.verdict import why_not_compared

    undecided = [verdict for verdict in verdicts if verdict.finding == "undecided"]
    if undecided and _all_promises_too_weak(undecided):
        return ""
    open_ones = [verdict for verdict in verdicts if verdict.finding in ("undecided", None)]
    bounds = [verdict.metrics["epsilon"] for verdict in open_ones if "epsilon" in verdict.metrics]
    if reasons := {str(bound.reason) for bound in bounds if bound.low is None}:
        return f"No bound on ε: {'; '.join(sorted(reasons))}."
    if not undecided:
        return ""
    if reasons := {reason for verdict in undecided if (reason := why_not_compared(verdict))}:
        return f"Not compared with the promise: {'; '.join(sorted(reasons))}."
    needed, noun = [verdict.rounds_needed for verdict in undecided], round_term(undecided).noun
    if None in needed:
        return f"Undecided: for some promises no number of {noun}s is enough."
    enough = max(n for n in needed if n is not None)
    return f"Undecided: {enough:,} or more {noun}s could show a violation."


def _confidence_note(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.report.adversary_names import attackers_and_settings
    from leakgauge.report.number_format import times

    confidences = sorted(
        {estimate.confidence for verdict in verdicts for estimate in verdict.metrics.values()}
    )
    shares = " and ".join(f"{confidence:.4g}" for confidence in confidences)
    n = max(verdict.corrected_for for verdict in verdicts)
    early = sum(verdict.stopped_early for verdict in verdicts)
    stopped = f" {early} stopped early." if early else ""
    known = attackers_and_settings([(verdict.audit, verdict.label) for verdict in verdicts])
    who = known if n == len(verdicts) else times(n, "attacker")
    corrected = f"; findings about the promise are corrected for {who}" if n > 1 else ""
    return f"Intervals: confidence {shares}, each for one attacker by itself{corrected}.{stopped}"


def _instrument_note(verdicts: "Sequence[Verdict]") -> str:
    """Return the least favourable instrument check."""
    from leakgauge.report.control_text import false_alarms, tolerated_rate
    from leakgauge.report.metric_text import has_epsilon_bound
    from leakgauge.report.number_format import lower_percent, percent, upper, upper_percent

    nulls = [verdict.instrument["null"] for verdict in verdicts if verdict.instrument.get("null")]
    planted = [verdict.instrument["planted"] for verdict in verdicts if verdict.instrument.get("planted")]
    if not nulls or not planted:
        return ""
    null = max(nulls, key=lambda check: check["rate"])
    able = [
        verdict for verdict in verdicts if verdict.instrument.get("planted") and has_epsilon_bound(verdict)
    ]
    seen = [verdict.instrument["planted"]["epsilon"] for verdict in able]
    smallest = "none at these rounds" if None in seen else upper(max(seen, default=None))
    if not able:
        smallest = "none, without a bound on ε"
    elif len(able) < len(planted):
        smallest += " (where there is a bound on ε)"
    alarms = false_alarms(verdicts)
    meaning = f" {alarms.sentence}" if alarms and null["rate"] > tolerated_rate(verdicts) else ""
    return (
        f"Check of the audit: false alarms without a leak {percent(null['rate'])} "
        f"({lower_percent(null['low'])} to {upper_percent(null['high'])}); smallest ε it could have "
        f"detected: {smallest}.{meaning}"
    )


def print_json(result: "RunResult", **more: Any) -> None:
    """Print what verdicts.json holds, and more; in ASCII, which every console takes."""
    from leakgauge.summary import result_to_json

    print(json.dumps({**result_to_json(result), **more}, default=str))


def with_expose_command(result: "RunResult", folder: Path) -> "RunResult":
    """Name the plan and the folder where a result asks to count the people recognised.

    Its files do not name them: they may be read elsewhere.
    """
    from leakgauge.runner import manifest
    from leakgauge.summary import EXPOSE_COMMAND

    summary = result.summary
    if summary.recognised is None or EXPOSE_COMMAND not in (summary.recognised.reason or ""):
        return result
    command = manifest.how_to_continue(manifest.load(folder), folder, "expose")
    reasons = tuple(reason.replace(EXPOSE_COMMAND, command) for reason in summary.reasons)
    risk = summary.risk
    if risk.reason is not None:
        risk = replace(risk, reason=risk.reason.replace(EXPOSE_COMMAND, command))
    reason = (summary.recognised.reason or "").replace(EXPOSE_COMMAND, command)
    recognised = replace(summary.recognised, reason=reason)
    return replace(result, summary=replace(summary, risk=risk, recognised=recognised, reasons=reasons))


def print_table(result: "RunResult", *, report: bool = True) -> None:
    """Print the two answers first, then what was measured beside what was promised, then the instrument.

    ``report`` says whether there is a report with all intervals.
    """
    from rich import box
    from rich.table import Table

    from leakgauge.report.adversary_names import adversary_names
    from leakgauge.report.answers import finding_words
    from leakgauge.report.metric_text import has_worst_target, promised_text
    from leakgauge.report.sections.data_draws import draw_sentence
    from leakgauge.report.sections.privacy_budget import compared_columns, spent_epsilon
    from leakgauge.report.sections.study_results import study_sentences

    verdicts = result.verdicts
    console = _console()
    _print_answers(result, console)
    table = Table(box=box.SIMPLE_HEAD)
    spending = {name: f"ε {term.title.lower()}" for name, term in compared_columns(verdicts).items()}
    worst = ["most exposed"] if any(map(has_worst_target, verdicts)) else []
    wide = console.width >= _WIDE_TERMINAL and not spending
    further = [*worst, _BEST if any(map(_at_best_threshold, verdicts)) else _AUC] if wide else worst
    for column in ("attacker", "promise", "ε shown", "promised", *spending.values(), "correct", *further):
        table.add_column(column, overflow="fold")
    ordered, leading = sorted(verdicts, key=_severity), _leading_metrics(verdicts)
    for name, verdict in zip(adversary_names(ordered[:MOST_TABLE_ROWS], verdicts), ordered):
        tone, words = finding_words(verdict, result.summary.limits.get("accuracy"))
        cells = [_epsilon_cell(verdict), promised_text(verdict.promised)]
        cells += [spent_epsilon(verdict, side) for side in spending]
        cells += [_correct_cell(verdict, star=len(leading) > 1)]
        cells += [_further_cell(verdict, column) for column in further]
        table.add_row(_text(name), _text(words, style=_ROW_TONES.get(tone, "")), *map(_text, cells))
    console.print(table)
    if len(verdicts) > MOST_TABLE_ROWS:
        where = ", in verdicts.json and the report" if report else "; --json prints all"
        console.print(f"and {len(verdicts) - MOST_TABLE_ROWS} more{where}")
    for verdict in ordered[:MOST_TABLE_ROWS]:
        if verdict.event and verdict.finding == "violated":
            console.print(_text(f"{verdict.audit}: clue used: {verdict.event}"), soft_wrap=True)
    for name, verdict in zip(adversary_names(ordered[:MOST_TABLE_ROWS], verdicts), ordered):
        for sentence in filter(None, (*study_sentences(verdict), draw_sentence(verdict))):
            console.print(_text(f"{name}: {sentence}"), soft_wrap=True)
    _print_utility(verdicts, console)
    for line in _footnotes(verdicts, further, report=report):
        console.print(_text(line), soft_wrap=True)
    _print_reasons(result, console)


def _print_utility(verdicts: "Sequence[Verdict]", console: "Console") -> None:
    """How useful the release of each audit is: a sentence for one, a table for several."""
    from rich import box
    from rich.table import Table

    from leakgauge.report.sections.risk_utility import utility_rows, utility_sentence

    titles, rows = utility_rows(verdicts)
    if len(rows) == 1:
        first = next(verdict for verdict in verdicts if verdict.utility)
        sentence = utility_sentence(first.domain, first.utility)
        console.print(_text(f"Utility of {first.audit}: {sentence}"), soft_wrap=True)
    elif rows:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("utility of", overflow="fold", min_width=_AUDIT_WIDTH)
        for title in titles:  # a word in each line of the head, so that the table fits 80 columns
            table.add_column("\n".join(title.split()), no_wrap=True)
        for row in rows[:MOST_TABLE_ROWS]:
            table.add_row(*map(_text, row))
        console.print(table)


def print_preview(result: "RunResult") -> None:
    """Print the two answers of a preview and how often each attacker was right; it has no exit code."""
    from leakgauge.report.adversary_names import adversary_names

    console = _console()
    _print_answers(result, console)
    ordered, leading = sorted(result.verdicts, key=_severity), _leading_metrics(result.verdicts)
    console.print("Correct identifications (a coin toss: 50%), with 95% intervals:")
    for name, verdict in zip(adversary_names(ordered, result.verdicts), ordered):
        cell = _correct_cell(verdict, star=len(leading) > 1)
        console.print(_text(f"  {name}: {cell}"), soft_wrap=True)
    _print_utility(result.verdicts, console)
    for warning in result.summary.warnings:
        console.print(_text(f"Warning: {warning}."), soft_wrap=True)


def print_answers(result: "RunResult") -> None:
    """Print the two answers, what to beware of and the reasons for the exit code."""
    console = _console()
    _print_answers(result, console)
    _print_reasons(result, console)


def _print_answers(result: "RunResult", console: "Console") -> None:
    from leakgauge.report.answers import limit_rows, promise_answer, risk_answer

    found = result.summary, result.verdicts
    for answer, rows in ((risk_answer(*found), limit_rows(*found)), (promise_answer(*found), ())):
        console.print(_text(answer.words, style=f"bold {_TONES[answer.tone]}"), soft_wrap=True)
        for sentence in answer.sentences:
            console.print(_text(f"  {sentence}"), soft_wrap=True)
        for row in rows:
            console.print(_text(f"  - {row.text}"), soft_wrap=True)


def _print_reasons(result: "RunResult", console: "Console") -> None:
    from leakgauge.report.answers import exit_sentence, promise_answer, risk_answer

    code, found = result.summary.exit_code, (result.summary, result.verdicts)
    told = [*risk_answer(*found).sentences, *promise_answer(*found).sentences]
    for warning in result.summary.warnings:
        console.print(_text(f"Warning: {warning}."), soft_wrap=True)
    for reason in result.summary.reasons:
        console.print(_text(f"Exit code {code}: {_without_repetition(reason, told)}."), soft_wrap=True)
    for other in result.summary.besides:
        console.print(_text(f"Besides: {_without_repetition(other, told)}."), soft_wrap=True)
    if code == 0:
        console.print(_text(f"Exit code 0: {exit_sentence(*found)}"), soft_wrap=True)


def _without_repetition(reason: str, told: "Sequence[str]") -> str:
    """A reason without its end where that is a sentence that was printed already.

    >>> _without_repetition("the risk is undecided: nobody was counted", ["Nobody was counted."])
    'the risk is undecided (see above)'
    """
    what, _, why = reason.partition(": ")
    repeated = any(why.rstrip(".").lower() == sentence.rstrip(".").lower() for sentence in told)
    return f"{what} (see above)" if repeated else reason


def _correct_cell(verdict: "Verdict", *, star: bool) -> str:
    """The leading number of an attacker with its interval.

    With ``star``, a star says that the attack fixed no threshold, while others did.
    """
    from leakgauge.report.metric_text import interval_text, value_text
    from leakgauge.risk import leading_metric

    name = leading_metric(verdict.metrics)
    if name is None:
        return "–"
    estimate, sign = verdict.metrics[name], "*" if star and name != "accuracy_own" else ""
    return f"{value_text(name, estimate.value)}{sign} ({interval_text(name, estimate)})"


def _at_best_threshold(verdict: "Verdict") -> str | None:
    """The metric at the best threshold for each target, where the attack fixed another one itself."""
    from leakgauge.report.metric_text import headline_metric
    from leakgauge.risk import leading_metric

    name = headline_metric(verdict, "accuracy")
    known = name in verdict.metrics and verdict.metrics[name].value is not None
    return name if known and leading_metric(verdict.metrics) == "accuracy_own" else None


def _further_cell(verdict: "Verdict", column: str) -> str:
    from leakgauge.report.metric_text import has_worst_target, headline_metric, interval_text, value_text

    worst = "accuracy_worst" if has_worst_target(verdict) else None
    shown = {_AUC: headline_metric(verdict, "auc"), _BEST: _at_best_threshold(verdict)}
    name = shown.get(column, worst)
    if name is None or name not in verdict.metrics:
        return "–"
    estimate = verdict.metrics[name]
    value = value_text(name, estimate.value)
    return value if column in shown or estimate.low is None else f"{value} ({interval_text(name, estimate)})"


def _epsilon_cell(verdict: "Verdict") -> str:
    from leakgauge.report.metric_text import interval_text, low_text

    estimate, bound = verdict.metrics.get("epsilon"), verdict.bounds.get("epsilon")
    if estimate is None:
        return "–"
    if estimate.low is None:
        return interval_text("epsilon", estimate)
    return f"≥ {low_text('epsilon', estimate, bound)}"


def _severity(verdict: "Verdict") -> tuple[int, float]:
    """The worst finding first, then whoever is right most often."""
    from leakgauge.risk import leading_metric

    name = leading_metric(verdict.metrics)
    value = None if name is None else verdict.metrics[name].value
    return _ORDER.index(verdict.finding), -(value or 0.0)
