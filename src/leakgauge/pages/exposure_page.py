"""How exposed the people of some data are: a page of its own, and the same as a part of a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.pages import exposure_words as says
from leakgauge.pages import page, words
from leakgauge.pages.charts import paint, people_chart
from leakgauge.pages.markup import render_html
from leakgauge.pages.numbers import count, number
from leakgauge.pages.page import Chart, Section

TITLE = "How exposed is everybody?"
LOG_TITLE = "How exposed is every record?"
MOST_AUDITS = 6

_TEMPLATE = """
{% if answers %}
<div class="headline no-promise">
<p class="statement">{{ question }}</p>
{% for title, answer in answers %}
<p class="answer">{% if answers|length > 1 %}<strong>{{ title }}</strong>: {% endif %}{{ answer }}</p>
{% endfor %}
<p>Blind guessing is right half of the time.</p>
</div>
{% endif %}
<p>What adversaries would reach against each {{ one }}, worked out from the law of the release; nothing was
played for it. Who is who stands in <code>exposure.csv</code>, for the owner of the data alone; this page
names nobody. {{ omitted }}</p>
{% for audit in audits %}
<h3>{{ audit.title }}</h3>
<p>{{ audit.text }}</p>
{% for chart in audit.charts %}
{{ chart.figure }}
{% endfor %}
<div class="scroll" role="region" aria-label="Exposure" tabindex="0">
<table>
<caption>What an adversary reaches at most against half of the {{ audit.many }}, 95% of them,
and all</caption>
<thead><tr><th scope="col">Adversary</th>
{% for metric, meaning in metrics %}
<th scope="col" class="n" title="{{ meaning }}">{{ metric }}</th>
{% endfor %}
<th scope="col" class="n" title="how far numbers may be off by the way they are computed">Error</th>
</tr></thead>
<tbody>
{% for row in audit.rows %}
<tr><th scope="row">{{ row.name }}</th>
{% for cell in row.cells %}
<td class="n">{{ cell }}</td>
{% endfor %}
<td class="n">{{ row.error }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% if audit.spent %}
<p>What the answers have cost already, for half of the {{ audit.many }} / 95% of them / all, at most:</p>
<ul>
{% for line in audit.spent %}
<li>{{ line }}</li>
{% endfor %}
</ul>
{% endif %}
{% if audit.promised %}
<p>{{ audit.promised.text }}</p>
<div class="scroll" role="region" aria-label="Promises to people" tabindex="0">
<table class="narrow">
<caption>The ε that is left for half of the people, 95% of them, and all, at most</caption>
<thead><tr><th scope="col">Composition over a person's own cells</th>
<th scope="col" class="n">ε at most</th></tr></thead>
<tbody>
{% for name, spread in audit.promised.rows %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ spread }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
{% endfor %}
<h3>What these numbers are and rest on</h3>
<ul>
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
"""


def write(summary: Mapping[str, Any], path: Path) -> Path:
    """Write the page of a summary."""
    most = max(summary["audits"], key=lambda audit: audit["people"], default={"people": 0})
    lead = f"{count(most['people'])} {says.many(most)} in the data."
    logs = bool(summary["audits"]) and all(says.many(audit) == "records" for audit in summary["audits"])
    return page.render(LOG_TITLE if logs else TITLE, [section(summary)], path, lead=lead)


def section(summary: Mapping[str, Any]) -> Section:
    """The answer first, then for each audit a panel of people for every adversary, and quantiles."""
    audits = summary["audits"]
    told = audits[:MOST_AUDITS]
    shown = [_audit(place, audit) for place, audit in enumerate(told, start=1)]
    omitted = (
        f"Shown are {MOST_AUDITS} of {len(audits)} audits; exposure.json holds them all."
        if len(audits) > MOST_AUDITS
        else ""
    )
    html = render_html(
        _TEMPLATE,
        question=says.question(told),
        one="record" if any(says.many(audit) == "records" for audit in told) else "person",
        answers=[(words.clip(audit["audit"]), says.answer(audit)) for audit in told if says.answer(audit)],
        audits=shown,
        metrics=[(words.term(name).title, words.term(name).meaning) for name in _metrics(audits)],
        notes=says.resting_on(told),
        omitted=omitted,
    )
    return Section(
        "Exposure of everybody", html, tuple(chart for audit in shown for chart in audit["charts"])
    )


def _metrics(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(
        dict.fromkeys(name for audit in audits for one in audit["adversaries"] for name in one["metrics"])
    )


def _audit(place: int, audit: Mapping[str, Any]) -> dict[str, Any]:
    whom = says.many(audit)
    return {
        "title": words.clip(audit["audit"]),
        "text": f"{count(audit['people'])} {whom}, each taken as the one an adversary asks about.",
        "many": whom,
        "spent": says.spent(audit),
        "rows": [_row(one) for one in audit["adversaries"]],
        "promised": _promised(audit.get("promised")),
        "charts": _charts(place, audit),
    }


def _row(against: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": against["adversary"],
        "cells": [says.spread(name, metric["quantiles"]) for name, metric in against["metrics"].items()],
        "error": number(against["error"]),
    }


def _promised(promised: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not promised:
        return None
    rows = [
        ("by what is promised to each cell (Kairouz et al. 2015)", says.epsilons(promised["kairouz"])),
        ("by the law of the noise (tight)", says.epsilons(promised["tight"])),
    ]
    return {"text": f"{says.label(promised)}. {says.what_is_left(promised)}.", "rows": rows}


def _charts(place: int, audit: Mapping[str, Any]) -> list[Chart]:
    """One panel for each adversary, all of the same scale."""
    against, people = audit["adversaries"], max(audit["people"], 1)
    shares = [np.array(one["histogram"]["people"], dtype=float) / people for one in against]
    most = max((float(share.max()) for share in shares), default=1.0)
    return [
        _chart(f"exposure-{place}-{n}", audit, one, share, most, colour)
        for n, (one, share, colour) in enumerate(
            zip(against, shares, paint.colours(len(against)), strict=True), start=1
        )
    ]


def _chart(
    name: str, audit: Mapping[str, Any], against: Mapping[str, Any], shares: Any, most: float, colour: str
) -> Chart:
    metric = against["histogram"]["metric"]
    reached = says.recognised(audit, against)
    middle = against["metrics"][metric]["quantiles"]["0.5"]
    half = f"half of the {says.many(audit)} at most {says.amount(middle, share=words.term(metric).is_share)}"
    return people_chart(
        name,
        np.array(against["histogram"]["edges"]),
        shares,
        level=against["recognised"]["accuracy"] if reached and metric == "accuracy" else None,
        most=most,
        colour=colour,
        x_title="right guesses" if metric == "accuracy" else words.term(metric).title,
        caption=f"{against['adversary']}: {reached or half}",
        alternative=f"{words.term(metric).title} of {against['adversary']}: {half}",
        who=says.many(audit),
    )
