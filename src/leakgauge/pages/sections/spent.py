"""The budget from both sides: what adversaries got out of an oracle, and what accountants believe."""

from leakgauge.pages import words
from leakgauge.pages.judged import Judged
from leakgauge.pages.markup import render_html
from leakgauge.pages.page import Section
from leakgauge.pages.selection import left_out, most_telling
from leakgauge.pages.spending import BELIEVED, OBTAINED, accountants, spent

ORDER = 27
MOST_ROWS = 80

_TEMPLATE = """
<p>An oracle that answers questions keeps accounts, and refuses when its budget is spent. What an adversary
<em>obtained</em> is the ε of all answers whose questions were about a target, added up: the accounts that
matter to that target. What was <em>believed</em> is what the accountant in charge had written down by then.
Where more was obtained in some round than the accountant ever believed, the accounts are wrong, and the
number is marked. The other columns say what every accountant
would have written down for the same answers.</p>
<div class="scroll" role="region" aria-label="The budget from both sides" tabindex="0">
<table>
<caption>ε spent in a round; “a to b” where rounds differ, from the least to the most. {{ omitted }}</caption>
<thead><tr><th scope="col">Adversary</th><th scope="col" class="n">Obtained</th>
<th scope="col" class="n">Believed</th>
{% for name in names %}
<th scope="col" class="n"><code>{{ name }}</code></th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td class="n{{ ' beyond' if row.beyond }}">{{ row.obtained }}</td>
<td class="n">{{ row.believed }}</td>
{% for cell in row.cells %}
<td class="n">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""


def section(run: Judged) -> Section | None:
    """One line per adversary that put questions to an oracle."""
    asking = [verdict for verdict in run.verdicts if verdict.spent]
    if not asking:
        return None
    shown = most_telling(asking, MOST_ROWS)
    names = sorted({name for verdict in shown for name in accountants(verdict)})
    rows = [
        {
            "name": name,
            "obtained": spent(verdict, OBTAINED),
            "believed": spent(verdict, BELIEVED),
            "cells": [spent(verdict, accountant) for accountant in names],
            "beyond": exceeds(verdict.spent or {}),
        }
        for name, verdict in zip(words.names(shown, run.verdicts), shown, strict=True)
    ]
    html = render_html(
        _TEMPLATE, rows=rows, names=names, omitted=left_out(len(shown), len(asking), "adversaries")
    )
    return Section("The budget from both sides", html)


def exceeds(spans: dict[str, dict[str, float]]) -> bool:
    """Whether more was obtained than believed, in the round where most was."""
    if OBTAINED not in spans or BELIEVED not in spans:
        return False
    return spans[OBTAINED]["most"] > spans[BELIEVED]["most"] * (1 + 1e-9)
