"""The glossary: words of the report and its metrics."""

from leakgauge import catalog
from leakgauge.report import judged_run, metric_text, page

ORDER = 100

_WORDS = (
    ("Attacker", "An attack together with what it knows beforehand."),
    ("Release", "Everything that is published and that the attacker sees."),
    ("Target, member", "The person or record in question; a member is in the data behind the release."),
    (
        "ε (epsilon)",
        "The size of the promise: how far one person's presence may shift the odds. 0 is no leak at all.",
    ),
    ("δ (delta)", "The small probability with which the promise may fail altogether."),
    ("Interval", "A 95% interval comes from a method that contains the truth in at least 95 of 100 audits."),
    ("Violated", "An attacker learned more than the promise allows, at the stated confidence."),
    (
        "Not violated",
        "No attacker tried was above what the promise allows by more than chance. A stronger one might be.",
    ),
    (
        "Undecided",
        "Not tested: too few rounds to notice a leak as large as the promise, or too weak a promise.",
    ),
    ("Control", "An attacker who never sees the release. What it finds out does not come from the release."),
    ("Untestable", "No attack recognised members even in the positive control, so the numbers say nothing."),
)

_TEMPLATE = """
<details>
<summary>General words</summary>
<dl class="words">
{% for word, meaning in words %}
<div><dt>{{ word }}</dt><dd>{{ meaning }}</dd></div>
{% endfor %}
</dl>
</details>
<details>
<summary>What each number means</summary>
<dl class="words">
{% for word, meaning in metrics %}
<div><dt>{{ word }}</dt><dd>{{ meaning }}</dd></div>
{% endfor %}
</dl>
</details>
"""


def section(run: judged_run.JudgedRun) -> page.Section:
    """General words, then the metrics that occur."""
    used = metric_text.metrics_in(run.verdicts)
    metrics = [
        (term.title, f"{term.meaning[0].upper()}{term.meaning[1:]}.")
        for name, term in catalog.metric_descriptions().items()
        if name in used
    ]
    term = judged_run.round_term(run.verdicts)
    words = list(_WORDS)
    words.insert(3, (term.noun.capitalize(), f"{term.meaning}. More of them narrow the intervals."))
    return page.Section("Words used here", page.render_html(_TEMPLATE, words=words, metrics=metrics))
