"""What the numbers are based on: assumptions, methods and settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakgauge import catalog
from leakgauge.report import judged_run, metric_text, number_format, page
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.verdict import Finding, Verdict

ORDER = 70
MOST_ROWS, MOST_AUDITS, MOST_METHODS, LONGEST_SETTING, LONGEST_PART = 80, 30, 40, 60, 300

COINS: Mapping[str, str] = {
    "fair": "assigned at random: each target in or out with probability one half, independently",
    "tied": "assigned at random, half in and half out; but targets of a release resemble one another, so "
    "that they are not counted as independent",
    "given": "given by a file or a split, not assigned at random",
}

_TEMPLATE = """
<ul>
{% if single %}
<li><strong>One release.</strong> For {{ single }} there was a single release. Its rates are over the
records of
that release and say nothing about other releases. An ε shown takes chance in the release into account.</li>
{% endif %}
{% if several %}
<li><strong>{{ nouns }} are independent,</strong> each with fresh noise.{% if shared %} Several targets
in one {{ short }} are never counted as independent.{% endif %}</li>
{% endif %}
{% for text in coins %}
<li><strong>Membership</strong> was {{ text }}.</li>
{% endfor %}
<li><strong>Many attackers.</strong> Each interval holds by itself. Findings hold together: their chance
of error
is divided by {{ corrected }}, the number of attackers.</li>
<li><strong>Number of {{ short }}s.</strong>
{% if stopped %}
For {{ stopped }} the audit stopped as soon as a violation was shown, by a test that may be read at any
time{% if looks %} (it was read {{ looks }} times){% endif %}; intervals for a fixed number of {{ short }}s
are not
valid there.
{% else %}
All planned {{ short }}s took place. Intervals hold for a number fixed beforehand; {{ short }}s added after
looking
at results make them too narrow.
{% endif %}
</li>
<li><strong>Thresholds were never tuned on the {{ short }}s used for scoring.</strong>{% if given %} For
scores computed elsewhere this cannot be checked.{% endif %}</li>
<li><strong>An ε shown is a lower bound</strong>, never an estimate of the whole leak.</li>
</ul>
<details>
<summary>How each attacker was judged, methods and settings</summary>
<div class="scroll" role="region" aria-label="How each attacker was judged" tabindex="0">
<table>
<caption>How each attacker was judged. {{ omitted }}</caption>
<thead><tr>
<th scope="col">Attacker</th><th scope="col">Attack</th><th scope="col">Knows</th>
<th scope="col">Membership</th>
<th scope="col" class="n">{{ short|capitalize }}s</th><th scope="col" class="n">Targets</th>
<th scope="col" class="n">Corrected for</th><th scope="col">Stopped early</th>
<th scope="col" class="n">{{ short|capitalize }}s to refute ε without an error</th>
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th><td>{{ row.attack }}</td><td>{{ row.knowledge }}</td>
<td>{{ row.coins }}</td>
<td class="n">{{ row.rounds }}</td><td class="n">{{ row.targets }}</td><td class="n">{{ row.corrected }}</td>
<td>{{ row.stopped }}</td><td class="n">{{ row.needed }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<div class="scroll" role="region" aria-label="Methods" tabindex="0">
<table>
<caption>How each number was computed. {{ omitted_methods }}</caption>
<thead><tr><th scope="col">Metric</th><th scope="col">Method</th><th scope="col" class="n">Confidence</th>
<th scope="col" class="n">Attackers</th></tr></thead>
<tbody>
{% for metric, method, sure, n in methods %}
<tr><th scope="row">{{ metric }}</th><td>{{ method }}</td>
<td class="n">{{ sure }}</td><td class="n">{{ n }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% for audit, domain, parts in audits %}
<h3>{{ audit }}</h3>
<dl class="settings">
<div><dt>domain</dt><dd>{{ domain }}</dd></div>
{% for part, text in parts %}
<div><dt>{{ part }}</dt><dd>{{ text }}</dd></div>
{% endfor %}
</dl>
{% endfor %}
<p class="note">{{ omitted_audits }}</p>
</details>
"""


def section(run: judged_run.JudgedRun) -> page.Section:
    """Coins, independence, correction, stopping, and the method of each estimate."""
    verdicts = run.verdicts
    shown, methods = judged_run.most_severe(verdicts, MOST_ROWS), _methods(verdicts)
    audits = judged_run.by_audit(verdicts)
    stopped = [verdict for verdict in verdicts if verdict.stopped_early]
    single = [verdict for verdict in verdicts if verdict.rounds == 1 and verdict.n_targets > 1]
    term = judged_run.round_term(verdicts)
    html = page.render_html(
        _TEMPLATE,
        nouns=f"{term.noun.capitalize()}s",
        short=term.short,
        shared=any(verdict.n_targets > 1 for verdict in verdicts if verdict not in single),
        single=number_format.times(len(single), "attacker") if single else "",
        several=len(single) < len(verdicts),
        coins=[COINS.get(coins, clip(coins)) for coins in dict.fromkeys(v.coins for v in verdicts)],
        given=any(verdict.coins == "given" for verdict in verdicts),
        corrected=number_format.count(max(verdict.corrected_for for verdict in verdicts)),
        stopped=number_format.times(len(stopped), "attacker") if stopped else "",
        looks=run.manifest.get("looks"),
        rows=[
            _row(name, verdict) for name, verdict in zip(adversary_names(shown, verdicts), shown, strict=True)
        ],
        omitted=judged_run.omission_note(len(shown), len(verdicts), "attackers"),
        methods=methods[:MOST_METHODS],
        omitted_methods=judged_run.omission_note(min(MOST_METHODS, len(methods)), len(methods), "methods"),
        audits=[_settings(audit, rivals[0]) for audit, rivals in list(audits.items())[:MOST_AUDITS]],
        omitted_audits=judged_run.omission_note(min(MOST_AUDITS, len(audits)), len(audits), "audits"),
    )
    return page.Section("What the numbers are based on", html)


def _row(name: str, verdict: Verdict) -> dict[str, str]:
    needed = "never enough" if verdict.finding is Finding.UNDECIDED else number_format.NOTHING
    return {
        "name": name,
        "attack": clip(verdict.attack),
        "knowledge": clip(verdict.knowledge),
        "coins": clip(verdict.coins),
        "rounds": number_format.count(verdict.rounds),
        "targets": number_format.count(verdict.n_targets),
        "corrected": number_format.count(verdict.corrected_for),
        "stopped": "yes" if verdict.stopped_early else "no",
        "needed": number_format.count(verdict.rounds_needed) if verdict.rounds_needed is not None else needed,
    }


def _methods(verdicts: Sequence[Verdict]) -> list[tuple[str, str, str, str]]:
    present = metric_text.metrics_in(verdicts)
    known = [name for name in catalog.metric_descriptions() if name in present]
    others = sorted(present - set(known))
    uses: dict[tuple[str, str, str], int] = {}
    for name in [*known, *others]:
        for verdict in verdicts:
            if estimate := verdict.metrics.get(name):
                key = (
                    metric_text.describe_metric(name).title,
                    clip(estimate.method, 200),
                    number_format.confidence(estimate),
                )
                uses[key] = uses.get(key, 0) + 1
    return [(*key, number_format.count(n)) for key, n in uses.items()]


def _settings(audit: str, verdict: Verdict) -> tuple[str, str, list[tuple[str, str]]]:
    parts = (
        (part, clip(_settings_text(values), LONGEST_PART))
        for part, values in verdict.parameters.items()
        if part != "attack"
    )
    return (
        clip(audit),
        clip(verdict.domain),
        [(clip(part), text) for part, text in parts if text],
    )


def _settings_text(values: Any) -> str:
    """Settings in one line; long lists are counted, not shown, so that a report has no raw values."""
    match values:
        case Mapping():
            return ", ".join(
                f"{clip(key, LONGEST_SETTING)} = {_settings_text(value)}" for key, value in values.items()
            )
        case list() | tuple() if len(values) > 8:
            return f"({number_format.count(len(values))} values)"
        case list() | tuple():
            return "[" + ", ".join(_settings_text(value) for value in values) + "]"
        case _:
            return clip(values, LONGEST_SETTING)
