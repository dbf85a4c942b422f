"""What the audit did not test."""

from leakgauge.report.adversary_names import clip
from leakgauge.report.number_format import number
from leakgauge.report.page import Section, render_html
from leakgauge.report.run_report import JudgedRun

ORDER = 80
MOST_NAMES = 12

_TEMPLATE = """
<ul>
<li><strong>An audit refutes; it cannot prove.</strong> “Not violated” means that these adversaries did not
break the promise in these rounds. It does not mean that the release is harmless.</li>
<li><strong>Other adversaries.</strong> Only these were tried: {{ names }}. One that knows more, or attacks
differently, may learn more.</li>
<li><strong>Other people.</strong> The result is about the targets of this plan{% if one %} (one in each
round){% endif %}; others may be more exposed.</li>
<li><strong>Other data.</strong> The game was played on the data named in the plan. On data of another size
or kind the leak may differ.</li>
<li><strong>Rare events.</strong> A leak that shows once in very many releases can escape any audit that
only watches releases.</li>
{% if delta %}
<li><strong>The failure probability.</strong> The promise allows it to fail with probability δ (here up to
{{ delta }}); what happens then was not examined.</li>
{% endif %}
<li><strong>Other questions.</strong> Membership was tested: whether someone is in the data. Other leaks,
such as the value of an attribute or repeated releases over time, were not, unless the plan says so.</li>
<li><strong>The surroundings.</strong> Access control, logs, timing, and copies of the raw data are outside
the game.</li>
</ul>
"""


def section(run: JudgedRun) -> Section:
    """What must not be concluded from the report."""
    verdicts = run.verdicts
    tried = list(dict.fromkeys(f"{clip(v.attack)} (knowledge: {clip(v.knowledge)})" for v in verdicts))
    more = f" and {len(tried) - MOST_NAMES} more" if len(tried) > MOST_NAMES else ""
    deltas = [verdict.promised.get("delta") or 0.0 for verdict in verdicts if verdict.promised]
    html = render_html(
        _TEMPLATE,
        names=", ".join(tried[:MOST_NAMES]) + more,
        one=all(verdict.n_targets == 1 for verdict in verdicts),
        delta=number(max(deltas)) if any(deltas) else "",
    )
    return Section("What was not tested", html)
