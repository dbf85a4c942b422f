"""What the audit did not test."""

from leakgauge.report import judged_run, number_format, page
from leakgauge.report.adversary_names import clip

ORDER = 80
MOST_NAMES = 12

_TEMPLATE = """
<ul>
<li><strong>Proof.</strong> An audit can refute a promise, never prove one. “Not violated” does not mean that
the release is safe.</li>
<li><strong>Other attackers.</strong> Only these were tried: {{ names }}.</li>
<li><strong>Other people and data.</strong> The result is about the targets and the data of this audit; other
people may be more exposed.</li>
<li><strong>Rare leaks.</strong> A leak that occurs once in very many releases can go unnoticed.</li>
{% if delta %}
<li><strong>Failure of the promise.</strong> It may fail with probability δ (here up to {{ delta }}); what
happens then was not examined.</li>
{% endif %}
<li><strong>Other questions.</strong> Only membership was tested: whether someone is in the data. Values of
attributes, repeated releases over time, access control, logs and copies of the raw data were not.</li>
</ul>
"""


def section(run: judged_run.JudgedRun) -> page.Section:
    """What must not be concluded from the report."""
    verdicts = run.verdicts
    tried = list(dict.fromkeys(f"{clip(v.attack)} (knowledge: {clip(v.knowledge)})" for v in verdicts))
    more = f" and {len(tried) - MOST_NAMES} more" if len(tried) > MOST_NAMES else ""
    deltas = [verdict.promised.get("delta") or 0.0 for verdict in verdicts if verdict.promised]
    html = page.render_html(
        _TEMPLATE,
        names=", ".join(tried[:MOST_NAMES]) + more,
        delta=number_format.number(max(deltas)) if any(deltas) else "",
    )
    return page.Section("What was not tested", html)
