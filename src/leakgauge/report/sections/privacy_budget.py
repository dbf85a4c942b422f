"""The privacy budget: the epsilon that attackers obtained, and what the release recorded of it."""

from collections.abc import Mapping, Sequence

from leakgauge.core.domain import Term
from leakgauge.report import judged_run, number_format, page
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.verdict import Verdict

ORDER = 27
MOST_ROWS = 80

_TEMPLATE = """
{% for note in notes %}
<p>{{ note }}</p>
{% endfor %}
{{ table }}
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One line per attacker whose spending was counted."""
    spending = [verdict for verdict in run.verdicts if verdict.spent]
    if not spending:
        return None
    shown = judged_run.most_severe(spending, MOST_ROWS)
    columns = spending_terms(shown)
    rows = [
        page.HtmlTableRow(
            name,
            tuple(spent_epsilon(verdict, column) for column in columns),
            marked=tuple(
                place for place, column in enumerate(columns) if column in exceeding_columns(verdict)
            ),
        )
        for name, verdict in zip(adversary_names(shown, run.verdicts), shown, strict=True)
    ]
    table = page.html_table(
        "The privacy budget, as spent and as recorded",
        [(term.title, term.meaning) for term in columns.values()],
        rows,
        caption=f"ε spent in one {judged_run.round_term(shown).noun}; “a to b” where these differ. "
        + judged_run.omission_note(len(shown), len(spending), "attackers"),
    )
    notes = [domain.spending_note for domain in judged_run.domains_of(shown) if domain.spending_note]
    return page.Section(
        "The privacy budget, as spent and as recorded", page.render_html(_TEMPLATE, notes=notes, table=table)
    )


def spending_terms(verdicts: Sequence[Verdict]) -> dict[str, Term]:
    """The columns that any verdict has: declared ones in the order of their domains, then the others."""
    names = {name for verdict in verdicts for name in verdict.spent or {}}
    declared: dict[str, Term] = {}
    for domain in judged_run.domains_of(verdicts):
        declared |= domain.spending
    known = {name: term for name, term in declared.items() if name in names}
    return known | {name: Term(title=clip(name)) for name in sorted(names - set(known))}


def compared_columns(verdicts: Sequence[Verdict]) -> dict[str, Term]:
    """The columns that are set against each other: obtained, recorded and, where it is known, reported."""
    compared = {
        name
        for domain in judged_run.domains_of(verdicts)
        for name in (*(domain.spending_check or ()), *domain.spending_beside)
    }
    return {name: term for name, term in spending_terms(verdicts).items() if name in compared}


def spent_epsilon(verdict: Verdict, name: str) -> str:
    """An epsilon that was spent: one number, or from the least to the most of any round."""
    span = (verdict.spent or {}).get(name)
    return number_format.NOTHING if span is None else range_text(span)


def range_text(span: Mapping[str, float]) -> str:
    """A range, as short as it can be.

    >>> range_text({"least": 3.0, "mean": 3.0, "most": 3.0})
    '3'
    >>> range_text({"least": 3.0, "mean": 31.1, "most": 60.0})
    '3 to 60'
    """
    least, most = number_format.number(span["least"]), number_format.number(span["most"])
    return most if least == most else f"{least} to {most}"


def exceeding_columns(verdict: Verdict) -> set[str]:
    """The columns that exceed the one they must not exceed, in the round where most was spent."""
    spent = verdict.spent or {}
    checks = [domain.spending_check for domain in judged_run.domains_of([verdict]) if domain.spending_check]
    return {
        first
        for first, second in checks
        if first in spent and second in spent and spent[first]["most"] > spent[second]["most"] * (1 + 1e-9)
    }
