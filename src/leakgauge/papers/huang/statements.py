"""What Huang et al. say in words about their surfaces, beside what follows from formulas."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.huang.setting import computed
from leakgauge.papers.huang.surface import ALL, FEWEST, MOST, Surface

CENTRAL = (
    "Theorem 5 shifts a central t; the power of a t-test is that of a non-central one, and under Laplace "
    "noise of yet another law."
)
SMALL = "So small a difference is lost in what our numbers may be off."
RISES = (
    "Up to {} answers the theorem itself says the opposite: the critical value of so few degrees of freedom "
    "falls faster than the noise grows. The test does as the paper says."
)
MISPRINTED = (
    "The formulas after the theorem take the critical value of m degrees of freedom for m - 1. So they give "
    "an attack 0.51 at four answers even if ε is 0, and less with a few more."
)


def trends(surface: Surface, numbers: tuple[int, ...], tested: Reals) -> list[Cell]:
    """That success falls with the number of answers for a total budget, and rises for a budget each."""
    falls = surface.budget == "total"
    first, last = (FEWEST, MOST) if falls else (MOST, FEWEST)
    stated = Published(value=0.0, where="section 5", says=Says.ABOVE)
    return [
        Cell(
            setting=f"t-test: {first} answers less {last}, {surface.says} = {budget:g}",
            ours=(gain := computed(tested[numbers.index(first), k] - tested[numbers.index(last), k], 2)),
            published=stated,
            why=SMALL if gain.low <= 0 else "",
        )
        for k, budget in enumerate(surface.budgets)
    ]


def formulas(surface: Surface) -> list[Cell]:
    """Whether the printed formulas have the trend that the paper reads off them."""
    falls = surface.budget == "total"
    turn = "rise" if falls else "fall"
    stated = Published(value=0.0, where="stated after theorem 5, section 4.5", says=Says.AT_MOST)
    cells = []
    for name, misprint in (("theorem 5", False), ("the formulas after it, T(m)", True)):
        for budget in (surface.budgets[0], surface.budgets[-1]):
            rates = surface.printed(budget, misprint=misprint)
            steps, peak = np.diff(rates), ALL[int(rates.argmax())]
            worst = steps.max() if falls else -steps.min()
            cells.append(
                Cell(
                    setting=f"{name}: largest {turn} by one answer more, {surface.says} = {budget:g}",
                    ours=exactly(worst),
                    published=stated,
                    why="" if worst <= 0 else MISPRINTED if misprint else RISES.format(peak),
                )
            )
    return cells


def growth(surface: Surface, numbers: tuple[int, ...], tested: Reals) -> list[Cell]:
    """That success rises with the budget, in either range."""
    cells = []
    for panel in surface.panels:
        low, high = (surface.budgets.index(budget) for budget in (panel[0], panel[-1]))
        for m in (FEWEST, MOST):
            gain = computed(tested[numbers.index(m), high] - tested[numbers.index(m), low], 2)
            cells.append(
                Cell(
                    setting=f"t-test: {surface.says} = {panel[-1]:g} less {panel[0]:g}, {m} answers",
                    ours=gain,
                    published=Published(value=0.0, where="section 5", says=Says.ABOVE),
                    why=SMALL if gain.low <= 0 else "",
                )
            )
    return cells


def consistency(surface: Surface, numbers: tuple[int, ...], tested: Reals) -> list[Cell]:
    """That experiment and theorem are consistent, to a hundredth: how far apart they are at most."""
    consistent = Published(value=0.0, places=2, where="“consistent”, section 5")
    cells = []
    for panel in surface.panels:
        apart = {
            (m, budget): tested[row, surface.budgets.index(budget)] - surface.printed(budget)[ALL.index(m)]
            for row, m in enumerate(numbers)
            for budget in panel
        }
        m, budget = max(apart, key=lambda place: abs(apart[place]))
        cells.append(
            Cell(
                setting=f"t-test less theorem 5, farthest apart for {surface.says} of {panel[0]:g} to "
                f"{panel[-1]:g}: {m} answers, {budget:g}",
                ours=computed(apart[m, budget]),
                published=consistent,
                why=CENTRAL if abs(apart[m, budget]) > consistent.slack else "",
            )
        )
    return cells


def optima(surface: Surface) -> list[Cell]:
    """What the best attack makes of the same answers, for the largest budget of either range."""
    return [
        Cell(
            setting=f"optimum: {m} answers, {surface.says} = {panel[-1]:g}",
            ours=exactly(surface.best(panel[-1], (m,))[0]),
            why="The likelihood ratio of the answers: nobody can do better.",
        )
        for panel in surface.panels
        for m in (FEWEST, MOST)
    ]
