"""What a round of the query game shows: the oracles of a block, and an attacker's view of them."""

from dataclasses import dataclass, field
from functools import cached_property

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.queries.oracle import AccountedOracle, LocalOracle, Oracle
from leakgauge.domains.queries.oracle_rules import OracleRules
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable


@dataclass(frozen=True, eq=False)
class QueriesBlock:
    """The oracles of a block: who is in the table of each round, and the seed of their noise."""

    table: OracleTable
    rules: OracleRules
    members: Bits
    seed: int

    def oracle(self) -> LocalOracle:
        """A fresh oracle, to which nobody has put a question; all draw the same noise in the same order."""
        return LocalOracle(self.table, self.rules, self.members, self.seed)


@dataclass(frozen=True, eq=False)
class OracleView:
    """An oracle as an attacker meets it: it answers, and keeps its accounts to itself."""

    _oracle: AccountedOracle = field(repr=False)

    @property
    def n_rounds(self) -> int:
        return self._oracle.n_rounds

    def ask(self, query: Query) -> Reals:
        """One noisy answer for each round; NaN where it is refused."""
        return self._oracle.ask(query)


@dataclass(frozen=True, eq=False)
class QueriesView:
    """A block as an attacker sees it: an oracle for every round, asked together."""

    n_rounds: int
    _block: QueriesBlock = field(repr=False)

    @cached_property
    def _oracle(self) -> AccountedOracle:
        return self._block.oracle()

    def oracle(self) -> Oracle:
        """The attacker's oracle, with its one budget; whenever it is asked for, the same.

        A second one would draw the same noise: the difference of two answers would have none.
        """
        return OracleView(self._oracle)
