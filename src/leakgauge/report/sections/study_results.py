"""Numbers that attacks computed before the first round, beside what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.html_table import HtmlTableRow, html_table
from leakgauge.report.judged_run import JudgedRun, most_severe, omission_note
from leakgauge.report.metric_text import headline_metric, value_text
from leakgauge.report.number_format import NOTHING, lower_percent, number, percent, upper_percent
from leakgauge.report.page import Section, render_html
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Term:
    """A number as a reader meets it; ``is_share`` ones are written as percentages."""

    title: str
    meaning: str
    is_share: bool = False


CERTIFIED_SUCCESS = "certified_success"
STUDY_TERMS: Mapping[str, Term] = {
    CERTIFIED_SUCCESS: Term(
        title="Success, certified",
        meaning="games that the adversary is sure to win at least, by theorem 1 of Nguyen et al. made valid",
        is_share=True,
    ),
    "certified_tpr": Term(
        title="Active for the target",
        meaning="the chance that the chosen neuron is active for the perturbed target, at least",
        is_share=True,
    ),
    "certified_fpr": Term(
        title="Active for others",
        meaning="the chance that it is active for another perturbed row, at most",
        is_share=True,
    ),
    "certified_share": Term(
        title="Targets certified",
        meaning="share of targets for which the condition of theorem 1 holds",
        is_share=True,
    ),
    "stealth_first": Term(
        title="Distance of the first layer",
        meaning="Kolmogorov-Smirnov distance of the crafted weights from honest ones; 0 is the same law",
    ),
    "stealth_second": Term(
        title="Distance of the chosen neuron",
        meaning="the same for the weights of the chosen neuron",
    ),
    "certified_success_hoeffding": Term(
        title="Success, certified as in the paper",
        meaning="the same by Hoeffding's bounds, which are wider",
        is_share=True,
    ),
    "units": Term(title="Units", meaning="neurons of the first layer that the adversary plants"),
    "epochs_mean": Term(title="Epochs", meaning="passes of training after which the neuron was taken"),
    "epochs_most": Term(title="Epochs, most", meaning="the same for the target that took most"),
    "epochs_on_top_mean": Term(
        title="Epochs until on top",
        meaning="passes after which no other row had as large a value as the target",
    ),
    "separated": Term(
        title="Targets separated",
        meaning="share of targets that training told from all rows of the adversary's own",
        is_share=True,
    ),
    "component_of_model": Term(
        title="Component of a model",
        meaning="how often the adversary names the component that a model of its own was trained on",
        is_share=True,
    ),
    "component_of_record": Term(
        title="Component of a record",
        meaning="how often it names the component of a row of its own, by the row alone",
        is_share=True,
    ),
    "shadows": Term(title="Shadows", meaning="models that the adversary trained on rows of its own"),
    "rows_per_shadow": Term(title="Rows of a shadow", meaning="how many each was trained on, on average"),
    "population": Term(
        title="Population", meaning="rows, no members, that a record is compared with in a round"
    ),
    "a": Term(
        title="a",
        meaning="how far below 1 the usual probability of a member is taken to be, as a part of how far "
        "below it that of others is",
    ),
    "classes_learned": Term(
        title="Classes learned", meaning="classes of which shadows had members and others to learn from"
    ),
}


def study_term(name: str) -> Term:
    """The words for a number; an unknown one goes by its own name."""
    return STUDY_TERMS.get(name) or Term(title=clip(name), meaning="a number of this attack")


def study_value(name: str, value: float) -> str:
    """A number as a reader meets it; what is certified is rounded to the safe side."""
    if name in (CERTIFIED_SUCCESS, "certified_tpr", "certified_success_hoeffding"):
        return f"≥ {lower_percent(value)}"
    if name == "certified_fpr":
        return f"≤ {upper_percent(value)}"
    return percent(value) if study_term(name).is_share else number(value)


def study_names(verdicts: list[Verdict]) -> list[str]:
    """The numbers that any attack worked out: known ones in their order, then the others."""
    found = {name for verdict in verdicts for name in verdict.studied or {}}
    return [name for name in STUDY_TERMS if name in found] + sorted(found - set(STUDY_TERMS))


ORDER = 28
MOST_ROWS = 80

_TEMPLATE = """
<p>Before the first round an adversary studies what it knows, without a look at the rounds. These numbers come
from there; how well it then did is beside them.</p>
{{ table }}
<ul class="note">
{% for one in terms %}
<li>{{ one.title }}: {{ one.meaning }}.</li>
{% endfor %}
</ul>
"""


def section(run: JudgedRun) -> Section | None:
    """One line per adversary that worked something out."""
    studious = [verdict for verdict in run.verdicts if verdict.studied]
    if not studious:
        return None
    shown = most_severe(studious, MOST_ROWS)
    names = study_names(shown)
    rows = []
    for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True):
        metric, studied = headline_metric(verdict, "accuracy"), verdict.studied or {}
        estimate = verdict.metrics.get(metric)
        measured = value_text(metric, estimate.value) if estimate else NOTHING
        numbers = (study_value(one, studied[one]) if one in studied else NOTHING for one in names)
        rows.append(HtmlTableRow(name, (measured, *numbers)))
    terms = [study_term(name) for name in names]
    table = html_table(
        "Worked out before the rounds",
        [("Accuracy, measured", ""), *((one.title, one.meaning) for one in terms)],
        rows,
        caption="What adversaries worked out before the rounds; means over the targets. "
        + omission_note(len(shown), len(studious), "adversaries"),
    )
    html = render_html(_TEMPLATE, table=table, terms=terms)
    return Section("Worked out before the rounds", html)
