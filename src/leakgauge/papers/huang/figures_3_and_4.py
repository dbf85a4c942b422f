"""Figures 3 and 4: success against the number of answers, for a total budget and for a budget each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.huang.plans import LEVEL, audit_table, t_test_attack, with_numeric_error
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory import query_splitting
from leakgauge.verdict import Verdict

FEWEST_ANSWERS, MOST_ANSWERS = 4, 29  # answers, section 5
ALL_ANSWERS = tuple(range(FEWEST_ANSWERS, MOST_ANSWERS + 1))
CENTRAL_T = (
    "Theorem 5 uses a shifted central t distribution; the power of a t-test follows the non-central one, "
    "and another distribution under Laplace noise."
)
SMALL = "This difference is smaller than the numerical error of our values."
RISES = (
    "Up to {} answers the theorem itself says the opposite: the critical value of so few degrees of freedom "
    "falls faster than the noise grows. The test itself behaves as the paper says."
)
MISPRINTED = (
    "The formulas after the theorem use the critical value of m degrees of freedom instead of m - 1. So "
    "they give an attack 0.51 at four answers even if ε is 0, and less at slightly more answers."
)
DRAWN = {paper.Scale.QUICK: (4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 29), paper.Scale.FULL: ALL_ANSWERS}  # answers
PLAYED = {paper.Scale.QUICK: (4, 10, 29), paper.Scale.FULL: (4, 6, 8, 10, 15, 20, 25, 29)}
COLOURS = chart_style.SERIES[:3]
NOTES = (
    "The paper draws surfaces and prints no number; we compare with what it says about them.",
    (
        "Neither reading of theorem 5 has both trends that the paper states. With m - 1 degrees of freedom, "
        "as in the theorem, success first rises with the number of answers for a total budget; with m, as "
        "in the formulas after it and in the proof, it first falls for a budget each. The test itself has "
        "both."
    ),
    (
        "We simulate the test as printed, S with 1/m, two-sided at 5 %. For normal noise it rejects too "
        "often; for Laplace noise it comes close to its level: see table_1."
    ),
    (
        "The noise and its scale are known, and so is the side to which a record moves a count. The t-test "
        "uses neither, and loses most of the information in the answers: compare the optimum."
    ),
    (
        "The games of both figures use the same random bits and the same noise at different scales, so "
        "their errors are correlated."
    ),
)


@dataclass(frozen=True)
class SuccessSurface:
    """A figure: its budgets, of all answers together ("total") or of "each", in the ranges of its panels."""

    name: str
    budget: Literal["total", "each"]
    panels: tuple[tuple[float, ...], ...]

    @property
    def budgets(self) -> tuple[float, ...]:
        """All budgets, each once."""
        return tuple(sorted({budget for panel in self.panels for budget in panel}))

    @property
    def budget_text(self) -> str:
        """How the figure counts the budget."""
        return "ε in all" if self.budget == "total" else "ε each"

    def epsilon(self, budget: float, m: int) -> float:
        """What one of ``m`` answers may spend."""
        return budget / m if self.budget == "total" else budget

    def printed(self, budget: float, *, misprint: bool = False) -> Reals:
        """Theorem 5 for 4 to 29 answers; with ``misprint``, the two formulas that follow it."""
        epsilons = np.array([self.epsilon(budget, m) for m in ALL_ANSWERS])
        return query_splitting.success_as_printed(
            ALL_ANSWERS, epsilons / query_splitting.SQRT_2, level=LEVEL, misprint=misprint
        )

    def tested(self, numbers: tuple[int, ...]) -> Reals:
        """Success of the t-test of section 4.4 under Laplace noise: numbers of answers x budgets."""
        return np.array(
            [
                query_splitting.success_laplace(
                    m, [self.epsilon(budget, m) for budget in self.budgets], form="paper", level=LEVEL
                )
                for m in numbers
            ]
        )

    def best(self, budget: float, numbers: tuple[int, ...]) -> Reals:
        """Success of the best possible attack."""
        bounds = [query_splitting.optimum_laplace(m, self.epsilon(budget, m)) for m in numbers]
        return np.array([(low + high) / 2 for low, high in bounds])


TOTAL_BUDGET = SuccessSurface("figure-3", "total", ((0.1, 0.5, 1.0), (0.1, 5.0, 10.0)))
BUDGET_EACH = SuccessSurface("figure-4", "each", ((0.01, 0.05, 0.1), (0.01, 0.2, 0.33)))


def trend_claims(
    surface: SuccessSurface, numbers: tuple[int, ...], tested: Reals
) -> list[comparison.ComparedNumber]:
    """That success falls with the number of answers for a total budget, and rises for a budget each."""
    falls = surface.budget == "total"
    first, last = (FEWEST_ANSWERS, MOST_ANSWERS) if falls else (MOST_ANSWERS, FEWEST_ANSWERS)
    stated = comparison.PublishedNumber(value=0.0, where="section 5", claim=comparison.Claim.ABOVE)
    return [
        comparison.ComparedNumber(
            setting=f"t-test: {first} answers minus {last}, {surface.budget_text} = {budget:g}",
            ours=(
                gain := with_numeric_error(
                    tested[numbers.index(first), k] - tested[numbers.index(last), k], 2
                )
            ),
            published=stated,
            why=SMALL if gain.low <= 0 else "",
        )
        for k, budget in enumerate(surface.budgets)
    ]


def formula_claims(surface: SuccessSurface) -> list[comparison.ComparedNumber]:
    """Whether the printed formulas have the trend that the paper reads off them."""
    falls = surface.budget == "total"
    turn = "rise" if falls else "fall"
    stated = comparison.PublishedNumber(
        value=0.0, where="stated after theorem 5, section 4.5", claim=comparison.Claim.AT_MOST
    )
    cells = []
    for name, misprint in (("theorem 5", False), ("the formulas after it, T(m)", True)):
        for budget in (surface.budgets[0], surface.budgets[-1]):
            rates = surface.printed(budget, misprint=misprint)
            steps, peak = np.diff(rates), ALL_ANSWERS[int(rates.argmax())]
            worst = steps.max() if falls else -steps.min()
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{name}: largest {turn} per additional answer, {surface.budget_text} "
                    f"= {budget:g}",
                    ours=comparison.exact_number(worst),
                    published=stated,
                    why="" if worst <= 0 else MISPRINTED if misprint else RISES.format(peak),
                )
            )
    return cells


def growth_claims(
    surface: SuccessSurface, numbers: tuple[int, ...], tested: Reals
) -> list[comparison.ComparedNumber]:
    """That success rises with the budget, in either range."""
    cells = []
    for panel in surface.panels:
        low, high = (surface.budgets.index(budget) for budget in (panel[0], panel[-1]))
        for m in (FEWEST_ANSWERS, MOST_ANSWERS):
            gain = with_numeric_error(tested[numbers.index(m), high] - tested[numbers.index(m), low], 2)
            cells.append(
                comparison.ComparedNumber(
                    setting=f"t-test: {surface.budget_text} = {panel[-1]:g} minus {panel[0]:g}, {m} answers",
                    ours=gain,
                    published=comparison.PublishedNumber(
                        value=0.0, where="section 5", claim=comparison.Claim.ABOVE
                    ),
                    why=SMALL if gain.low <= 0 else "",
                )
            )
    return cells


def consistency_claims(
    surface: SuccessSurface, numbers: tuple[int, ...], tested: Reals
) -> list[comparison.ComparedNumber]:
    """That experiment and theorem are consistent, within 0.01: their largest difference."""
    consistent = comparison.PublishedNumber(value=0.0, places=2, where="“consistent”, section 5")
    cells = []
    for panel in surface.panels:
        apart = {
            (m, budget): tested[row, surface.budgets.index(budget)]
            - surface.printed(budget)[ALL_ANSWERS.index(m)]
            for row, m in enumerate(numbers)
            for budget in panel
        }
        m, budget = max(apart, key=lambda place: abs(apart[place]))
        cells.append(
            comparison.ComparedNumber(
                setting=f"t-test minus theorem 5, largest difference for {surface.budget_text} of "
                f"{panel[0]:g} to {panel[-1]:g}: {m} answers, {budget:g}",
                ours=with_numeric_error(apart[m, budget]),
                published=consistent,
                why=CENTRAL_T if abs(apart[m, budget]) > consistent.slack else "",
            )
        )
    return cells


def optimum_numbers(surface: SuccessSurface) -> list[comparison.ComparedNumber]:
    """Success of the best attack on the same answers, for the largest budget of either range."""
    return [
        comparison.ComparedNumber(
            setting=f"optimum: {m} answers, {surface.budget_text} = {panel[-1]:g}",
            ours=comparison.exact_number(surface.best(panel[-1], (m,))[0]),
            why="The likelihood ratio of the answers: no attack can do better.",
        )
        for panel in surface.panels
        for m in (FEWEST_ANSWERS, MOST_ANSWERS)
    ]


def _audits(surface: SuccessSurface, scope: paper.Scope) -> list[paper.AuditTable]:
    numbers = PLAYED[scope.scale]
    if surface.budget == "each":  # answers of the same noise: one audit
        return [
            audit_table(f"each-{budget:g}", scope.scale, budget, [t_test_attack(m) for m in numbers])
            for budget in surface.budgets
        ]
    return [
        audit_table(f"total-{budget:g}-{m}", scope.scale, surface.epsilon(budget, m), [t_test_attack(m)])
        for budget in surface.budgets
        for m in numbers
    ]


def _show(surface: SuccessSurface, played: paper.PlayedItem) -> paper.ItemResult:
    numbers = DRAWN[played.scope.scale]
    tested = surface.tested(numbers)
    cells = (
        *trend_claims(surface, numbers, tested),
        *formula_claims(surface),
        *growth_claims(surface, numbers, tested),
        *consistency_claims(surface, numbers, tested),
        *_trends_played(surface, played.verdicts),
        *_played(surface, numbers, tested, played.verdicts),
        *optimum_numbers(surface),
    )
    charts = (_chart(surface, panel, numbers, tested, played.verdicts) for panel in surface.panels)
    return paper.ItemResult(cells, tuple(charts))


def _budget_and_answers(verdict: Verdict) -> tuple[float, int]:
    return float(verdict.audit.split("-")[1]), int(verdict.label.rpartition("-")[2])


def _trends_played(surface: SuccessSurface, verdicts: Sequence[Verdict]) -> list[comparison.ComparedNumber]:
    """The trend with the number of answers, where the budget is largest."""
    accuracies = {_budget_and_answers(verdict): metric_intervals.accuracy(verdict) for verdict in verdicts}
    budget = surface.budgets[-1]
    first, last = (
        (FEWEST_ANSWERS, MOST_ANSWERS) if surface.budget == "total" else (MOST_ANSWERS, FEWEST_ANSWERS)
    )
    if (budget, first) not in accuracies or (budget, last) not in accuracies:
        return []
    return [
        comparison.ComparedNumber(
            setting=f"t-test: {first} answers minus {last}, {surface.budget_text} = {budget:g}, simulated",
            ours=metric_intervals.difference(accuracies[budget, first], accuracies[budget, last]),
            published=comparison.PublishedNumber(value=0.0, where="section 5", claim=comparison.Claim.ABOVE),
        )
    ]


def _played(
    surface: SuccessSurface, numbers: tuple[int, ...], tested: Reals, verdicts: Sequence[Verdict]
) -> list[comparison.ComparedNumber]:
    cells = []
    for verdict in verdicts:
        budget, m = _budget_and_answers(verdict)
        cells.append(
            comparison.ComparedNumber(
                setting=f"t-test: {m} answers, {surface.budget_text} = {budget:g}, simulated",
                ours=metric_intervals.accuracy(verdict),
                exact=float(tested[numbers.index(m), surface.budgets.index(budget)]),
                drawn=True,
            )
        )
    return cells


def _chart(
    surface: SuccessSurface,
    panel: tuple[float, ...],
    numbers: tuple[int, ...],
    tested: Reals,
    verdicts: Sequence[Verdict],
) -> Chart:
    mine = [verdict for verdict in verdicts if _budget_and_answers(verdict)[0] in panel]
    top = surface.budgets.index(panel[-1])
    ends = [tested[numbers.index(m), top] for m in (FEWEST_ANSWERS, MOST_ANSWERS)]
    best = surface.best(panel[-1], (FEWEST_ANSWERS, MOST_ANSWERS))
    return series_chart(
        f"{surface.name}-{panel[-1]:g}".replace(".", "-"),
        [
            trace
            for budget, colour in zip(panel, COLOURS, strict=True)
            for trace in _traces(surface, budget, colour, numbers, tested, mine)
        ],
        x_title="answers",
        y_title="success rate",
        caption=f"Success for {surface.budget_text} of {panel[0]:g} to {panel[-1]:g}: t-test, theorem 5, "
        "optimum.",
        alternative=f"For {surface.budget_text} = {panel[-1]:g} the t-test goes from {ends[0]:.3f} at "
        f"{FEWEST_ANSWERS} answers to {ends[1]:.3f} at {MOST_ANSWERS}, theorem 5 from "
        f"{surface.printed(panel[-1])[0]:.3f} to {surface.printed(panel[-1])[-1]:.3f}, the "
        f"optimum from {best[0]:.3f} to {best[1]:.3f}",
        played=f"t-test, simulated, {metric_intervals.confidence_text(mine)} interval",
    )


def _traces(
    surface: SuccessSurface,
    budget: float,
    colour: str,
    numbers: tuple[int, ...],
    tested: Reals,
    verdicts: Sequence[Verdict],
) -> list[ChartSeries]:
    here = f"{surface.budget_text} = {budget:g}"
    few, xs = np.array(numbers, dtype=float), np.array(ALL_ANSWERS, dtype=float)
    exact = tested[:, surface.budgets.index(budget)]
    points = [
        (_budget_and_answers(v)[1], metric_intervals.accuracy(v))
        for v in verdicts
        if _budget_and_answers(v)[0] == budget
    ]
    return [
        line_series(f"optimum, {here}", few, surface.best(budget, numbers), Stroke.DOTTED, colour),
        line_series(f"t-test, {here}", few, exact, Stroke.LINE, colour),
        line_series(f"theorem 5, {here}", xs, surface.printed(budget), Stroke.DASHED, colour),
        dot_series(f"t-test, {here}, simulated", points, colour),
    ]


def _item(surface: SuccessSurface, title: str, about: str) -> paper.PaperItem:
    return paper.PaperItem(
        title=title, about=about, audits=partial(_audits, surface), show=partial(_show, surface), notes=NOTES
    )


FIGURE_3 = _item(
    TOTAL_BUDGET,
    "Figure 3: success for a total budget, against the number of answers",
    "A count of the target and one known record is queried 4 to 29 times, each time with another known "
    "record, and a t-test decides whether the target is in it. The budget of all answers together is "
    "fixed, 0.1 to 1 or 0.1 to 10: more answers, each with more noise. We draw theorem 5 as printed, the "
    "exact success of the test that the paper describes, and that of the best attack. Dots are simulated "
    "games.",
)
FIGURE_4 = _item(
    BUDGET_EACH,
    "Figure 4: success for a budget of each answer, against the number of answers",
    "The same, with a fixed budget of each answer, 0.01 to 0.1 or 0.01 to 0.33: more answers reveal more.",
)
