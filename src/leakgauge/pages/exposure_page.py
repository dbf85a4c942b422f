"""How exposed the people of some data are: a page of its own, and the same as a part of a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.pages import page, words
from leakgauge.pages.charts import Bars, density_chart, paint
from leakgauge.pages.markup import render_html
from leakgauge.pages.numbers import count, number, upper
from leakgauge.pages.page import Chart, Section

TITLE = "How exposed is everybody?"
MOST_AUDITS = 6
SHARES = ("0.5", "0.95", "1.0")  # of the people, who are exposed at most so much

_TEMPLATE = """
<p>What adversaries would reach against each person, worked out from the law of the release; nothing was
played for it. Who is who stands in <code>exposure.csv</code>, for the owner of the data alone; this page
names nobody. {{ omitted }}</p>
{% for audit in audits %}
<h3>{{ audit.title }}</h3>
<p>{{ audit.text }}</p>
<div class="scroll" role="region" aria-label="Exposure" tabindex="0">
<table>
<caption>What an adversary reaches at most against half of the people, 95% of them, and all</caption>
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
<ul>
{% for row in audit.rows %}
<li><strong>{{ row.name }}</strong>: {{ row.basis }}.</li>
{% endfor %}
{% for note in audit.notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
{{ audit.chart.figure }}
{% endfor %}
"""


def write(summary: Mapping[str, Any], path: Path) -> Path:
    """Write the page of a summary."""
    people = max((audit["people"] for audit in summary["audits"]), default=0)
    return page.render(TITLE, [section(summary)], path, lead=f"{count(people)} people in the data.")


def section(summary: Mapping[str, Any]) -> Section:
    """Quantiles and a histogram for each audit."""
    audits = summary["audits"]
    shown = [_audit(place, audit) for place, audit in enumerate(audits[:MOST_AUDITS], start=1)]
    omitted = (
        f"Shown are {MOST_AUDITS} of {len(audits)} audits; exposure.json holds them all."
        if len(audits) > MOST_AUDITS
        else ""
    )
    metrics = [(words.term(name).title, words.term(name).meaning) for name in _metrics(audits)]
    html = render_html(_TEMPLATE, audits=shown, metrics=metrics, omitted=omitted)
    return Section("Exposure of everybody", html, tuple(audit["chart"] for audit in shown))


def _metrics(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(
        dict.fromkeys(name for audit in audits for one in audit["adversaries"] for name in one["metrics"])
    )


def _audit(place: int, audit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": words.clip(audit["audit"]),
        "text": f"{count(audit['people'])} people, each taken as the one an adversary asks about.",
        "rows": [_row(one) for one in audit["adversaries"]],
        "notes": audit["notes"],
        "promised": _promised(audit.get("promised")),
        "chart": _chart(place, audit),
    }


def _row(against: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": against["adversary"],
        "basis": against["basis"],
        "cells": [spread(name, metric["quantiles"]) for name, metric in against["metrics"].items()],
        "error": number(against["error"]),
    }


def _promised(promised: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not promised:
        return None
    rows = [
        ("by what is promised to each cell (Kairouz et al. 2015)", epsilons(promised["kairouz"])),
        ("by the law of the noise (tight)", epsilons(promised["tight"])),
    ]
    return {"text": f"{label(promised)}. {what_is_left(promised)}.", "rows": rows}


def label(promised: Mapping[str, Any]) -> str:
    """The epsilon on the label, and what it protects.

    >>> label({"nominal": {"epsilon": 0.5, "unit": "event"}})
    'Promised is ε\xa0=\xa00.5 for one event'
    """
    return f"Promised is {words.promise(promised['nominal'])}"


def what_is_left(promised: Mapping[str, Any]) -> str:
    """What the numbers of a person are."""
    delta = number(promised["delta"]["1.0"])
    return f"A person gets the composition over all cells they move, here at δ of at most {delta}"


def epsilons(quantiles: Mapping[str, float | None]) -> str:
    """What epsilon is at most for half of the people, for 95% and for all; nothing is rounded down.

    >>> epsilons({"0.5": 1.2301, "0.95": 14.0, "1.0": None})
    '1.24 / 14.0 / ∞'
    """
    found = (quantiles[share] for share in SHARES)
    return " / ".join("∞" if value is None else upper(value) for value in found)


def spread(name: str, quantiles: Mapping[str, float]) -> str:
    """What a metric is at most for half of the people, for 95% and for all.

    >>> spread("accuracy", {"0.5": 0.7312, "0.95": 0.9, "1.0": 0.99999})
    '73.1% / 90.0% / >99.9%'
    """
    return " / ".join(_amount(quantiles[share], share=words.term(name).is_share) for share in SHARES)


def _amount(value: float, *, share: bool) -> str:
    """A number to a thousandth: it is not known better. What is not quite one is never shown as one."""
    text, most = (f"{value:.1%}", ">99.9%") if share else (f"{value:.3f}", ">0.999")
    return most if value < 1 and text in ("100.0%", "1.000") else text


def _chart(place: int, audit: Mapping[str, Any]) -> Chart:
    bars, told = [], []
    colours = paint.colours(len(audit["adversaries"]))
    for one, colour in zip(audit["adversaries"], colours, strict=True):
        edges, people = np.array(one["histogram"]["edges"]), np.array(one["histogram"]["people"], dtype=float)
        some = np.flatnonzero(people)
        if some.size:
            first, last = int(some[0]), int(some[-1]) + 1
            share = people[first:last] / max(audit["people"], 1)
            bars.append(Bars(one["adversary"], edges[first : last + 1], share, colour))
        middle = one["metrics"]["auc"]["quantiles"]["0.5"]
        told.append(f"{one['adversary']}: half of the people at most {_amount(middle, share=False)}")
    return density_chart(
        f"exposure-{place}",
        bars,
        x_title="AUC",
        y_title="share of people",
        caption=f"AUC of adversaries against {count(audit['people'])} people",
        alternative="; ".join(told),
    )
