"""What the answers themselves show, without the game: each test of transcripts beside the statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.report.adversary_names import LONGEST_SENTENCE, adversary_names, whole_sentences
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note
from leakgauge.report.number_format import count
from leakgauge.report.page import HtmlTableRow, Section, html_table, render_html

ORDER = 23
MOST_ROWS = 40

_TEMPLATE = """
<p>Besides the attacks, everything that was given to them was compared with what is stated. Some of
it needs no statistics. The tests below have half of the error that a finding may have, and are corrected for
their number (Holm 1979). A test that rejects is either a violation, since it means a larger ε, or says only
that the mechanism is not as stated.</p>
{% if sentences %}
<ul>
{% for text, names in sentences %}
<li>{{ text }} <span class="note">({{ names }})</span></li>
{% endfor %}
</ul>
{% else %}
<p>Nothing was found. This is not evidence that the mechanism is as stated: small differences need more
answers.</p>
{% endif %}
{% for text, names in unnoticed %}
<p>{{ text }} <span class="note">({{ names }})</span></p>
{% endfor %}
<details>
<summary>Tests for each attacker</summary>
{{ table }}
</details>
"""


def section(run: JudgedRun) -> Section | None:
    """What was found, then the tests of each attacker."""
    tested = [verdict for verdict in run.verdicts if verdict.conformance or verdict.evidence]
    if not tested:
        return None
    shown = most_severe(tested, MOST_ROWS)
    names = adversary_names(shown, run.verdicts)
    rows = [
        HtmlTableRow(name, _cells(test))
        for name, verdict in zip(names, shown, strict=True)
        for test in verdict.conformance
    ]
    table = html_table(
        "Tests of what was given",
        [("Test", ""), ("Values", ""), ("p value", ""), ("Result", "")],
        rows,
        caption="Tests of what was given to each attacker. "
        + omission_note(len(shown), len(tested), "attackers"),
    )
    sentences = _sentences(names, [verdict.evidence for verdict in shown])
    unnoticed = _sentences(names, [[row.get("unnoticed") for row in one.conformance] for one in shown])
    html = render_html(_TEMPLATE, sentences=sentences, unnoticed=unnoticed, table=table)
    return Section("What the answers themselves show", html)


def _cells(test: Mapping[str, Any]) -> tuple[str, ...]:
    result = "no difference seen"
    if test["rejected"]:
        result = "violation" if test["violates"] else "not as stated"
    return test["name"].replace("_", " "), count(test["n"]), f"{test['p_value']:.2g}", result


def _sentences(names: Sequence[str], said: Sequence[Sequence[str | None]]) -> list[tuple[str, str]]:
    """Each sentence once, with the attackers that it is about; ``said`` are those of each attacker."""
    about: dict[str, list[str]] = {}
    for name, sentences in zip(names, said, strict=True):
        for text in filter(None, sentences):
            about.setdefault(whole_sentences(text, LONGEST_SENTENCE), []).append(name)
    return [(text, ", ".join(who[:4])) for text, who in about.items()]
