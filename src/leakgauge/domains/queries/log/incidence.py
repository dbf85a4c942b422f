"""The queries that contain each record and its contributions to them, as a sparse table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.record_pairs import CodedPairs, Positions
from leakgauge.domains.queries.records import OracleRecords
from leakgauge.support.tabular import Connection

_BLOCK = 2**21  # pairs per block


def clip_contributions(
    connection: Connection, pairs: CodedPairs, answers: LoggedAnswers, table: OracleRecords | None, where: str
) -> tuple[CodedPairs, tuple[str, ...]]:
    """Clip contributions to the bounds of their queries; return the pairs and notes."""
    sums = int(np.count_nonzero(answers.is_sum))
    whole = answers.where([family.lattice for family in answers.families])
    if pairs.contributions is None and table is not None and sums:
        pairs = _from_table(connection, pairs, answers, table, where)
        if (same := pairs.by_record) is not None and _is_taken(same, answers, whole):
            return pairs, ()
        if same is not None:  # what is clipped or refused is found pair by pair
            pairs = CodedPairs(pairs.queries, pairs.records, same[pairs.records])
    values = pairs.contributions
    if values is None:
        note = (
            f"Sums without values: {sums:,}. Each record is assumed to add the whole bound, so that no "
            "number is too small."
        )
        return pairs, (note,) if sums else ()
    values, clipped = values.copy() if not values.flags.writeable else values, 0
    for part in _parts(values.size):
        some = CodedPairs(pairs.queries[part], pairs.records[part], values[part])
        bound = answers.bound[some.queries]
        beyond = np.abs(values[part]) > bound
        if beyond.any():
            _refuse_counts(some, answers, beyond, where)
            np.clip(values[part], -bound, bound, out=values[part])
            clipped += int(np.count_nonzero(beyond))
        if whole.any():
            uneven = (values[part] != np.floor(values[part])) & whole[some.queries]
            name = answers.name_of(some.queries[int(np.argmax(uneven))])
            rule = f"{name} noise is for whole numbers; fix the noise or the value"
            _refuse(some, answers, uneven, where, rule)
    notes = (f"Contributions clipped to the bound of their sum: {clipped:,}.",) if clipped else ()
    return replace(pairs, contributions=values), notes


def _is_taken(values: Reals, answers: LoggedAnswers, whole: Bits) -> bool:
    """Whether every answer takes every value as it is."""
    small = bool((np.abs(values) <= answers.bound.min(initial=np.inf)).all())
    return small and not (whole.any() and (values != np.floor(values)).any())


def _parts(n: int) -> Iterator[slice]:
    """Return consecutive pairs, few enough that numbers about them need little memory."""
    yield from (slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK))


def _from_table(
    connection: Connection, pairs: CodedPairs, answers: LoggedAnswers, table: OracleRecords, where: str
) -> CodedPairs:
    """Return the pairs with contributions: values of the summed column, or 1 in a count."""
    columns = connection.execute(
        """SELECT min(n), "column", list(code) FROM log WHERE kind = 'sum' GROUP BY "column" ORDER BY 1"""
    ).fetchall()
    which = np.zeros(len(answers), dtype=np.int32)
    values = [np.ones(len(table))]
    for n, column, codes in columns:
        if column is None:
            raise BadInput(f"{where}, row {n}: a sum needs the column that is summed; add it")
        try:
            values.append(table.numbers(column))
        except BadInput as error:
            raise BadInput(f"{where}, row {n}: {str(error).removeprefix('query.')}") from None
        which[codes] = len(values) - 1
    if (which == 1).all():  # sums of one column only
        return replace(pairs, by_record=values[1])
    contributions = np.empty(pairs.records.size)
    all_values = np.concatenate(values)
    firsts = which.astype(np.int64) * len(table)
    for part in _parts(pairs.records.size):
        np.take(all_values, firsts[pairs.queries[part]] + pairs.records[part], out=contributions[part])
    return replace(pairs, contributions=contributions)


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
        "a record changes a count by at most 1; set kind = sum and its bound",
    )


def _refuse(
    pairs: CodedPairs,
    answers: LoggedAnswers,
    bad: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    where: str,
    rule: str,
) -> None:
    if not bad.any():
        return
    assert pairs.contributions is not None
    first = int(np.argmax(bad))
    row = answers.rows[pairs.queries[first]]
    raise BadInput(f"{where}, row {row}, contribution of a record: {rule}")


@dataclass(frozen=True, eq=False)
class ContributionOfRecords:
    """What pairs contribute where each record adds the same to all its queries: a number for each record.

    >>> ContributionOfRecords(np.array([5.0, 6.0, 7.0]), np.array([0, 2, 2, 4]))[1:3].tolist()
    [5.0, 7.0]
    """

    values: Reals
    starts: Ints

    def __getitem__(self, pairs: slice) -> Reals:
        first, last, _ = pairs.indices(int(self.starts[-1]))
        rows = slice(
            int(np.searchsorted(self.starts, first, "right")) - 1, int(np.searchsorted(self.starts, last))
        )
        ends: Ints = np.clip(self.starts[rows.start : rows.stop + 1], first, last)
        return np.repeat(self.values[rows], ends[1:] - ends[:-1])


@dataclass(frozen=True, eq=False)
class Incidence:
    """The queries of record i, in the order of the log, are ``queries[starts[i]:starts[i + 1]]``.

    ``contributions`` are those of the record to each answer; without them, each is the full bound.
    """

    starts: Ints
    queries: Positions
    contributions: Reals | ContributionOfRecords | None
    repeated: int = 0  # repeated pairs, which are counted once

    @property
    def n_records(self) -> int:
        return int(self.starts.size) - 1

    @property
    def numbers(self) -> Ints:
        """How many queries contain each record."""
        return np.diff(self.starts)

    def sizes(self, own: slice, bound: Reals) -> Reals:
        """Return by how much records change answers in some pairs; ``bound`` is that of all answers."""
        return bound[self.queries[own]] if self.contributions is None else np.abs(self.contributions[own])

    def blocks(self) -> Iterator[slice]:
        """Return consecutive records in blocks with about equally many pairs."""
        ends = np.searchsorted(self.starts, np.arange(_BLOCK, int(self.starts[-1]) + _BLOCK, _BLOCK), "right")
        first = 0
        for end in np.unique(np.append(ends - 1, self.n_records)).tolist():
            if end > first:
                yield slice(first, end)
                first = end


def build_incidence(pairs: CodedPairs, rows: Ints, n_records: int) -> Incidence:
    """Sort pairs by record and query; ``rows`` are the rows of the queries in the log."""
    n_queries = rows.size
    queries, records, data = pairs.queries, pairs.records, pairs.contributions
    if not (queries[1:] >= queries[:-1]).all():
        order = np.argsort(queries, kind="stable")
        queries, records, data = queries[order], records[order], None if data is None else data[order]
    starts = np.searchsorted(queries, np.arange(n_queries + 1, dtype=np.int32))
    if records.size < 2**31:  # else all positions would be copied as 64 bits
        starts = starts.astype(np.int32)
    entries = np.ones(records.size, dtype=np.uint8) if data is None else data
    by_record = csr_array((entries, records, starts), shape=(n_queries, n_records)).tocsc()
    own = by_record.indptr.astype(np.int64)
    found = Incidence(own, by_record.indices, None if data is None else by_record.data)
    found = _without_repeats(found, rows)
    if pairs.by_record is None:
        return found
    return replace(found, contributions=ContributionOfRecords(pairs.by_record, found.starts))


def _without_repeats(incidence: Incidence, rows: Ints) -> Incidence:
    """Count repeated pairs once; refuse those with different contributions."""
    repeated_pair = incidence.queries[1:] == incidence.queries[:-1]
    inner = incidence.starts[1:-1]
    repeated_pair[inner[(inner > 0) & (inner < incidence.queries.size)] - 1] = False
    if not repeated_pair.any():
        return incidence
    data = incidence.contributions
    assert not isinstance(data, ContributionOfRecords)
    if data is not None and (differ := repeated_pair & (data[1:] != data[:-1])).any():
        place = int(np.argmax(differ))
        raise BadInput(
            f"row {rows[incidence.queries[place]]} of the log: a record contributes two different values to "
            "this query; give each pair of query and record one row"
        )
    keep = np.concatenate([[True], ~repeated_pair])
    dropped = np.concatenate([[0], np.cumsum(~keep)])
    return Incidence(
        incidence.starts - dropped[incidence.starts],
        incidence.queries[keep],
        None if data is None else data[keep],
        int(dropped[-1]),
    )
