"""The release of the query game: the oracles of a block, and an attacker's view of them."""

from dataclasses import dataclass, field
from functools import cached_property

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.queries.oracle import AccountedOracle, LocalOracle, Oracle, OracleRules
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.records import OracleTable


@dataclass(frozen=True, eq=False)
class QueriesBlock:
    """The oracles of a block: the targets present in each round, and the seed of the noise."""

    table: OracleTable
    rules: OracleRules
    members: Bits
    seed: int

    def oracle(self) -> LocalOracle:
        """Return a fresh oracle; all fresh oracles draw the same noise in the same order."""
        return LocalOracle(self.table, self.rules, self.members, self.seed)


@dataclass(frozen=True, eq=False)
class OracleView:
    """An oracle as an attacker sees it: it answers, and hides its accounts."""

    _oracle: AccountedOracle = field(repr=False)

    @property
    def n_rounds(self) -> int:
        return self._oracle.n_rounds

    def ask(self, query: Query) -> Reals:
        """Return one noisy answer for each round; NaN where it is refused."""
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
        """Return the attacker's oracle, the same one at every call, with a single budget.

        A second oracle would draw the same noise, so that an attacker could cancel it.
        """
        return OracleView(self._oracle)
