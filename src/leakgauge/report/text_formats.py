"""The report as Markdown, CSV or JSON: for a pull request, a spreadsheet or another program."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.report import judged_run, metric_text, number_format
from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.answers import finding_words
from leakgauge.report.decision import Decision, decision_of, leading_estimate
from leakgauge.risk import leading_metric
from leakgauge.support import files
from leakgauge.support.csv_cells import csv_lines
from leakgauge.support.visible_text import visible_line
from leakgauge.verdict import Verdict, json_table, verdicts_to_json

MOST_ROWS = 80
_CSV_COLUMNS = (
    "audit",
    "attacker",
    "attack",
    "knowledge",
    "promise",
    "risk",
    "releases",
    "targets",
    "metric",
    "value",
    "low",
    "high",
    "confidence",
    "allowed",
    "limit",
)


def write_text_report(run: judged_run.JudgedRun, style: str, path: Path) -> Path:
    """Write the report in one of the formats of ``WRITERS``."""
    if style not in WRITERS:
        raise BadInput(f"no report format {style!r}; known: html, {', '.join(WRITERS)}")
    files.write_file(path, WRITERS[style](run).encode(errors="replace"))
    return path


def markdown_text(run: judged_run.JudgedRun) -> str:
    """The decision, and a table with one line per attacker."""
    decision = decision_of(run)
    parts = [
        f"# {plain_markdown(judged_run.report_title(run))}",
        plain_markdown(judged_run.report_origin(run)),
        _answers(decision),
        *(f"**{plain_markdown(alert)}**" for alert in decision.alerts),
        plain_markdown(decision.people),
        "**What to do next**\n\n"
        + "\n".join(f"{n}. {plain_markdown(step)}" for n, step in enumerate(decision.steps, 1)),
        _table(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answers(decision: Decision) -> str:
    lines = [f"- **{decision.risk.words}.** {plain_markdown(decision.risk.text)}"]
    lines += [f"  - {plain_markdown(row.text)}" for row in decision.limits]
    if (number_ := decision.number) is not None:
        worst = f" Most exposed target: {number_.worst}." if number_.worst else ""
        said = number_.interval if number_.interval.startswith("no ") else f"interval {number_.interval}"
        lines.append(
            f"- **{number_.value}** correct identifications (coin toss: 50%) by the "
            f"{plain_markdown(number_.attacker)}, {said}.{worst}"
        )
    return "\n".join([*lines, f"- **{decision.promise.words}.** {plain_markdown(decision.promise.text)}"])


def _table(run: judged_run.JudgedRun) -> str:
    shown = judged_run.most_severe(run.verdicts, MOST_ROWS)
    lines = [
        "| Attacker | Promise | Risk | Correct identifications | ε shown | ε promised |",
        "|---|---|---|---|---|---|",
    ]
    for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True):
        cells = (name, *table_cells(verdict, run.summary.limits.get("accuracy")))
        lines.append("| " + " | ".join(plain_markdown(cell) for cell in cells) + " |")
    return "\n".join(
        [*lines, "", judged_run.omission_note(len(shown), len(run.verdicts), "attackers")]
    ).rstrip()


def table_cells(verdict: Verdict, accuracy_limit: float | None = None) -> tuple[str, str, str, str, str]:
    """Promise, risk, correct identifications, epsilon shown and epsilon promised of one attacker."""
    _, words = finding_words(verdict, accuracy_limit)
    estimate, name = leading_estimate(verdict), leading_metric(verdict.metrics) or ""
    epsilon = verdict.metrics.get("epsilon")
    shown = epsilon is not None and epsilon.low is not None
    return (
        words,
        str(verdict.risk.status) if verdict.risk else "no limit",
        number_format.NOTHING
        if estimate is None
        else f"{metric_text.value_text(name, estimate.value)} ({metric_text.interval_text(name, estimate)})",
        f"≥ {metric_text.low_text('epsilon', epsilon, verdict.bounds.get('epsilon'))}"
        if epsilon and shown
        else number_format.NOTHING,
        metric_text.promised_text(verdict.promised),
    )


def csv_text(run: judged_run.JudgedRun) -> str:
    """One line for each metric of each attacker; missing values are empty."""
    rows: list[Sequence[object]] = [_CSV_COLUMNS]
    for verdict in run.verdicts:
        risk = verdict.risk
        for name, estimate in sorted(
            verdict.metrics.items(), key=lambda item: metric_text.describe_metric(item[0]).rank
        ):
            rows.append(
                (
                    verdict.audit,
                    verdict.label,
                    verdict.attack,
                    verdict.knowledge,
                    verdict.finding,
                    risk and risk.status,
                    verdict.rounds,
                    verdict.n_targets,
                    name,
                    estimate.value,
                    estimate.low,
                    estimate.high,
                    estimate.confidence,
                    verdict.bounds.get(name),
                    risk.limit if risk and risk.metric == name else None,
                )
            )
    return csv_lines(rows)


def json_text(run: judged_run.JudgedRun) -> str:
    """The decision in words, the two answers as values, and all verdicts."""
    content = {
        "title": judged_run.report_title(run),
        "decision": asdict(decision_of(run)),
        "summary": json_table(run.summary),
        **verdicts_to_json(run.verdicts),
    }
    return json.dumps(content, indent=1, default=str) + "\n"


def plain_markdown(text: str) -> str:
    """Text without anything that Markdown, or HTML inside it, would interpret."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return visible_line(" ".join(text.split()))


WRITERS: Mapping[str, Callable[[judged_run.JudgedRun], str]] = {
    "md": markdown_text,
    "csv": csv_text,
    "json": json_text,
}
