"""Table 1: the error probabilities of the t-test."""

from collections.abc import Sequence
from functools import cache

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.huang.figures_3_and_4 import CENTRAL_T
from leakgauge.papers.huang.plans import LEVEL, audit_table, t_test_attack, with_numeric_error
from leakgauge.theory import query_splitting
from leakgauge.verdict import Verdict

NUMBERS = (4, 10, 29)  # answers
EPSILON = 1.0  # of each
FORMS: tuple[query_splitting.TTestForm, ...] = ("paper", "textbook")
TOO_OFTEN = (
    "S with 1/m, sqrt(m) and m - 1 degrees of freedom is too small a standard deviation: normal samples are "
    "rejected more often than in 5 % of cases."
)


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    attacks = [t_test_attack(m, form) for form in FORMS for m in NUMBERS]
    return [audit_table("hypotheses", scope.scale, EPSILON, attacks)]


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    return paper.ItemResult((*_kept(), *_found(), *_played(played.verdicts)))


@cache
def _size(m: int, form: query_splitting.TTestForm) -> float:
    return query_splitting.size_laplace(m, form=form, level=LEVEL)


@cache
def _power(m: int, form: query_splitting.TTestForm) -> float:
    success = float(query_splitting.success_laplace(m, [EPSILON], form=form, level=LEVEL)[0])
    return 2 * success - 1 + _size(m, form)


def _printed_power(m: int) -> float:
    """1 - delta by theorem 5, where success is (2 - level - delta) / 2."""
    return (
        2 * float(query_splitting.success_as_printed([m], EPSILON / query_splitting.SQRT_2, level=LEVEL)[0])
        - 1
        + LEVEL
    )


def _kept() -> list[comparison.ComparedNumber]:
    """How often the test is right about a non-member."""
    printed = comparison.read_published(__package__)["table_1_accept_h0"]
    cells = []
    for m in NUMBERS:
        normal = 1 - float(query_splitting.size_normal(m, form="paper", level=LEVEL))
        differs = abs(normal - printed.value) > printed.slack
        cells += [
            comparison.ComparedNumber(
                setting=f"accept H0 | H0: normal noise, {m} answers",
                ours=comparison.exact_number(normal),
                published=printed,
                why=TOO_OFTEN if differs else "",
            ),
            comparison.ComparedNumber(
                setting=f"accept H0 | H0: Laplace noise, {m} answers",
                ours=with_numeric_error(1 - _size(m, "paper")),
                published=printed,
            ),
            comparison.ComparedNumber(
                setting=f"accept H0 | H0: Laplace noise, {m} answers, textbook form",
                ours=with_numeric_error(1 - _size(m, "textbook")),
                why="S with 1/(m - 1), under which normal noise would give 0.95.",
            ),
        ]
    return cells


def _found() -> list[comparison.ComparedNumber]:
    """How often the test is right about a member: 1 - δ."""
    return [
        comparison.ComparedNumber(
            setting=f"accept H1 | H1: Laplace noise, {m} answers, ε each = {EPSILON:g}",
            ours=with_numeric_error(_power(m, "paper")),
            published=comparison.PublishedNumber(value=_printed_power(m), where="1 - δ by theorem 5"),
            why=CENTRAL_T,
        )
        for m in NUMBERS
    ]


def _played(verdicts: Sequence[Verdict]) -> list[comparison.ComparedNumber]:
    cells = []
    for verdict in verdicts:
        form: query_splitting.TTestForm = "paper" if verdict.label.startswith("paper") else "textbook"
        m = int(verdict.label.rpartition("-")[2])
        here = f"Laplace noise, {m} answers" + ("" if form == "paper" else ", textbook form")
        for name, metric, exact in (
            (f"accept H0 | H0: {here}, simulated", "tnr", 1 - _size(m, form)),
            (f"accept H1 | H1: {here}, ε each = {EPSILON:g}, simulated", "tpr", _power(m, form)),
        ):
            ours = metric_intervals.metric(verdict, metric)
            cells.append(
                comparison.ComparedNumber(setting=name, ours=ours, exact=exact, drawn=form == "paper")
            )
    return cells


TABLE_1 = paper.PaperItem(
    title="Table 1: the two errors of the hypothesis test",
    about="H0 says that the target is not in the data, H1 that it is. The table has the probability of each "
    "decision: 0.95 and 0.05 under H0, δ and 1 - δ under H1; success is half of 1.95 - δ. We compute them "
    "for the test as printed, under the normal noise of the t-test's theory and under the Laplace noise of "
    "the paper, and simulate the game at ε = 1 for each answer.",
    audits=_audits,
    show=_show,
    notes=(
        (
            "The printed test divides by m where the textbook has m - 1. So it rejects normal noise too "
            "often, but Laplace noise, whose t is less spread, about as often as stated."
        ),
        "Section 2.3 accepts the alternative where p > α; the algorithm, p < α, is right.",
    ),
)
