"""Which queries contain each record: a sparse table, record by record."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.coding import Coded, Places
from leakgauge.domains.queries.records import Ints

_BLOCK = 2**21  # incidences at once


@dataclass(frozen=True, eq=False)
class Incidence:
    """The queries of record i, in the order of the log, are ``queries[starts[i]:starts[i + 1]]``.

    ``contributions`` are what the record adds to each answer; without them it is all that a record can.
    """

    starts: Ints
    queries: Places
    contributions: Reals | None
    repeated: int = 0  # pairs that were there more than once, and count once

    @property
    def n_records(self) -> int:
        return int(self.starts.size) - 1

    @property
    def numbers(self) -> Ints:
        """How many queries contain each record."""
        return np.diff(self.starts)

    def blocks(self) -> Iterator[slice]:
        """Records in groups that have about equally many incidences."""
        ends = np.searchsorted(self.starts, np.arange(_BLOCK, int(self.starts[-1]) + _BLOCK, _BLOCK), "right")
        first = 0
        for end in np.unique(np.append(ends - 1, self.n_records)).tolist():
            if end > first:
                yield slice(first, end)
                first = end


def incidence(pairs: Coded, rows: Ints, n_records: int) -> Incidence:
    """Sort pairs by record and query, by counting; ``rows`` are where the log has the queries."""
    n_queries = rows.size
    queries, records, data = pairs.queries, pairs.records, pairs.contributions
    if not (queries[1:] >= queries[:-1]).all():
        order = np.argsort(queries, kind="stable")
        queries, records, data = queries[order], records[order], None if data is None else data[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=n_queries))])
    filling = np.ones(records.size, dtype=np.uint8) if data is None else data
    turned = csr_array((filling, records, starts), shape=(n_queries, n_records)).tocsc()
    own = turned.indptr.astype(np.int64)
    return _once(Incidence(own, turned.indices, None if data is None else turned.data), rows)


def _once(found: Incidence, rows: Ints) -> Incidence:
    """Count a record once in a query that names it twice; the file must not say two things of it."""
    again = found.queries[1:] == found.queries[:-1]
    inner = found.starts[1:-1]
    again[inner[(inner > 0) & (inner < found.queries.size)] - 1] = False
    if not again.any():
        return found
    data = found.contributions
    if data is not None and (differ := again & (data[1:] != data[:-1])).any():
        place = int(np.argmax(differ))
        raise BadInput(
            f"row {rows[found.queries[place]]} of the log: a record contributes two different values to this "
            f"query, {data[place]:g} and {data[place + 1]:g}; give each pair of query and record one row"
        )
    keep = np.concatenate([[True], ~again])
    dropped = np.concatenate([[0], np.cumsum(~keep)])
    return Incidence(
        found.starts - dropped[found.starts],
        found.queries[keep],
        None if data is None else data[keep],
        int(dropped[-1]),
    )
