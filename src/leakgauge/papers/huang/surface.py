"""The success of the t-test over the number of answers and the budget: as printed, as it is, and the best."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.papers.huang.setting import LEVEL
from leakgauge.theory import splitting, t_tests

FEWEST, MOST = 4, 29  # answers, section 5
ALL = tuple(range(FEWEST, MOST + 1))


@dataclass(frozen=True)
class Surface:
    """A figure: its budgets, of all answers together ("total") or of "each", in the ranges of its panels."""

    name: str
    budget: Literal["total", "each"]
    panels: tuple[tuple[float, ...], ...]

    @property
    def budgets(self) -> tuple[float, ...]:
        """All budgets, each once."""
        return tuple(sorted({budget for panel in self.panels for budget in panel}))

    @property
    def says(self) -> str:
        """How the figure counts the budget."""
        return "ε in all" if self.budget == "total" else "ε each"

    def epsilon(self, budget: float, m: int) -> float:
        """What one of ``m`` answers may spend."""
        return budget / m if self.budget == "total" else budget

    def printed(self, budget: float, *, misprint: bool = False) -> Reals:
        """Theorem 5 for 4 to 29 answers; with ``misprint``, the two formulas that follow it."""
        epsilons = np.array([self.epsilon(budget, m) for m in ALL])
        return t_tests.as_printed(ALL, epsilons / t_tests.SQRT_2, level=LEVEL, misprint=misprint)

    def tested(self, numbers: tuple[int, ...]) -> Reals:
        """Success of the t-test of section 4.4 under Laplace noise: numbers of answers x budgets."""
        return np.array(
            [
                t_tests.laplace(
                    m, [self.epsilon(budget, m) for budget in self.budgets], form="paper", level=LEVEL
                )
                for m in numbers
            ]
        )

    def best(self, budget: float, numbers: tuple[int, ...]) -> Reals:
        """Success of the best attack there is."""
        found = [splitting.optimum_laplace(m, self.epsilon(budget, m)) for m in numbers]
        return np.array([(low + high) / 2 for low, high in found])


TOTAL = Surface("figure-3", "total", ((0.1, 0.5, 1.0), (0.1, 5.0, 10.0)))
EACH = Surface("figure-4", "each", ((0.01, 0.05, 0.1), (0.01, 0.2, 0.33)))
