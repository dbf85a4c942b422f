"""Which queries contain each record, and what it adds to each answer: a sparse table, record by record."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.answers import LoggedAnswers, LoggedNoise
from leakgauge.domains.queries.log.record_pairs import CodedPairs, Positions
from leakgauge.domains.queries.records import Ints, OracleRecords
from leakgauge.support.tabular import Connection


def clip_contributions(
    connection: Connection, pairs: CodedPairs, answers: LoggedAnswers, table: OracleRecords | None, where: str
) -> tuple[CodedPairs, tuple[str, ...]]:
    """Pairs with contributions within the bounds of their queries, and what is to be noted."""
    sums = int(np.count_nonzero(answers.is_sum))
    if pairs.contributions is None and table is not None and sums:
        pairs = replace(pairs, contributions=_from_table(connection, pairs, answers, table, where))
    values = pairs.contributions
    if values is None:
        note = (
            f"Sums without values: {sums:,}. Each record is taken to add the whole bound, so that no number "
            "is too small."
        )
        return pairs, (note,) if sums else ()
    bound = answers.bound[pairs.queries]
    beyond = np.abs(values) > bound
    notes: tuple[str, ...] = ()
    if beyond.any():
        _refuse_counts(pairs, answers, beyond, where)
        values = np.clip(values, -bound, bound)
        notes = (f"Contributions clipped to the bound of their sum: {np.count_nonzero(beyond):,}.",)
    uneven = values != np.floor(values)
    if uneven.any():
        uneven &= answers.noise[pairs.queries] == LoggedNoise.GEOMETRIC
        _refuse(pairs, answers, uneven, where, "geometric noise is for whole numbers; fix one")
    return replace(pairs, contributions=values), notes


def _from_table(
    connection: Connection, pairs: CodedPairs, answers: LoggedAnswers, table: OracleRecords, where: str
) -> Reals:
    """The values of the columns that are summed; a record adds 1 to a count."""
    found = connection.execute(
        """SELECT min(n), "column", list(code) FROM log WHERE kind = 'sum' GROUP BY "column" ORDER BY 1"""
    ).fetchall()
    which = np.zeros(len(answers), dtype=np.int32)
    values = [np.ones(len(table))]
    for n, column, codes in found:
        if column is None:
            raise BadInput(f"{where}, row {n}: a sum needs the column that is summed; add it")
        try:
            values.append(table.numbers(column))
        except BadInput as error:
            raise BadInput(f"{where}, row {n}: {str(error).removeprefix('query.')}") from None
        which[codes] = len(values) - 1
    contributions = np.ones(pairs.records.size)
    own = which[pairs.queries]
    for place, column_values in enumerate(values[1:], start=1):
        rows = np.flatnonzero(own == place)
        contributions[rows] = column_values[pairs.records[rows]]
    return contributions


def _refuse_counts(
    pairs: CodedPairs,
    answers: LoggedAnswers,
    beyond: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    where: str,
) -> None:
    _refuse(
        pairs,
        answers,
        beyond & ~answers.is_sum[pairs.queries],
        where,
        "a record moves a count by at most 1; say kind = sum, and its bound",
    )


def _refuse(
    pairs: CodedPairs,
    answers: LoggedAnswers,
    odd: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    where: str,
    rule: str,
) -> None:
    if not odd.any():
        return
    assert pairs.contributions is not None
    first = int(np.argmax(odd))
    row = answers.rows[pairs.queries[first]]
    raise BadInput(f"{where}, row {row}: a record contributes {pairs.contributions[first]:g}: {rule}")


_BLOCK = 2**21  # incidences at once


@dataclass(frozen=True, eq=False)
class Incidence:
    """The queries of record i, in the order of the log, are ``queries[starts[i]:starts[i + 1]]``.

    ``contributions`` are what the record adds to each answer; without them it is all that a record can.
    """

    starts: Ints
    queries: Positions
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


def build_incidence(pairs: CodedPairs, rows: Ints, n_records: int) -> Incidence:
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
