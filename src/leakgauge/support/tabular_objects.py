"""Rows of tables in memory: arrays, data frames of pandas and polars, tensors, sparse matrices and lists."""

from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np

from leakgauge.core.arrays import Ints


def take_rows(table: Any, places: Ints) -> Any:
    """Some rows of a table by position, as a table of the same type.

    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(table, "iloc"):  # pandas
        return table.iloc[places]
    if isinstance(table, list | tuple):
        return [table[place] for place in places.tolist()]
    if _module(table) == "polars":
        return table[places.tolist()]
    if _module(table) == "torch":
        return table[places.tolist()]
    return table[places]  # numpy, scipy.sparse


def join_rows(tables: Sequence[Any]) -> Any:
    """Tables of the same type, one below the other.

    >>> join_rows([[1], [2, 3]])
    [1, 2, 3]
    """
    first = tables[0]
    if len(tables) == 1:
        return first
    match _module(first):
        case "pandas" | "polars" as library:
            how = {"ignore_index": True} if library == "pandas" else {}
            return import_module(library).concat(list(tables), **how)
        case "torch":
            return import_module("torch").cat(list(tables))
        case "scipy":
            from scipy.sparse import vstack

            return vstack(tables, format="csr")
    if isinstance(first, list | tuple):
        return [row for table in tables for row in table]
    return np.concatenate([np.asarray(table) for table in tables])


def count_rows(table: Any) -> int:
    """How many rows a table has."""
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def content_digest(table: Any) -> str:
    """A digest of all values of a table."""
    if isinstance(table, np.ndarray) and table.dtype != object:
        about = f"{table.dtype} {table.shape}".encode()
        return sha256(about + np.ascontiguousarray(table).tobytes()).hexdigest()
    import cloudpickle

    return sha256(cloudpickle.dumps(table)).hexdigest()


def _module(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def clone_of(model: Any) -> Any:
    """An estimator of scikit-learn as it was before it was fitted; None of anything else."""
    if not all(hasattr(model, name) for name in ("get_params", "fit", "predict_proba", "classes_")):
        return None
    from sklearn.base import clone

    try:
        return clone(model)
    except (TypeError, ValueError, RuntimeError):
        return None
