"""The verdict: the first section of the report."""

import math
from collections.abc import Sequence
from typing import Any

from leakgauge.core.guarantee import Unit
from leakgauge.report.adversary_names import clip
from leakgauge.report.control_text import control_sentences
from leakgauge.report.headline import (
    HUGE_EPSILON,
    IDENTIFICATION_QUESTION,
    badge_of,
    headline,
    identification_answer,
    tone_of,
)
from leakgauge.report.metric_text import (
    COMPARED_METRICS,
    averaged_note,
    describe_metric,
    exceeds_bound,
    headline_metric,
    interval_text,
    low_text,
)
from leakgauge.report.number_format import NOTHING, confidence, number, percent, times
from leakgauge.report.page import Section, render_html
from leakgauge.report.run_report import JudgedRun, most_severe, omission_note, severest_first
from leakgauge.report.sections.promises import promise_text
from leakgauge.verdict import Finding, Verdict

ORDER = 10
MOST_CARDS, MOST_ROWS = 6, 80

_TEMPLATE = """
<div class="headline {{ top.tone }}">
<p class="statement">{{ top.statement }}</p>
{% if answer %}<p class="answer"><strong>{{ question }}</strong> {{ answer }}</p>{% endif %}
<p>{{ top.explanation }}</p>
</div>
<p>How it was tested: in every round a <em>target</em> is in the data behind the release, or is not. An
<em>adversary</em>, who knows certain things beforehand, sees the release and says how likely it is that the
target is in. Blind guessing learns nothing; whoever does better has learned something about a person from
the release alone. {{ meaning }}</p>
<div class="cards">
{% for card in cards %}
<article class="card {{ card.tone }}">
<h3>{{ card.name }}</h3>
<p class="badge">{{ card.badge }}</p>
<p>{{ card.text }}</p>
{% if card.event %}<p>Told apart by: {{ card.event }}.</p>{% endif %}
<dl>
{% for name, value in card.rows %}
<div><dt>{{ name }}</dt><dd>{{ value }}</dd></div>
{% endfor %}
</dl>
</article>
{% endfor %}
</div>
{% if rows %}
<div class="scroll" role="region" aria-label="All findings" tabindex="0">
<table>
<caption>Every adversary and its finding; the gravest are above. {{ omitted }}</caption>
<thead><tr>
<th scope="col">Audit</th><th scope="col">Adversary</th><th scope="col">Finding</th>
<th scope="col" class="n">ε shown</th><th scope="col" class="n">ε promised</th>
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.audit }}</th><td>{{ row.label }}</td>
<td><span class="badge {{ row.tone }}">{{ row.badge }}</span></td>
<td class="n">{{ row.shown }}</td><td class="n">{{ row.promised }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
"""


def section(run: JudgedRun) -> Section:
    """What was found, by which attacker, and what it does not mean."""
    first = severest_first(run.verdicts)[:MOST_CARDS]
    rows = most_severe(run.verdicts, MOST_ROWS) if len(run.verdicts) > len(first) else []
    several = len({verdict.audit for verdict in run.verdicts}) > 1
    html = render_html(
        _TEMPLATE,
        top=headline(run.verdicts),
        question=IDENTIFICATION_QUESTION,
        answer=identification_answer(run.verdicts),
        meaning=" ".join(dict.fromkeys(filter(None, map(_meaning, _extremes(run.verdicts))))),
        cards=[_card(verdict, several) for verdict in first],
        rows=[_row(verdict) for verdict in rows],
        omitted=omission_note(len(rows), len(run.verdicts), "adversaries") if rows else "",
    )
    return Section("The verdict", html)


def _extremes(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdict on the smallest epsilon and, if it is very large, the one on the largest."""
    finite = [verdict for verdict in verdicts if _promised(verdict) is not None]
    ordered = sorted(finite, key=lambda verdict: _promised(verdict) or 0.0)
    return ordered[:1] + [verdict for verdict in ordered[-1:] if (_promised(verdict) or 0.0) > HUGE_EPSILON]


def _promised(verdict: Verdict) -> float | None:
    return (verdict.promised or {}).get("epsilon")


def _meaning(verdict: Verdict) -> str:
    promised = verdict.promised or {}
    epsilon, accuracy = _promised(verdict), verdict.bounds.get("accuracy")
    if epsilon is None:
        return ""
    promise = f"A promise of ε\u00a0=\u00a0{number(epsilon)}"
    if _to_a_group(verdict):
        promise += " to all records of a release together"
    if epsilon > HUGE_EPSILON:
        return f"{promise} is next to none: it lets the odds of that guess shift almost without limit."
    best = f"; no adversary should be right more than {percent(accuracy)} of the time" if accuracy else ""
    rest = f", but for a chance of δ\u00a0=\u00a0{number(promised['delta'])}" if promised.get("delta") else ""
    odds = f"shifts the odds of that guess by at most a factor of {number(math.exp(epsilon))}"
    return f"{promise} says that the release {odds}{rest}{best}."


def _to_a_group(verdict: Verdict) -> bool:
    return (verdict.promised or {}).get("unit") == Unit.GROUP


def _card(verdict: Verdict, several: bool) -> dict[str, Any]:
    name = f"{verdict.audit} · {verdict.label}" if several else verdict.label
    return {
        "name": clip(name),
        "tone": tone_of(verdict),
        "badge": badge_of(verdict),
        "text": _text(verdict),
        "event": clip(verdict.event or "", 200) if verdict.finding is Finding.VIOLATED else "",
        "rows": _card_rows(verdict),
    }


def _text(verdict: Verdict) -> str:
    rounds = times(verdict.rounds, "round")
    match verdict.finding:
        case Finding.VIOLATED:
            counted = (
                COMPARED_METRICS if verdict.rounds > 1 else ("epsilon",)
            )  # of one release no rate counts
            beyond = [
                describe_metric(name).title_in_sentence for name in counted if exceeds_bound(verdict, name)
            ]
            how = f" It exceeds what is allowed in: {', '.join(beyond)}." if beyond else ""
            early = " Play ended as soon as that was shown." if verdict.stopped_early else ""
            return f"This adversary learned more than the promise allows.{how}{early}"
        case Finding.NOT_VIOLATED:
            return f"In {rounds} this adversary did not get past the promise. Another one might."
        case Finding.UNTESTABLE:
            return (
                "This says nothing: no adversary of this audit recognised members even where nothing "
                f"protects them. {control_sentences(verdict)}"
            )
        case Finding.UNDECIDED if _to_a_group(verdict) and verdict.rounds_needed is None:
            return (
                "Nothing can decide here: the promise to all records of a release together allows any "
                "success. What counts is what was measured."
            )
        case Finding.UNDECIDED:
            needed = verdict.rounds_needed
            more = (
                "With this method no number of rounds would do."
                if needed is None
                else f"At least {times(needed, 'round')} would be needed."
            )
            return (
                f"{rounds} cannot decide: even an attack that never erred would stay below the bound. {more}"
            )
        case _:
            return "There is no promise to compare with; the numbers say what this adversary learned."


def _card_rows(verdict: Verdict) -> list[tuple[str, str]]:
    rows = []
    if epsilon := verdict.metrics.get("epsilon"):
        bound = verdict.bounds.get("epsilon")
        shown = f"ε ≥ {low_text('epsilon', epsilon, bound)}" if epsilon.low is not None else "cannot be said"
        rows.append((f"Shown ({confidence(epsilon)} confidence)", shown))
    rows.append(("Promised", promise_text(verdict.promised) if verdict.promised else "nothing"))
    metric = headline_metric(verdict, "accuracy")
    accuracy = verdict.metrics.get(metric)
    if accuracy is not None and accuracy.value is not None:
        right = f"{percent(accuracy.value)} ({interval_text(metric, accuracy)})"
        rows.append((f"Right guesses{averaged_note(verdict, 'accuracy')}", right))
        if (allowed := verdict.bounds.get(metric)) is not None:
            rows.append(("Right guesses allowed", percent(allowed)))
    where = "in each" if verdict.rounds > 1 else "in it"
    targets = f", {times(verdict.n_targets, 'target')} {where}" if verdict.n_targets > 1 else ""
    rows.append(("Played", times(verdict.rounds, "round") + targets))
    return rows


def _row(verdict: Verdict) -> dict[str, str]:
    epsilon, bound = verdict.metrics.get("epsilon"), verdict.bounds.get("epsilon")
    return {
        "audit": clip(verdict.audit),
        "label": clip(verdict.label),
        "tone": tone_of(verdict),
        "badge": badge_of(verdict),
        "shown": NOTHING
        if epsilon is None or epsilon.low is None
        else f"≥ {low_text('epsilon', epsilon, bound)}",
        "promised": number(_promised(verdict)),
    }
