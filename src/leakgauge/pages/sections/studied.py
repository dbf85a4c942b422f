"""What attacks worked out before the rounds, beside what was measured in them."""

from leakgauge.pages import words
from leakgauge.pages.judged import Judged
from leakgauge.pages.markup import render_html
from leakgauge.pages.numbers import NOTHING
from leakgauge.pages.page import Section
from leakgauge.pages.selection import left_out, most_telling
from leakgauge.pages.standing import standing
from leakgauge.pages.studied_words import names_in, term, told

ORDER = 28
MOST_ROWS = 80

_TEMPLATE = """
<p>Before the first round an adversary studies what it knows, without a look at the rounds. These numbers come
from there; how well it then did is beside them.</p>
<div class="scroll" role="region" aria-label="Worked out before the rounds" tabindex="0">
<table>
<caption>What adversaries worked out before the rounds; means over the targets. {{ omitted }}</caption>
<thead><tr><th scope="col">Adversary</th><th scope="col" class="n">Accuracy, measured</th>
{% for one in terms %}
<th scope="col" class="n" title="{{ one.meaning }}">{{ one.title }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td class="n">{{ row.measured }}</td>
{% for cell in row.cells %}
<td class="n">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
<ul class="note">
{% for one in terms %}
<li>{{ one.title }}: {{ one.meaning }}.</li>
{% endfor %}
</ul>
"""


def section(run: Judged) -> Section | None:
    """One line per adversary that worked something out."""
    studious = [verdict for verdict in run.verdicts if verdict.studied]
    if not studious:
        return None
    shown = most_telling(studious, MOST_ROWS)
    names = names_in(shown)
    rows = []
    for name, verdict in zip(words.names(shown, run.verdicts), shown, strict=True):
        metric, studied = standing(verdict, "accuracy"), verdict.studied or {}
        estimate = verdict.metrics.get(metric)
        rows.append(
            {
                "name": name,
                "measured": words.amount(metric, estimate.value) if estimate else NOTHING,
                "cells": [told(one, studied[one]) if one in studied else NOTHING for one in names],
            }
        )
    html = render_html(
        _TEMPLATE,
        rows=rows,
        terms=[term(name) for name in names],
        omitted=left_out(len(shown), len(studious), "adversaries"),
    )
    return Section("Worked out before the rounds", html)
