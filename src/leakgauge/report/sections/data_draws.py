"""How much an attacker's success depends on the random split of the people, where several were tried."""

from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note
from leakgauge.report.number_format import count, percent
from leakgauge.report.page import HtmlTableRow, Section, html_table, render_html
from leakgauge.verdict import Verdict

ORDER = 29
MOST_ROWS = 80

_TEMPLATE = """
<p>Whose data an attacker with data of similar people holds was drawn at random several times, and every
simulated release uses one of these splits. In random groups a split also says who may be counted; a table of
everyone counts the same people in all of them. The range includes chance: each
split has only its own part of the simulated releases.</p>
<details>
<summary>Range over the splits for each attacker</summary>
{{ table }}
</details>
"""


def section(run: JudgedRun) -> Section | None:
    """One line per attacker that faced several splits of the people."""
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
        "Splits of the people",
        [("Splits", ""), ("Mean", ""), ("Smallest", ""), ("Largest", "")],
        rows,
        caption="Correct identifications at the attack's own threshold, by split of the people. "
        + omission_note(len(shown), len(drawn), "attackers"),
    )
    return Section("Splits of the people", render_html(_TEMPLATE, table=table))


def draw_sentence(verdict: Verdict) -> str:
    """The mean and the range over the splits of the people; empty where there was one."""
    if not (draws := verdict.draws):
        return ""
    return (
        f"over {count(int(draws['number']))} splits of the people, right {percent(draws['mean'])} of the "
        f"time on average, from {percent(draws['smallest'])} to {percent(draws['largest'])}."
    )
