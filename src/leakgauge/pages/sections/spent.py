"""The budget from both sides: what adversaries got out of an oracle, and what accountants believe."""

from leakgauge.pages import words
from leakgauge.pages.judged import Judged
from leakgauge.pages.markup import render_html
from leakgauge.pages.page import Section
from leakgauge.pages.plain_table import Row, plain_table
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
{{ table }}
"""


def section(run: Judged) -> Section | None:
    """One line per adversary that put questions to an oracle."""
    asking = [verdict for verdict in run.verdicts if verdict.spent]
    if not asking:
        return None
    shown = most_telling(asking, MOST_ROWS)
    names = sorted({name for verdict in shown for name in accountants(verdict)})
    rows = [
        Row(
            name,
            tuple(spent(verdict, one) for one in (OBTAINED, BELIEVED, *names)),
            marked=(0,) if exceeds(verdict.spent or {}) else (),
        )
        for name, verdict in zip(words.names(shown, run.verdicts), shown, strict=True)
    ]
    table = plain_table(
        "The budget from both sides",
        [(column, "") for column in ("Obtained", "Believed", *names)],
        rows,
        caption="ε spent in a round; “a to b” where rounds differ, from the least to the most. "
        + left_out(len(shown), len(asking), "adversaries"),
    )
    html = render_html(_TEMPLATE, table=table)
    return Section("The budget from both sides", html)


def exceeds(spans: dict[str, dict[str, float]]) -> bool:
    """Whether more was obtained than believed, in the round where most was."""
    if OBTAINED not in spans or BELIEVED not in spans:
        return False
    return spans[OBTAINED]["most"] > spans[BELIEVED]["most"] * (1 + 1e-9)
