"""The options of attacks that test whether the answers about a target have mean zero."""

from dataclasses import dataclass
from typing import Literal

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.asking import require_queries
from leakgauge.domains.queries.deciding import ByTTest
from leakgauge.domains.queries.knowledge import Known
from leakgauge.domains.queries.splitting import By
from leakgauge.strategies.t_test import TTest
from leakgauge.theory.t_tests import Form


@dataclass(frozen=True, kw_only=True)
class TTestOptions:
    """How often to ask, in which words, and the test: its form, its sides and its level."""

    queries: int = 10
    form: Form = "textbook"
    sides: Literal[1, 2] = 2
    level: float = 0.05
    by: By = By.IDS

    def __post_init__(self) -> None:
        require_queries(self.queries, 2)
        if not 0 < self.level < 1:
            raise BadInput(f"level must be in (0, 1), got {self.level}")
        self._test()  # checks the others

    def _test(self) -> TTest:
        return TTest(form=self.form, sides=self.sides)

    def t_test(self, knowledge: Known) -> ByTTest:
        """Decide by the test."""
        return ByTTest(self._test(), self.level, knowledge.shifts)
