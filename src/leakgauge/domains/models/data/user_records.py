"""Records that the user's own code makes: arrays, data frames, images or texts, with their labels."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset
from leakgauge.domains.models.plan_tables import ModelsCodeDataTable
from leakgauge.domains.models.recorded_model import numbered_rows
from leakgauge.support.tabular_objects import content_digest, count_rows
from leakgauge.support.user_code import UserCodeLoader, error_with_location


def load_records(named: str, table: ModelsCodeDataTable, folder: Path) -> dataset.EncodedTable:
    """Load "module:name": (X, y), or a function without arguments that returns both."""
    where = f"data.source = {named!r}"
    value = UserCodeLoader(folder).load(named, "data.source")
    if callable(value):
        try:
            value = value()
        except (Exception, SystemExit) as error:
            raise BadInput(f"{where}: it raised {error_with_location(error)}") from error
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise BadInput(
            f"{where}: must be (X, y), or a function that returns them, got {type(value).__name__}"
        )
    X, y = value
    return encode_records(X, y, where, group=table.group)


def encode_records(X: Any, y: Any, where: str, group: str | None = None) -> dataset.EncodedTable:
    """Records as games handle them: scaled to [0, 1] where X is a table of numbers, else numbers of rows.

    ``group`` names a column of a data frame, which stays one of its features.
    """
    n_rows, labels = count_rows(X), np.asarray(y)
    if labels.shape != (n_rows,):
        raise BadInput(
            f"{where}: X has {n_rows} rows, and y the shape {labels.shape}; each row needs a label"
        )
    classes, codes = np.unique(labels, return_inverse=True)
    numbers = _numbers(X)
    rows = numbered_rows(n_rows) if numbers is None else _scaled(numbers)
    groups = {}
    if group is not None:
        if not hasattr(X, "columns") or group not in list(X.columns):
            raise BadInput(f"data.group: {group!r} is no column of X, which must be a data frame with it")
        groups = {group: dataset.categorical(map(str, list(X[group])))}
    kind = "rows" if numbers is not None else "records"
    return dataset.EncodedTable(
        rows=rows,
        labels=codes.astype(np.int64),
        classes=tuple(map(str, classes.tolist())),
        names=tuple(f"x{i}" for i in range(rows.shape[1])),
        digest=sha256(f"{content_digest(X)} {content_digest(labels)} {group}".encode()).hexdigest(),
        groups=groups,
        notes=(f"made by {where}: {n_rows:,} {kind}, {classes.size} classes",),
        raw=X,
        raw_classes=tuple(classes.tolist()),
        tabular=numbers is not None,
    )


def _numbers(X: Any) -> Any:
    """X as a table of finite numbers; None where it is something else."""
    try:
        values = np.asarray(X)
    except ValueError:
        return None
    if values.ndim != 2 or not values.shape[1] or values.dtype.kind not in "fiub":
        return None
    values = values.astype(np.float64)
    return values if np.isfinite(values).all() else None


def _scaled(values: Any) -> dataset.FeatureRows:
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    return ((values - low) / np.where(width > 0, width, 1.0)).astype(np.float32)
