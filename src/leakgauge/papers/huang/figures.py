"""Figures 3 and 4: success against the number of answers, for a total budget and for a budget each."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.huang import statements
from leakgauge.papers.huang.setting import t_test, write_audit
from leakgauge.papers.huang.surface import ALL, EACH, FEWEST, MOST, TOTAL, Surface
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown
from leakgauge.papers.traces import Trace, dots, line, trace_chart
from leakgauge.verdict import Verdict

DRAWN = {Scale.QUICK: (4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 29), Scale.FULL: ALL}  # answers
PLAYED = {Scale.QUICK: (4, 10, 29), Scale.FULL: (4, 6, 8, 10, 15, 20, 25, 29)}
COLOURS = paint.SERIES[:3]
NOTES = (
    "The paper draws surfaces and prints no number; we compare with what it says about them.",
    (
        "Neither reading of theorem 5 has both trends that the paper states. With m - 1 degrees of freedom, "
        "as in the theorem, success first rises with the number of answers for a total budget; with m, as "
        "in the formulas after it and in the proof, it first falls for a budget each. The test has both."
    ),
    (
        "Played is the test as printed, S with 1/m, two-sided at 5 %. For normal noise it would reject too "
        "often; for Laplace noise it happens to come near its level: see table_1."
    ),
    (
        "The noise and its scale are known, and so is the side to which a record moves a count. The t-test "
        "uses neither, and gives away most of what the answers tell: compare the optimum."
    ),
    (
        "The games of both figures draw the same coins and the same noise, more or less of it: what they "
        "miss by chance goes together."
    ),
)


def _plan(surface: Surface, scope: Scope) -> str:
    numbers = PLAYED[scope.scale]
    if surface.budget == "each":  # answers of the same noise: one game
        return "".join(
            write_audit(f"each-{budget:g}", scope.scale, budget, [t_test(m) for m in numbers])
            for budget in surface.budgets
        )
    return "".join(
        write_audit(f"total-{budget:g}-{m}", scope.scale, surface.epsilon(budget, m), [t_test(m)])
        for budget in surface.budgets
        for m in numbers
    )


def _show(surface: Surface, played: Played) -> Shown:
    numbers = DRAWN[played.scope.scale]
    tested = surface.tested(numbers)
    cells = (
        *statements.trends(surface, numbers, tested),
        *statements.formulas(surface),
        *statements.growth(surface, numbers, tested),
        *statements.consistency(surface, numbers, tested),
        *_trends_played(surface, played.verdicts),
        *_played(surface, numbers, tested, played.verdicts),
        *statements.optima(surface),
    )
    charts = (_chart(surface, panel, numbers, tested, played.verdicts) for panel in surface.panels)
    return Shown(cells, tuple(charts))


def _place(verdict: Verdict) -> tuple[float, int]:
    return float(verdict.audit.split("-")[1]), int(verdict.label.rpartition("-")[2])


def _trends_played(surface: Surface, verdicts: Sequence[Verdict]) -> list[Cell]:
    """The trend with the number of answers, where the budget is largest."""
    found = {_place(verdict): measured.accuracy(verdict) for verdict in verdicts}
    budget = surface.budgets[-1]
    first, last = (FEWEST, MOST) if surface.budget == "total" else (MOST, FEWEST)
    if (budget, first) not in found or (budget, last) not in found:
        return []
    return [
        Cell(
            setting=f"t-test: {first} answers less {last}, {surface.says} = {budget:g}, played",
            ours=measured.difference(found[budget, first], found[budget, last]),
            published=Published(value=0.0, where="section 5", says=Says.ABOVE),
        )
    ]


def _played(
    surface: Surface, numbers: tuple[int, ...], tested: Reals, verdicts: Sequence[Verdict]
) -> list[Cell]:
    cells = []
    for verdict in verdicts:
        budget, m = _place(verdict)
        cells.append(
            Cell(
                setting=f"t-test: {m} answers, {surface.says} = {budget:g}, played",
                ours=measured.accuracy(verdict),
                exact=float(tested[numbers.index(m), surface.budgets.index(budget)]),
                drawn=True,
            )
        )
    return cells


def _chart(
    surface: Surface,
    panel: tuple[float, ...],
    numbers: tuple[int, ...],
    tested: Reals,
    verdicts: Sequence[Verdict],
) -> Chart:
    mine = [verdict for verdict in verdicts if _place(verdict)[0] in panel]
    top = surface.budgets.index(panel[-1])
    ends = [tested[numbers.index(m), top] for m in (FEWEST, MOST)]
    best = surface.best(panel[-1], (FEWEST, MOST))
    return trace_chart(
        f"{surface.name}-{panel[-1]:g}".replace(".", "-"),
        [
            trace
            for budget, colour in zip(panel, COLOURS, strict=True)
            for trace in _traces(surface, budget, colour, numbers, tested, mine)
        ],
        x_title="answers",
        y_title="success rate",
        caption=f"Success for {surface.says} of {panel[0]:g} to {panel[-1]:g}: t-test, theorem 5, optimum.",
        alternative=f"For {surface.says} = {panel[-1]:g} the t-test goes from {ends[0]:.3f} at {FEWEST} "
        f"answers to {ends[1]:.3f} at {MOST}, theorem 5 from {surface.printed(panel[-1])[0]:.3f} to "
        f"{surface.printed(panel[-1])[-1]:.3f}, the optimum from {best[0]:.3f} to {best[1]:.3f}",
        played=f"t-test, played, {measured.confidence(mine)} interval",
    )


def _traces(
    surface: Surface,
    budget: float,
    colour: str,
    numbers: tuple[int, ...],
    tested: Reals,
    verdicts: Sequence[Verdict],
) -> list[Trace]:
    here = f"{surface.says} = {budget:g}"
    few, xs = np.array(numbers, dtype=float), np.array(ALL, dtype=float)
    exact = tested[:, surface.budgets.index(budget)]
    points = [(_place(v)[1], measured.accuracy(v)) for v in verdicts if _place(v)[0] == budget]
    return [
        line(f"optimum, {here}", few, surface.best(budget, numbers), Stroke.DOTTED, colour),
        line(f"t-test, {here}", few, exact, Stroke.LINE, colour),
        line(f"theorem 5, {here}", xs, surface.printed(budget), Stroke.DASHED, colour),
        dots(f"t-test, {here}, played", points, colour),
    ]


def _item(surface: Surface, title: str, about: str) -> Item:
    return Item(
        title=title, about=about, plan=partial(_plan, surface), show=partial(_show, surface), notes=NOTES
    )


FIGURE_3 = _item(
    TOTAL,
    "Figure 3: success for a total budget, against the number of answers",
    "A count that holds the target and one known record is asked for 4 to 29 times, each time with another "
    "known record, and a t-test says whether the target adds anything. The budget of all answers together is "
    "fixed, 0.1 to 1 or 0.1 to 10: more answers, each with more noise. We draw theorem 5 as printed, the "
    "exact success of the test that the paper describes, and that of the best attack. Dots are games that "
    "were really played.",
)
FIGURE_4 = _item(
    EACH,
    "Figure 4: success for a budget of each answer, against the number of answers",
    "The same, with a fixed budget of each answer, 0.01 to 0.1 or 0.01 to 0.33: more answers tell more.",
)
