"""The result for each attacker: whether the promise is kept, the risk, and what that means."""

from collections.abc import Sequence
from typing import Any

from leakgauge.core.guarantee import Unit
from leakgauge.report.adversary_names import adversary_names, whole_sentences
from leakgauge.report.answers import finding_words
from leakgauge.report.decision import attacker_title
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note, round_term
from leakgauge.report.metric_text import (
    COMPARED_METRICS,
    describe_metric,
    exceeds_bound,
    metric_above_promise,
    not_sure_of_violation,
)
from leakgauge.report.number_format import times
from leakgauge.report.page import Section, render_html
from leakgauge.report.text_formats import table_cells
from leakgauge.risk import LEADING_METRICS
from leakgauge.summary import is_control
from leakgauge.verdict import Finding, Verdict, why_not_compared, why_untestable

_ONE_RELEASE = "Each attacker sees the release, and says of every target whether it is in it or not."
ORDER = 10
MOST_ROWS, MOST_NAMES = 80, 4

_TEMPLATE = """
<p>{{ what_attackers_do }} Correct identifications count both kinds equally: a coin toss is right in 50% of
them.</p>
<div class="scroll" role="region" aria-label="Result for each attacker" tabindex="0">
<table class="stack">
<caption{{ '' if omitted else ' class="unseen"'|safe }}>Result for each attacker. {{ omitted }}</caption>
<thead><tr><th scope="col">Attacker</th><th scope="col">Who</th><th scope="col">Promise</th>
<th scope="col">Risk</th><th scope="col" class="n">Correct identifications</th>
<th scope="col" class="n">ε shown</th><th scope="col" class="n">ε promised</th></tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td data-label="Who">{{ row.who }}</td>
<td data-label="Promise"><span class="badge {{ row.tone }}">{{ row.badge }}</span></td>
<td class="w" data-label="Risk">{{ row.risk }}</td>
<td class="n" data-label="Correct">{{ row.right }}</td><td class="n" data-label="ε shown">{{ row.shown }}</td>
<td class="n" data-label="ε promised">{{ row.promised }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<ul>
{% for text, names in meanings %}
<li>{{ text }} <span class="note">({{ names }})</span></li>
{% endfor %}
</ul>
"""


def section(run: JudgedRun) -> Section:
    """One line per attacker, then each explanation once."""
    shown = most_severe(run.verdicts, MOST_ROWS)
    names = adversary_names(shown, run.verdicts)
    html = render_html(
        _TEMPLATE,
        what_attackers_do=_ONE_RELEASE
        if all(found.rounds == 1 for found in shown)
        else round_term(shown).game,
        rows=[_row(name, verdict, run) for name, verdict in zip(names, shown, strict=True)],
        meanings=_meanings(names, shown),
        omitted=omission_note(len(shown), len(run.verdicts), "attackers"),
    )
    return Section("Result for each attacker", html)


def _row(name: str, verdict: Verdict, run: JudgedRun) -> dict[str, Any]:
    badge, risk, right, shown, promised = table_cells(verdict, run.summary.limits.get("accuracy"))
    tone, _ = finding_words(verdict, run.summary.limits.get("accuracy"))
    return {
        "name": name,
        "who": attacker_title(verdict),
        "tone": tone,
        "badge": badge.capitalize(),
        "risk": "control" if is_control(verdict) else risk,
        "right": right,
        "shown": shown,
        "promised": promised,
    }


def _meanings(names: Sequence[str], verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Each explanation once, with the attackers that it is about."""
    about: dict[str, list[str]] = {}
    for name, verdict in zip(names, verdicts, strict=True):
        about.setdefault(meaning_of(verdict), []).append(name)
    return [(text, _some(who, len(verdicts))) for text, who in about.items()]


def _some(names: Sequence[str], n_all: int) -> str:
    if len(names) == n_all and n_all > 1:
        return "all attackers"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def meaning_of(verdict: Verdict) -> str:
    """What the finding about one attacker means, and whether the mechanism is as stated."""
    meaning = _meaning_of_finding(verdict)
    if verdict.about != "mechanism":
        return meaning
    return f"{meaning} The mechanism is not as stated: {whole_sentences(' '.join(verdict.evidence), 300)}"


def _meaning_of_finding(verdict: Verdict) -> str:
    term = round_term([verdict])
    releases = f"one {term.short}" if verdict.rounds == 1 else times(verdict.rounds, term.noun)
    match verdict.finding:
        case Finding.VIOLATED:
            return _violation(verdict)
        case Finding.NOT_VIOLATED if metric := metric_above_promise(verdict, whole_interval=True):
            above = _above_promise(metric, releases)
            return f"{above}, but not by enough to be sure: {not_sure_of_violation(verdict)}."
        case Finding.NOT_VIOLATED if metric := metric_above_promise(verdict):
            return f"{_above_promise(metric, releases)}, but by no more than chance may explain."
        case Finding.NOT_VIOLATED:
            return f"This attack stayed within the promise ({releases}). A stronger attack might not."
        case Finding.UNTESTABLE if (why := why_untestable(verdict)) is not None:
            return f"Nothing was tested: {why}."
        case Finding.UNTESTABLE:
            return "Nothing was tested: this attack identified nobody even in the positive control."
        case Finding.UNDECIDED if (reason := why_not_compared(verdict)) is not None:
            return f"Not compared with the promise: {reason}."
        case Finding.UNDECIDED if verdict.rounds_needed is None:
            whom = " to all records of a release together" if _to_a_group(verdict) else ""
            return f"More {term.noun}s cannot help: the promise{whom} allows any success rate."
        case Finding.UNDECIDED:
            needed = times(verdict.rounds_needed or 0, term.noun)
            return f"{releases} cannot decide; at least {needed} are needed."
        case _:
            return "There is no promise to compare with."


def _above_promise(metric: str, releases: str) -> str:
    """The beginning of a sentence on an attacker that is above what the promise allows."""
    if metric in LEADING_METRICS:
        return f"This attack was right more often than the promise allows on average ({releases})"
    if metric == "epsilon":
        return f"This attack points to a larger ε than is promised ({releases})"
    return f"This attack reached a larger AUC than the promise allows ({releases})"


def _violation(verdict: Verdict) -> str:
    counted = COMPARED_METRICS if verdict.rounds > 1 else ("epsilon",)  # of one release no rate counts
    beyond = [describe_metric(name).title_in_sentence for name in counted if exceeds_bound(verdict, name)]
    how = f" It exceeds what is allowed in: {'; '.join(beyond)}." if beyond else ""
    clue = f" Clue used: {whole_sentences(verdict.event, 200)}." if verdict.event else ""
    early = " The audit stopped as soon as that was shown." if verdict.stopped_early else ""
    said = whole_sentences(" ".join(verdict.evidence), 300)
    shown = f" {'Certain' if verdict.certain else 'By the answers themselves'}: {said}" if said else ""
    if said and not beyond:
        return f"What this attacker was given breaks the promise, whether the attack succeeds or not.{shown}"
    return f"This attacker learned more than the promise allows.{how}{clue}{early}{shown}"


def _to_a_group(verdict: Verdict) -> bool:
    return (verdict.promised or {}).get("unit") == Unit.GROUP
