"""How many requests rounds take, counted on the oracle of this process without sending any."""

from dataclasses import dataclass

from leakgauge.core.arrays import Reals
from leakgauge.domains.queries.oracle import LocalOracle
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.release import QueriesBlock
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable
from leakgauge.support.work_count import REQUEST, SESSION, count_work


class CountedOracle(LocalOracle):
    """The oracle of this process, which counts the requests that a service would have received."""

    requests_per_round = 0  # to open it, with the first question, and to close it
    sessions_per_round = 0

    def ask(self, query: Query) -> Reals:
        count_work(REQUEST, self.n_rounds * (1 + self.requests_per_round))
        if self.sessions_per_round:
            count_work(SESSION, self.n_rounds * self.sessions_per_round)
        self.requests_per_round = self.sessions_per_round = 0
        return super().ask(query)


@dataclass(frozen=True, eq=False)
class CountedQueriesBlock(QueriesBlock):
    """The oracles of a block in place of those of a service."""

    service: QueriesServiceTable

    def oracle(self) -> CountedOracle:
        """Return a fresh oracle."""
        oracle = CountedOracle(self.table, self.rules, self.members, self.seed)
        oracle.requests_per_round = self.service.requests_per_session
        oracle.sessions_per_round = int(self.service.open is not None)
        return oracle
