"""How many requests rounds take, counted on the oracle of this process without sending any."""

from dataclasses import dataclass

from leakgauge.core.game import Reals
from leakgauge.domains.queries.oracle import LocalOracle
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.release import QueriesBlock
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable


class RequestCounter:
    """The requests that would have been sent so far."""

    def __init__(self, service: QueriesServiceTable) -> None:
        self.per_round = sum(template is not None for template in (service.open, service.close))
        self.sent = 0


class CountedOracle(LocalOracle):
    """The oracle of this process, with a count of the requests that a service would have received."""

    counter: RequestCounter
    _opened = False

    def ask(self, query: Query) -> Reals:
        self.counter.sent += self.n_rounds * (1 if self._opened else 1 + self.counter.per_round)
        self._opened = True
        return super().ask(query)


@dataclass(frozen=True, eq=False)
class CountedQueriesBlock(QueriesBlock):
    """The oracles of a block, with the counter of their requests."""

    counter: RequestCounter

    def oracle(self) -> CountedOracle:
        """Return a fresh oracle."""
        oracle = CountedOracle(self.table, self.rules, self.members, self.seed)
        oracle.counter = self.counter
        return oracle
