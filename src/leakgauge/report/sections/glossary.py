"""The glossary: words of the report and its metrics."""

from leakgauge import catalog
from leakgauge.report.metric_text import metrics_in
from leakgauge.report.page import Section, render_html
from leakgauge.report.run_report import JudgedRun

ORDER = 100

_WORDS = (
    ("Adversary", "An attack together with what it knows beforehand. Ours are made to measure, not to harm."),
    ("Release", "Everything that is published and that the adversary sees in one round."),
    ("Target, member", "The person or record in question; a member is in the data behind the release."),
    ("Round", "One release, made afresh. More rounds give sharper answers."),
    (
        "ε (epsilon)",
        "The size of the promise: how far one person's presence may shift the odds. 0 is no leak at all.",
    ),
    ("δ (delta)", "The small probability with which the promise may fail altogether."),
    (
        "Confidence, interval",
        "A 95% interval is made by a method that contains the truth in at least 95 of 100 audits.",
    ),
    ("Violated", "A lower bound lies above what the promise allows, at the stated confidence."),
    ("Not violated", "These adversaries did not get past the promise in these rounds."),
    (
        "Undecided",
        "Not even a perfect adversary could have shown a violation: rounds are few, or the promise is weak.",
    ),
    (
        "Untestable",
        "No adversary recognised members even where nothing protects them, so these numbers say nothing.",
    ),
)

_TEMPLATE = """
<dl class="words">
{% for word, meaning in entries %}
<div><dt>{{ word }}</dt><dd>{{ meaning }}</dd></div>
{% endfor %}
</dl>
"""


def section(run: JudgedRun) -> Section:
    """General words, then the metrics that occur."""
    used = metrics_in(run.verdicts)
    metrics = [
        (term.title, f"{term.meaning[0].upper()}{term.meaning[1:]}.")
        for name, term in catalog.metric_descriptions().items()
        if name in used
    ]
    return Section("Words used here", render_html(_TEMPLATE, entries=[*_WORDS, *metrics]))
