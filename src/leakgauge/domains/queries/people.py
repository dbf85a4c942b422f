"""Which records are targets."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.targets import rows_called
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.records import Ints, Records
from leakgauge.domains.queries.tables import Choose, Targets

WHERE = "challenger.targets"


def choose_targets(records: Records, query: Query, wanted: Targets, rng: Generator) -> Ints:
    """Draw or look up the targets: records that the query selects, and that move its answer."""
    selected = records.rows(records.condition(query))
    if wanted.names:
        return _named(records, query, wanted.names, selected)
    values = records.values(query, selected)
    able, weights = selected[values != 0], np.abs(values[values != 0])
    if able.size < wanted.how_many:
        raise BadInput(
            f"{WHERE}: {wanted.how_many} wanted, but the query selects {able.size} records that move its "
            "answer; lower n, or change query"
        )
    order = rng.permutation(able.size)
    if wanted.choose is Choose.MOST:
        order = order[np.argsort(-weights[order], kind="stable")]
    return np.sort(able[order[: wanted.how_many]])


def _named(records: Records, query: Query, names: Sequence[Id], selected: Ints) -> Ints:
    """The records of the ids that the owner has named, in that order."""
    known, called = {str(name): row for name, row in records.row_of.items()}, list(map(str, names))
    found = rows_called(called, known, f"{WHERE}.names", _stranger)
    for name, row in zip(called, found.tolist()):
        if row not in selected:
            raise BadInput(
                f"{WHERE}.names: query.where = {query.where!r} does not select {name!r}; no answer would "
                "depend on that record; change one of them"
            )
    still = [name for name, value in zip(called, records.values(query, found)) if value == 0]
    if still:
        raise BadInput(
            f"{WHERE}.names: {query.column!r} of {still[0]!r} is 0, so that no answer depends on that "
            "record; remove it"
        )
    return found


def _stranger(name: str) -> str:
    return f"no record has the id {name!r}; mend or remove it"
