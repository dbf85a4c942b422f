"""Verdicts on the terminal; not a command."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakgauge.verdict import Verdict

MOST_ROWS = 40
_WIDE = 120  # columns
_COLOURS = {"violated": "red", "undecided": "yellow", "not violated": "green"}
_ORDER = ("violated", "undecided", "not violated", None)


def exit_code(verdicts: "Sequence[Verdict]") -> int:
    """Return 1 if any promise is violated, else 3 if any is undecided, else 0."""
    findings = {verdict.finding for verdict in verdicts}
    return 1 if "violated" in findings else 3 if "undecided" in findings else 0


def print_json(verdicts: "Sequence[Verdict]", **more: Any) -> None:
    """Print what verdicts.json holds, and more."""
    from leakgauge.verdict_file import to_json

    print(json.dumps({**to_json(verdicts), **more}, ensure_ascii=False, default=str))


def print_table(verdicts: "Sequence[Verdict]") -> None:
    """Print the findings first, then what was measured beside what was promised, then the instrument."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from leakgauge.cli.footnotes import footnotes
    from leakgauge.pages.answer import QUESTION, answer
    from leakgauge.pages.spending import BELIEVED, OBTAINED, spent
    from leakgauge.pages.standing import standing
    from leakgauge.pages.studied_words import CERTIFIED, told
    from leakgauge.pages.words import amount, interval, names

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    worst = min((verdict.finding for verdict in verdicts), key=_ORDER.index)
    console.print(Text(_headline(verdicts), style=f"bold {_COLOURS.get(worst or '', 'default')}"))
    if answered := answer(verdicts):
        console.print(Text(f"{QUESTION} {answered}"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD)
    spending = {"ε obtained": OBTAINED, "believed": BELIEVED} if any(v.spent for v in verdicts) else {}
    metrics = ("accuracy", "auc") if console.width >= _WIDE and not spending else ("accuracy",)
    for column in ("adversary", "finding", "ε shown", "promised", *spending, *metrics):
        table.add_column(column, overflow="fold")
    ordered = sorted(verdicts, key=lambda verdict: _ORDER.index(verdict.finding))
    for name, verdict in zip(names(ordered[:MOST_ROWS], verdicts), ordered):
        promised = verdict.promised["epsilon"] if verdict.promised else None
        cells = [name, verdict.finding or "no promise"]
        cells += [_interval(verdict, "epsilon", interval), amount("epsilon", promised)]
        cells += [spent(verdict, side) for side in spending.values()]
        cells += [_interval(verdict, standing(verdict, metric), interval) for metric in metrics]
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in cells))
    console.print(table)
    if len(verdicts) > MOST_ROWS:
        console.print(f"and {len(verdicts) - MOST_ROWS} more, in verdicts.json and the report")
    for verdict in ordered[:MOST_ROWS]:
        if verdict.event and verdict.finding == "violated":
            console.print(Text(f"{verdict.audit}: told apart by {verdict.event}"), soft_wrap=True)
    for name, verdict in zip(names(ordered[:MOST_ROWS], verdicts), ordered):
        if (certified := (verdict.studied or {}).get(CERTIFIED, 0.0)) > 0.5:  # else it says nothing
            console.print(
                Text(f"{name}: certified to win {told(CERTIFIED, certified)} of games"), soft_wrap=True
            )
    for line in footnotes(verdicts):
        console.print(Text(line), soft_wrap=True)


def _headline(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.pages.headline import beyond_promises, too_weak, weak_ones
    from leakgauge.pages.numbers import times

    counts = {finding: sum(verdict.finding == finding for verdict in verdicts) for finding in _ORDER}
    everyone = times(len(verdicts), "adversary")
    if counts["violated"]:
        return f"VIOLATED: {counts['violated']} of {everyone} showed a larger leak than was promised"
    if too_weak(verdicts):
        return f"UNDECIDED: the promise is too weak to be broken. {beyond_promises(verdicts)}"
    if weak := weak_ones(verdicts):
        return f"UNDECIDED: {_in_parts(counts, len(weak), everyone)}. {beyond_promises(weak)}"
    if counts["undecided"]:
        return f"UNDECIDED: {counts['undecided']} of {everyone} could show no violation in so few rounds"
    if counts["not violated"]:
        return f"NOT VIOLATED by {everyone} in these rounds (an audit refutes a promise, never proves it)"
    return "NO PROMISE to compare with; this is what the adversaries could tell"


def _in_parts(counts: Mapping[str | None, int], n_weak: int, everyone: str) -> str:
    """How many promises are too weak, how many rounds too few, and how many adversaries got nowhere."""
    parts = [f"for {n_weak} of {everyone} the promise is too weak to be broken"]
    if n_short := counts["undecided"] - n_weak:
        parts.append(f"{n_short} could show no violation in so few rounds")
    if kept := counts["not violated"]:
        parts.append(f"{kept} did not get past their promise")
    return "; ".join(parts)


def _interval(verdict: "Verdict", name: str, write: Any) -> str:
    estimate = verdict.metrics.get(name)
    return "–" if estimate is None else write(name, estimate, verdict.bounds.get(name))
