"""How much an attacker's success depends on which people it has data of, where several draws were tried."""

from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.number_format import count, percent
from leakgauge.report.page import HtmlTableRow, Section, html_table, render_html
from leakgauge.report.run_report import JudgedRun, most_severe, omission_note
from leakgauge.verdict import Verdict

ORDER = 29
MOST_ROWS = 80

_TEMPLATE = """
<p>An attacker with data of similar people holds the data of some of them. Which people these are was drawn
at random several times, and every simulated release uses one of the draws. The range includes chance: each
draw has only its own part of the simulated releases.</p>
{{ table }}
"""


def section(run: JudgedRun) -> Section | None:
    """One line per attacker whose data were drawn several times."""
    drawn = [verdict for verdict in run.verdicts if verdict.draws]
    if not drawn:
        return None
    shown = most_severe(drawn, MOST_ROWS)
    rows = []
    for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True):
        draws = verdict.draws or {}
        numbers = (percent(draws[key]) for key in ("mean", "smallest", "largest"))
        rows.append(HtmlTableRow(name, (count(int(draws["number"])), *numbers)))
    table = html_table(
        "Draws of the attacker's data",
        [("Draws", ""), ("Mean", ""), ("Smallest", ""), ("Largest", "")],
        rows,
        caption="Correct identifications at the attack's own threshold, by draw of its data. "
        + omission_note(len(shown), len(drawn), "attackers"),
    )
    return Section("Draws of the attacker's data", render_html(_TEMPLATE, table=table))


def draw_sentence(verdict: Verdict) -> str:
    """The mean and the range over the draws of an attacker's data; empty where there was one."""
    if not (draws := verdict.draws):
        return ""
    return (
        f"over {count(int(draws['number']))} draws of its data, right {percent(draws['mean'])} of the time "
        f"on average, from {percent(draws['smallest'])} to {percent(draws['largest'])}."
    )
