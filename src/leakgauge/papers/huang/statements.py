"""Numbers in the text of Huang et al. (2020): the noise of a count, the budget of answers, few answers."""

from collections.abc import Sequence

import numpy as np

from leakgauge.mechanisms import laplace
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.huang.plans import audit_table, t_test_attack
from leakgauge.verdict import Verdict

PUBLISHED = comparison.read_published(__package__)
TOTAL = 10.0  # the largest budget of figure 3
FEW = (2, 3, 4)  # answers: below 4, section 5 finds success "not good enough"
BUDGETS = {"total_1_by_10": (10, 0.1), "total_1_by_5": (5, 0.2), "each_0.2_by_10": (10, 0.2)}  # answers, each


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    """Few answers for one total budget, and the budgets that the text adds up."""
    few = [audit_table(f"few-{m}", scope.scale, TOTAL / m, [t_test_attack(m)]) for m in FEW]
    return few + [
        audit_table(f"budget-{name}", scope.scale, epsilon, [t_test_attack(m)])
        for name, (m, epsilon) in BUDGETS.items()
    ]


def noise_numbers() -> list[comparison.ComparedNumber]:
    """The variance of the noise of a count, and the sensitivity as a share of it (section 4.3)."""
    cells = []
    for epsilon in (1.0, 0.5):
        noise = laplace.Mechanism(epsilon=epsilon)
        variance = 2 * noise.noise_scale**2
        cells += [
            comparison.ComparedNumber(
                setting=f"variance of the noise of a count, ε = {epsilon:g}",
                ours=comparison.exact_number(variance),
                published=PUBLISHED[f"variance_{epsilon:g}"],
            ),
            comparison.ComparedNumber(
                setting=f"sensitivity of a count as a share of that variance, ε = {epsilon:g}",
                ours=comparison.exact_number(noise.sensitivity / variance),
                published=PUBLISHED[f"share_{epsilon:g}"],
            ),
        ]
    return cells


def deviation_of_one() -> comparison.ComparedNumber:
    """The standard deviation of a single answer, by the formula of the paper."""
    spread = float(np.std(np.array([1.7])))  # S with 1/m: T is then not defined
    return comparison.ComparedNumber(
        setting="standard deviation of one answer",
        ours=comparison.exact_number(spread),
        published=PUBLISHED["deviation_of_one"],
    )


def budget_numbers(verdicts: Sequence[Verdict]) -> list[comparison.ComparedNumber]:
    """What the attacker obtained in the simulated releases, beside the total that the text states."""
    by_audit = {verdict.audit: verdict for verdict in verdicts}
    cells = []
    for name, (m, epsilon) in BUDGETS.items():
        spent = by_audit[f"budget-{name}"].spent or {}
        cells.append(
            comparison.ComparedNumber(
                setting=f"ε obtained by {m} answers of ε = {epsilon:g} each",
                ours=comparison.exact_number(spent["obtained"]["most"]),
                published=PUBLISHED[name],
            )
        )
    return cells


def few_answers(verdicts: Sequence[Verdict]) -> list[comparison.ComparedNumber]:
    """Success with few answers, for one total budget; the text has no number."""
    by_audit = {verdict.audit: verdict for verdict in verdicts}
    return [
        comparison.ComparedNumber(
            setting=f"t-test: {m} answers, ε in all = {TOTAL:g}, simulated",
            ours=metric_intervals.accuracy(by_audit[f"few-{m}"]),
            drawn=m < FEW[-1],
            why="Section 5 calls success “not good enough” below 4 answers." if m < FEW[-1] else "",
        )
        for m in FEW
    ]


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    return paper.ItemResult(
        (
            *noise_numbers(),
            *budget_numbers(played.verdicts),
            deviation_of_one(),
            *few_answers(played.verdicts),
        )
    )


STATEMENTS = paper.PaperItem(
    title="Numbers in the text",
    about="Sections 4.3 and 5 state the variance of the noise of a count, how the budgets of answers add up, "
    "and that the t-test is of little use below four answers. We compute the first, read the second off the "
    "accounts of simulated releases, and simulate the third.",
    audits=_audits,
    show=_show,
)
