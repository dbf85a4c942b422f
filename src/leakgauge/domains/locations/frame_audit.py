"""The audit of counts of people who are given as a data frame of visits, or as people x cells."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.domain import FrameAudit
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.cell_files.cell_plan_table import MAX_VALUE
from leakgauge.support.frame_source import is_path

MATRIX_COLUMNS = {"user": "person", "cell": "cell"}


def prepare_count_audit(
    visits: Any, *, columns: Mapping[str, Any] | None, data: dict[str, Any], challenger: dict[str, Any]
) -> FrameAudit:
    """Set up the tables of a plan; an array with two dimensions has a row for each person."""
    if reserved := [key for key in ("source", "columns") if key in data]:
        raise BadInput(f"data.{reserved[0]}: is an argument of its own; leave it out of data")
    if visits is None:
        raise BadInput(
            'visits: None is no data; give a frame, an array or a file, or audit_counts("synthetic", ...) '
            "for a generated city"
        )
    if columns is not None and not isinstance(columns, Mapping):
        raise BadInput(
            'columns: must be a dict of what each column means, such as {"user": "u", "time": "t", '
            f'"place": "p"}}, got {columns!r}'
        )
    if is_path(visits):
        data = {**data, "source": str(visits)}
    elif _is_matrix(visits):
        if columns is not None:
            raise BadInput("columns: an array of people x cells has no named columns; leave it out")
        visits, columns = _long_rows(visits)
    named = {} if columns is None else {"columns": dict(columns)}
    return FrameAudit(
        frame=None if is_path(visits) else visits, data={**data, **named}, challenger=challenger
    )


def _is_matrix(visits: Any) -> bool:
    return hasattr(visits, "tocoo") or (isinstance(visits, np.ndarray) and visits.ndim == 2)


def _long_rows(matrix: Any) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """One row for each entry that is not 0; entries are values where one of them is 2.

    >>> _long_rows(np.array([[1, 0], [0, 1]]))[0]["cell"].tolist()
    [0, 1]
    >>> from scipy.sparse import coo_array
    >>> _long_rows(coo_array(([1, 1], ([0, 0], [3, 3])), shape=(1, 4)))[0]["value"].tolist()
    [2]
    """
    dense = matrix.tocoo(copy=True) if hasattr(matrix, "tocoo") else None
    if dense is not None:
        dense.sum_duplicates()
    values = np.asarray(matrix if dense is None else dense.data)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1, MAX_VALUE)).all():
        raise BadInput(
            "visits: an array of people x cells holds how much each person adds to each count: 0, 1 or 2; "
            "give a frame with one row for each visit instead"
        )
    person, cell = np.nonzero(values) if dense is None else (dense.row, dense.col)
    entries = (values[person, cell] if dense is None else values).astype(np.int64)
    person, cell, entries = (part[entries > 0] for part in (person, cell, entries))
    rows = {"person": person.astype(np.int64), "cell": cell.astype(np.int64)}
    if entries.size and entries.max() == MAX_VALUE:
        return {**rows, "value": entries}, {**MATRIX_COLUMNS, "value": "value"}
    return rows, dict(MATRIX_COLUMNS)
