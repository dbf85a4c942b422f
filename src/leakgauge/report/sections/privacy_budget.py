"""The privacy budget: what attackers obtained from a query service, and what accountants recorded."""

from collections.abc import Mapping

from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.html_table import HtmlTableRow, html_table
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note
from leakgauge.report.number_format import NOTHING, number
from leakgauge.report.page import Section, render_html
from leakgauge.verdict import Verdict

OBTAINED, BELIEVED = "obtained", "believed"


def spent_epsilon(verdict: Verdict, name: str) -> str:
    """An epsilon that was spent: one number, or from the least to the most of any round."""
    span = (verdict.spent or {}).get(name)
    return NOTHING if span is None else range_text(span)


def range_text(span: Mapping[str, float]) -> str:
    """A span, as short as it can be.

    >>> range_text({"least": 3.0, "mean": 3.0, "most": 3.0})
    '3'
    >>> range_text({"least": 3.0, "mean": 31.1, "most": 60.0})
    '3 to 60'
    """
    least, most = number(span["least"]), number(span["most"])
    return most if least == most else f"{least} to {most}"


def accountants(verdict: Verdict) -> list[str]:
    """The accountants that counted, by their names."""
    return sorted(set(verdict.spent or {}) - {OBTAINED, BELIEVED})


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


def section(run: JudgedRun) -> Section | None:
    """One line per adversary that put questions to an oracle."""
    asking = [verdict for verdict in run.verdicts if verdict.spent]
    if not asking:
        return None
    shown = most_severe(asking, MOST_ROWS)
    names = sorted({name for verdict in shown for name in accountants(verdict)})
    rows = [
        HtmlTableRow(
            name,
            tuple(spent_epsilon(verdict, one) for one in (OBTAINED, BELIEVED, *names)),
            marked=(0,) if obtained_exceeds_believed(verdict.spent or {}) else (),
        )
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    table = html_table(
        "The budget from both sides",
        [(column, "") for column in ("Obtained", "Believed", *names)],
        rows,
        caption="ε spent in a round; “a to b” where rounds differ, from the least to the most. "
        + omission_note(len(shown), len(asking), "adversaries"),
    )
    html = render_html(_TEMPLATE, table=table)
    return Section("The budget from both sides", html)


def obtained_exceeds_believed(spans: dict[str, dict[str, float]]) -> bool:
    """Whether more was obtained than believed, in the round where most was."""
    if OBTAINED not in spans or BELIEVED not in spans:
        return False
    return spans[OBTAINED]["most"] > spans[BELIEVED]["most"] * (1 + 1e-9)
