"""One question asked many times over: about the target and ever other known records (Huang et al.)."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.conditions import literal, quoted
from leakgauge.domains.queries.knowledge import Known
from leakgauge.domains.queries.oracle import Oracle
from leakgauge.domains.queries.query import Id, Query



class By(StrEnum):
    """How records are named in a query."""

    IDS = "ids"
    PREDICATE = "predicate"  # "id" IN (...)


@dataclass(frozen=True, eq=False)
class Split:
    """Queries about disjoint sets of known records, each with the target; and what the known ones add."""

    queries: tuple[Query, ...]
    known: Reals  # one for each query

    def ask(self, oracle: Oracle) -> Reals:
        """Rounds x queries: what the target adds, and noise; NaN where an answer is refused.

        Theorem 1 of Huang et al.: independent and identically distributed, whatever the sets.
        """
        answers = [oracle.ask(query) for query in self.queries]
        return np.column_stack(answers) - self.known


def split(known: Known, target: int, n_queries: int, by: By = By.IDS) -> Split:
    """Divide known records into as many sets, and ask about each with the target.

    A set is one record. Sets of one target are disjoint; those of different targets, as far as records go.
    Theorem 2 of Huang et al. asks for more than ``n_queries`` known records; as many are enough.
    """
    if not n_queries >= 1:
        raise BadInput(f"queries must be >= 1, got {n_queries}")
    if len(known.ids) < n_queries:
        raise BadInput(
            f"queries = {n_queries}: needs as many known records that the query selects, but the adversary "
            f"knows {len(known.ids)}; {more_records(known)}"
        )
    rows = (target * n_queries + np.arange(n_queries)) % len(known.ids)
    queries = tuple(_about(known, (known.ids[row], known.targets[target]), by) for row in rows)
    return Split(queries, known.values[rows])


def more_records(known: Known) -> str:
    """The way out for an adversary who knows too few records."""
    return f"lower queries, or {'widen challenger.query' if known.whole else 'raise knowledge.records'}"


def _about(known: Known, ids: tuple[Id, ...], by: By) -> Query:
    if by is By.IDS:
        return known.query.on(ids)
    return known.query.such_that(f"{quoted(known.id_column)} IN ({', '.join(map(literal, ids))})")
