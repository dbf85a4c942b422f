"""What each record adds to each answer: said by the log, taken from the table, or all that it can."""

from dataclasses import replace

import numpy as np

from leakgauge.core.database import Connection
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.answers import Answers, Noise
from leakgauge.domains.queries.log.coding import Coded
from leakgauge.domains.queries.records import Records


def clipped(
    connection: Connection, pairs: Coded, answers: Answers, table: Records | None, where: str
) -> tuple[Coded, tuple[str, ...]]:
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
        uneven &= answers.noise[pairs.queries] == Noise.GEOMETRIC
        _refuse(pairs, answers, uneven, where, "geometric noise is for whole numbers; mend one")
    return replace(pairs, contributions=values), notes


def _from_table(connection: Connection, pairs: Coded, answers: Answers, table: Records, where: str) -> Reals:
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
    pairs: Coded, answers: Answers, beyond: "np.ndarray[tuple[int], np.dtype[np.bool_]]", where: str
) -> None:
    _refuse(
        pairs,
        answers,
        beyond & ~answers.is_sum[pairs.queries],
        where,
        "a record moves a count by at most 1; say kind = sum, and its bound",
    )


def _refuse(
    pairs: Coded, answers: Answers, odd: "np.ndarray[tuple[int], np.dtype[np.bool_]]", where: str, rule: str
) -> None:
    if not odd.any():
        return
    assert pairs.contributions is not None
    first = int(np.argmax(odd))
    row = answers.rows[pairs.queries[first]]
    raise BadInput(f"{where}, row {row}: a record contributes {pairs.contributions[first]:g}: {rule}")
