"""The check of the audit itself: its false-alarm rate and the smallest leak it could have detected."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.control_text import control_cell, control_sentences
from leakgauge.report.metric_text import has_epsilon_bound
from leakgauge.report.number_format import NOTHING, count, level, lower_percent, percent, upper, upper_percent
from leakgauge.report.page import Section, render_html
from leakgauge.report.run_report import JudgedRun, most_severe, omission_note
from leakgauge.verdict import Verdict

ORDER = 60
MOST_ROWS = 80
NO_BOUND = "none: no bound on ε"
FALSE_ALARMS = "More false alarms than tolerated: do not rely on this adversary."

_TEMPLATE = """
{% if rows %}
<p>A scale is checked with nothing on it and with a known weight. This audit checked itself in the same
way.</p>
<dl class="check">
<div><dt>Nothing to find</dt><dd>The adversary's own scores were set against membership drawn afresh, so that
there was nothing to find. The share of {{ draws }}repetitions in which a leak was “found” all the same is
the false-alarm rate. At {{ confidence }} confidence it should be no more than about
{{ tolerated }}.</dd></div>
<div><dt>A planted leak</dt><dd>A mechanism whose leak is known exactly (randomized response) was audited with
the same rounds and targets. The smallest ε seen at least 80% of the time is the smallest leak this audit
could be expected to notice; a smaller one may well have gone unnoticed. To be called a violation, a leak must
be larger still.</dd></div>
<div><dt>No protection</dt><dd>The same attack faced a release without protection, in which members must be
easy to recognise. An adversary that fails there finds no leak anywhere; its numbers say nothing in favour of
the release.</dd></div>
</dl>
<div class="scroll" role="region" aria-label="Instrument check" tabindex="0">
<table>
<caption>Instrument check of each adversary. {{ omitted }}</caption>
<thead><tr>
<th scope="col">Adversary</th><th scope="col" class="n">False-alarm rate</th>
<th scope="col" class="n">Interval</th><th scope="col" class="n">Smallest ε it would notice</th>
<th scope="col" class="n">Noticed in simulation</th>
<th scope="col" class="n">Smallest ε it would call violated</th>
<th scope="col">Right without protection</th>
{% if remarks %}<th scope="col">Remark</th>{% endif %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td class="n">{{ row.rate }}</td><td class="n">{{ row.interval }}</td>
<td class="n">{{ row.seen }}</td><td class="n">{{ row.found }}</td><td class="n">{{ row.violating }}</td>
<td>{{ row.control }}</td>
{% if remarks %}<td>{{ row.remark }}</td>{% endif %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
{% else %}
<p class="note">No instrument check was recorded for these verdicts: how often this audit raises false
alarms, and which leak it could have seen, is not known.</p>
{% endif %}
"""


def section(run: JudgedRun) -> Section:
    """An explanation, then one line per attacker."""
    checked = [verdict for verdict in run.verdicts if verdict.instrument]
    shown = most_severe(checked, MOST_ROWS)
    sure = max((e.confidence for verdict in run.verdicts for e in verdict.metrics.values()), default=0.95)
    tolerated = round(1 - sure, 9)
    rows = [
        _row(name, verdict, tolerated)
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    html = render_html(
        _TEMPLATE,
        confidence=level(sure),
        tolerated=level(tolerated),
        rows=rows,
        draws=_draws(shown),
        remarks=any(row["remark"] for row in rows),
        omitted=omission_note(len(shown), len(checked), "adversaries"),
    )
    return Section("Was the instrument in order?", html)


def _row(name: str, verdict: Verdict, tolerated: float) -> dict[str, str]:
    null = verdict.instrument.get("null") or {}
    planted = verdict.instrument.get("planted") or {}
    low, high = null.get("low"), null.get("high")
    alarming = low is not None and low > tolerated
    return {
        "name": name,
        "rate": percent(null.get("rate")),
        "interval": NOTHING
        if low is None or high is None
        else f"{lower_percent(low)} to {upper_percent(high)}",
        "seen": _smallest(planted, "epsilon") if has_epsilon_bound(verdict) else NO_BOUND,
        "found": percent(planted.get("found")),
        "violating": _smallest(planted, "violating_epsilon")
        if verdict.promised and has_epsilon_bound(verdict)
        else NOTHING,
        "control": control_cell(verdict),
        "remark": f"{FALSE_ALARMS if alarming else ''} {control_sentences(verdict)}".strip(),
    }


def _draws(shown: Sequence[Verdict]) -> str:
    draws = {(verdict.instrument.get("null") or {}).get("draws") for verdict in shown}
    known = draws.pop() if len(draws) == 1 else None
    return f"{count(known)} " if known else ""


def _smallest(planted: Mapping[str, Any], key: str) -> str:
    if key not in planted:
        return NOTHING
    return "none in these rounds" if planted[key] is None else upper(planted[key])
