"""What attacks worked out before the rounds, beside what was measured in them."""

from leakgauge.pages import words
from leakgauge.pages.judged import Judged
from leakgauge.pages.markup import render_html
from leakgauge.pages.numbers import NOTHING
from leakgauge.pages.page import Section
from leakgauge.pages.plain_table import Row, plain_table
from leakgauge.pages.selection import left_out, most_telling
from leakgauge.pages.standing import standing
from leakgauge.pages.studied_words import names_in, term, told

ORDER = 28
MOST_ROWS = 80

_TEMPLATE = """
<p>Before the first round an adversary studies what it knows, without a look at the rounds. These numbers come
from there; how well it then did is beside them.</p>
{{ table }}
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
        measured = words.amount(metric, estimate.value) if estimate else NOTHING
        numbers = (told(one, studied[one]) if one in studied else NOTHING for one in names)
        rows.append(Row(name, (measured, *numbers)))
    terms = [term(name) for name in names]
    table = plain_table(
        "Worked out before the rounds",
        [("Accuracy, measured", ""), *((one.title, one.meaning) for one in terms)],
        rows,
        caption="What adversaries worked out before the rounds; means over the targets. "
        + left_out(len(shown), len(studious), "adversaries"),
    )
    html = render_html(_TEMPLATE, table=table, terms=terms)
    return Section("Worked out before the rounds", html)
