"""Verdicts printed on the terminal; not a command."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from leakgauge.summary import RunResult
    from leakgauge.verdict import Verdict

MOST_TABLE_ROWS = 40
_WIDE_TERMINAL = 120  # columns
_COLOURS = {"violated": "red", "untestable": "yellow", "undecided": "yellow"}
_TONES = {"good": "green", "warn": "yellow", "bad": "red", "neutral": "default"}
_ORDER = ("violated", "untestable", "undecided", "not violated", None)


def _footnotes(verdicts: "Sequence[Verdict]") -> list[str]:
    """How to read the numbers, what is undecided, how sure all is, and if the instrument was in order."""
    from leakgauge.report.control_text import control_lines

    lines = (
        _average_note(verdicts),
        _undecided_note(verdicts),
        _confidence_note(verdicts),
        _instrument_note(verdicts),
        *control_lines(verdicts),
    )
    return [line for line in lines if line]


def _average_note(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.report.metric_text import AVERAGED, is_averaged

    means = [is_averaged(verdict, "accuracy") for verdict in verdicts]
    if not any(means):
        return ""
    where = "" if all(means) else " where several are the same in all rounds"
    return f"Accuracy and AUC: {AVERAGED}{where}, each with a threshold of its own."


def _undecided_note(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.report.headline import all_promises_too_weak

    undecided = [verdict for verdict in verdicts if verdict.finding == "undecided"]
    if undecided and all_promises_too_weak(undecided):
        return ""
    open_ones = [verdict for verdict in verdicts if verdict.finding in ("undecided", None)]
    bounds = [verdict.metrics["epsilon"] for verdict in open_ones if "epsilon" in verdict.metrics]
    if reasons := {str(bound.reason) for bound in bounds if bound.low is None}:
        return f"No bound on ε: {'; '.join(sorted(reasons))}."
    if not undecided:
        return ""
    needed = [verdict.rounds_needed for verdict in undecided]
    if None in needed:
        return "Undecided: for some promises no number of rounds would do."
    return f"Undecided: a violation could show from {max(n for n in needed if n is not None):,} rounds on."


def _confidence_note(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.report.number_format import times

    confidences = sorted(
        {estimate.confidence for verdict in verdicts for estimate in verdict.metrics.values()}
    )
    shares = " and ".join(f"{confidence:.4g}" for confidence in confidences)
    n = max(verdict.corrected_for for verdict in verdicts)
    early = sum(verdict.stopped_early for verdict in verdicts)
    stopped = f" {early} stopped early." if early else ""
    return f"Confidence {shares} per verdict; findings corrected for {times(n, 'verdict')}.{stopped}"


def _instrument_note(verdicts: "Sequence[Verdict]") -> str:
    """Return the least favourable instrument check."""
    from leakgauge.report.metric_text import has_epsilon_bound
    from leakgauge.report.number_format import number, percent

    nulls = [verdict.instrument["null"] for verdict in verdicts if verdict.instrument.get("null")]
    planted = [verdict.instrument["planted"] for verdict in verdicts if verdict.instrument.get("planted")]
    if not nulls or not planted:
        return ""
    null = max(nulls, key=lambda check: check["rate"])
    able = [
        verdict for verdict in verdicts if verdict.instrument.get("planted") and has_epsilon_bound(verdict)
    ]
    seen = [verdict.instrument["planted"]["epsilon"] for verdict in able]
    smallest = "none at these rounds" if None in seen else number(max(seen, default=None))
    if not able:
        smallest = "none, without a bound on ε"
    elif len(able) < len(planted):
        smallest += " (where there is a bound on ε)"
    return (
        f"Instrument: false alarms on a null release {percent(null['rate'])} ({percent(null['low'])} to "
        f"{percent(null['high'])}); smallest ε it could have detected: {smallest}."
    )


def print_json(result: "RunResult", **more: Any) -> None:
    """Print what verdicts.json holds, and more; in ASCII, which every console takes."""
    from leakgauge.summary import result_to_json

    print(json.dumps({**result_to_json(result), **more}, default=str))


def print_table(result: "RunResult") -> None:
    """Print the two answers first, then what was measured beside what was promised, then the instrument."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from leakgauge.report.adversary_names import adversary_names
    from leakgauge.report.metric_text import headline_metric, interval_text, value_text
    from leakgauge.report.sections.data_draws import draw_sentence
    from leakgauge.report.sections.privacy_budget import compared_columns, spent_epsilon
    from leakgauge.report.sections.study_results import study_sentences
    from leakgauge.risk import leading_metric

    verdicts = result.verdicts
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE_TERMINAL
    _print_answers(result, console)
    table = Table(box=box.SIMPLE_HEAD)
    spending = {name: f"ε {term.title.lower()}" for name, term in compared_columns(verdicts).items()}
    metrics = ("correct", "auc") if console.width >= _WIDE_TERMINAL and not spending else ("correct",)
    for column in ("attacker", "finding", "ε shown", "promised", *spending.values(), *metrics):
        table.add_column(column, overflow="fold")
    ordered = sorted(verdicts, key=lambda verdict: _ORDER.index(verdict.finding))
    for name, verdict in zip(adversary_names(ordered[:MOST_TABLE_ROWS], verdicts), ordered):
        promised = verdict.promised["epsilon"] if verdict.promised else None
        cells = [name, verdict.finding or "no promise"]
        cells += [_interval_cell(verdict, "epsilon", interval_text), value_text("epsilon", promised)]
        cells += [spent_epsilon(verdict, side) for side in spending]
        shown = [leading_metric(verdict.metrics) or "accuracy", headline_metric(verdict, "auc")]
        cells += [_interval_cell(verdict, metric, interval_text) for metric in shown[: len(metrics)]]
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in cells))
    console.print(table)
    if len(verdicts) > MOST_TABLE_ROWS:
        console.print(f"and {len(verdicts) - MOST_TABLE_ROWS} more, in verdicts.json and the report")
    for verdict in ordered[:MOST_TABLE_ROWS]:
        if verdict.event and verdict.finding == "violated":
            console.print(Text(f"{verdict.audit}: clue used: {verdict.event}"), soft_wrap=True)
    for name, verdict in zip(adversary_names(ordered[:MOST_TABLE_ROWS], verdicts), ordered):
        for sentence in filter(None, (*study_sentences(verdict), draw_sentence(verdict))):
            console.print(Text(f"{name}: {sentence}"), soft_wrap=True)
    for line in _footnotes(verdicts):
        console.print(Text(line), soft_wrap=True)
    _print_reasons(result, console)


def print_answers(result: "RunResult") -> None:
    """Print the two answers and the reasons for the exit code."""
    from rich.console import Console

    console = Console(highlight=False)
    _print_answers(result, console)
    _print_reasons(result, console)


def _print_answers(result: "RunResult", console: "Console") -> None:
    from rich.text import Text

    from leakgauge.report.answers import promise_answer, risk_answer

    for write in (risk_answer, promise_answer):
        answer = write(result.summary, result.verdicts)
        console.print(Text(answer.words, style=f"bold {_TONES[answer.tone]}"), soft_wrap=True)
        for sentence in answer.sentences:
            console.print(Text(f"  {sentence}"), soft_wrap=True)


def _print_reasons(result: "RunResult", console: "Console") -> None:
    from rich.text import Text

    code = result.summary.exit_code
    for reason in result.summary.reasons:
        console.print(Text(f"{f'Exit code {code}' if code else 'Warning'}: {reason}."), soft_wrap=True)


def _interval_cell(verdict: "Verdict", name: str, write: Any) -> str:
    estimate = verdict.metrics.get(name)
    return "–" if estimate is None else write(name, estimate, verdict.bounds.get(name))
