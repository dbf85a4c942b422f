"""The check of the audit itself: its false-alarm rate and the smallest leak it could have detected."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge.report import judged_run, metric_text, number_format, page
from leakgauge.report.adversary_names import adversary_names
from leakgauge.report.control_text import control_sentences, false_alarms, raises_false_alarms, tolerated_rate
from leakgauge.summary import control_status, is_control
from leakgauge.verdict import Verdict

ORDER = 60
MOST_ROWS = 80
NO_BOUND = "none: no bound on ε"
FALSE_ALARMS = "More false alarms than tolerated: do not rely on this attacker."

_TEMPLATE = """
{% if rows %}
<p>We checked the audit itself: with no leak, with a known leak, and, where possible, with a release that is
easy to attack.</p>
<dl class="check">
<div><dt>With no leak</dt><dd>Scores were compared with newly drawn random membership, {{ draws }}times. The
false-alarm
rate is how often a leak was reported although there was none; at {{ confidence }} confidence it should be at
most about {{ tolerated }}.
{% if alarms and not alarms.too_high %}{{ alarms.sentence }}{% endif %}</dd></div>
<div><dt>With a known leak</dt><dd>Randomized response with a known ε was audited with as many {{ short }}s
and targets. The table gives the smallest ε that was noticed at least 80% of the time; smaller leaks may have
gone unnoticed.</dd></div>
<div><dt>Positive control</dt><dd>{{ control }}</dd></div>
</dl>
{% if alarms and alarms.too_high %}
<p class="alert">{{ alarms.sentence }}</p>
{% endif %}
<details{{ ' open' if remarks }}>
<summary>Check of the audit for each attacker</summary>
<div class="scroll" role="region" aria-label="Check of the audit" tabindex="0">
<table>
<caption>Check of the audit for each attacker. {{ omitted }}</caption>
<thead><tr>
<th scope="col">Attacker</th><th scope="col" class="n">False-alarm rate</th>
<th scope="col" class="n">Smallest ε it would notice</th>
<th scope="col" class="n">Smallest ε it would call violated</th>
<th scope="col">Positive control</th>
{% if remarks %}<th scope="col">Remark</th>{% endif %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td class="n">{{ row.rate }}</td>
<td class="n">{{ row.seen }}</td><td class="n">{{ row.violating }}</td>
<td>{{ row.control }}</td>
{% if remarks %}<td>{{ row.remark }}</td>{% endif %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
</details>
{% else %}
<p class="note">The audit itself was not checked: how often it raises false alarms, and which leak it could
have found, is not known.</p>
{% endif %}
"""


def section(run: judged_run.JudgedRun) -> page.Section:
    """An explanation, then one line per attacker."""
    checked = [verdict for verdict in run.verdicts if verdict.instrument]
    shown = judged_run.most_severe(checked, MOST_ROWS)
    tolerated = tolerated_rate(run.verdicts)
    rows = [
        _row(name, verdict, len(checked))
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    html = page.render_html(
        _TEMPLATE,
        confidence=number_format.level(round(1 - tolerated, 9)),
        tolerated=number_format.level(tolerated),
        rows=rows,
        short=judged_run.round_term(run.verdicts).short,
        draws=_draws(shown),
        control=_control(shown),
        remarks=any(row["remark"] for row in rows),
        alarms=false_alarms(run.verdicts),
        omitted=judged_run.omission_note(len(shown), len(checked), "attackers"),
    )
    return page.Section("Was the audit able to find a leak?", html)


def _row(name: str, verdict: Verdict, n_checked: int) -> dict[str, str]:
    null = verdict.instrument.get("null") or {}
    planted = verdict.instrument.get("planted") or {}
    low, high = null.get("low"), null.get("high")
    alarming = raises_false_alarms(verdict, n_checked)
    return {
        "name": name,
        "rate": number_format.percent(null.get("rate"))
        + (
            f" ({number_format.lower_percent(low)} to {number_format.upper_percent(high)})"
            if low is not None and high is not None
            else ""
        ),
        "control": control_status(verdict),
        "seen": _smallest(planted, "epsilon") if metric_text.has_epsilon_bound(verdict) else NO_BOUND,
        "violating": _smallest(planted, "violating_epsilon")
        if verdict.promised and metric_text.has_epsilon_bound(verdict)
        else number_format.NOTHING,
        "remark": f"{FALSE_ALARMS if alarming else ''} {control_sentences(verdict)}".strip(),
    }


def _control(shown: Sequence[Verdict]) -> str:
    """Who identified people when the same release had no protection: whoever did not can show nothing."""
    statuses = [control_status(verdict) for verdict in shown if not is_control(verdict)]
    failed, passed = statuses.count("failed"), statuses.count("passed")
    if failed and not passed:
        return "No attacker identified anybody even in the positive control: this audit tested nothing."
    if failed:
        attackers = number_format.times(failed, "attacker")
        return f"{attackers} identified nobody even in the positive control: do not rely on their failures."
    if passed:
        return "In the positive control the attackers identified people on the same path, as they should."
    return "A release that is easy to attack could not be made here, so this check was not possible."


def _draws(shown: Sequence[Verdict]) -> str:
    draws = {(verdict.instrument.get("null") or {}).get("draws") for verdict in shown}
    known = draws.pop() if len(draws) == 1 else None
    return f"{number_format.count(known)} " if known else "many "


def _smallest(planted: Mapping[str, Any], key: str) -> str:
    if key not in planted:
        return number_format.NOTHING
    return "none in these rounds" if planted[key] is None else number_format.upper(planted[key])
