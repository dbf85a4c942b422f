"""Numbers that attacks computed before the first round, beside what was measured."""

from collections.abc import Mapping, Sequence

from leakgauge.core.domain import Term
from leakgauge.report import judged_run, metric_text, number_format, page
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.verdict import Verdict

ORDER = 28
MOST_ROWS = 80

_TEMPLATE = """
<p>Before the first {{ noun }} an attacker prepares with what it knows. These numbers come from that
preparation; beside them is how well the attacker then did.</p>
{{ table }}
<ul class="note">
{% for one in terms %}
<li>{{ one.title }}: {{ one.meaning }}.</li>
{% endfor %}
</ul>
{% for note in notes %}<p>{{ note }}</p>
{% endfor %}
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One line per attacker that computed something."""
    studious = [verdict for verdict in run.verdicts if verdict.studied]
    if not studious:
        return None
    shown = judged_run.most_severe(studious, MOST_ROWS)
    terms = study_terms(shown)
    rows, notes = [], []
    for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True):
        metric, studied = metric_text.leading_name(verdict), verdict.studied or {}
        estimate = verdict.metrics.get(metric)
        measured = metric_text.value_text(metric, estimate.value) if estimate else number_format.NOTHING
        numbers = (
            study_value(term, studied[one]) if one in studied else number_format.NOTHING
            for one, term in terms.items()
        )
        rows.append(page.HtmlTableRow(name, (measured, *numbers)))
        notes += [f"{name}: {sentence}." for sentence in study_sentences(verdict, only_events=True)]
    table = page.html_table(
        "Computed by attackers beforehand",
        [("Correct identifications", ""), *((term.title, term.meaning) for term in terms.values())],
        rows,
        caption="What attackers computed beforehand; means over the targets. "
        + judged_run.omission_note(len(shown), len(studious), "attackers"),
    )
    noun = judged_run.round_term(shown).noun
    html = page.render_html(_TEMPLATE, table=table, terms=list(terms.values()), notes=notes, noun=noun)
    return page.Section("Computed by attackers beforehand", html)


def study_terms(verdicts: Sequence[Verdict]) -> dict[str, Term]:
    """The numbers that any attack computed: declared ones in the order of their domains, then the others."""
    names = {name for verdict in verdicts for name in verdict.studied or {}}
    declared: dict[str, Term] = {}
    for domain in judged_run.domains_of(verdicts):
        declared |= domain.studied
    known = {name: term for name, term in declared.items() if name in names}
    others = {
        name: Term(title=clip(name), meaning="a number of this attack") for name in sorted(names - set(known))
    }
    return known | others


def study_value(term: Term, value: float) -> str:
    """A number in its format; a bound is rounded to the safe side."""
    match term.bound:
        case "lower":
            return f"≥ {number_format.lower_percent(value) if term.is_share else number_format.lower(value)}"
        case "upper":
            return f"≤ {number_format.upper_percent(value) if term.is_share else number_format.upper(value)}"
        case _:
            return number_format.percent(value) if term.is_share else number_format.number(value)


def study_sentences(verdict: Verdict, *, only_events: bool = False) -> list[str]:
    """The sentences about these numbers for the terminal, or only those that say what the attack looks at."""
    studied: Mapping[str, float] = verdict.studied or {}
    return [
        term.sentence.format(value=study_value(term, studied[name]), event=verdict.event or "")
        for name, term in study_terms([verdict]).items()
        if term.sentence and studied[name] > term.sentence_above
        if "{event}" in term.sentence or not only_events
    ]
