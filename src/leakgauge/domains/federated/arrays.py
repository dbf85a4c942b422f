"""Rows in a NumPy file with several arrays (.npz)."""

from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.federated.file_table import Found, Keys

ROWS, TRAIN = "embedding", "is_train"


def read_arrays(path: Path, keys: Keys) -> Found:
    """Read the arrays that the keys name; nothing in a file is ever run."""
    try:
        with path.open("rb") as content, _opened(content) as file:
            wanted = {"rows": keys.rows or ROWS, "labels": keys.labels}
            if keys.train is not None or TRAIN in file:
                wanted["train"] = keys.train or TRAIN
            for role, name in wanted.items():
                require(name, list(file), f"data.keys.{role}: no array of {path.name}")
            found = {role: file[name] for role, name in wanted.items()}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        said = str(error).partition("\n")[0]
        raise BadInput(
            f"data.source: {path.name} cannot be read: {said}; it must be a whole .npz file of plain arrays"
        ) from None
    rows = found["rows"]
    if rows.dtype.kind not in "fiub" or not 2 <= rows.ndim <= 4:
        raise BadInput(
            f"data.keys.rows: {wanted['rows']!r} holds {rows.dtype} of shape {rows.shape}; needed are "
            "numbers (rows, features), or images (rows, height, width) or (rows, height, width, 3)"
        )
    if rows.ndim > 2 and (rows.dtype != np.uint8 or (rows.ndim == 4 and rows.shape[3] not in (1, 3))):
        raise BadInput(
            f"data.keys.rows: {wanted['rows']!r} holds {rows.dtype} of shape {rows.shape}; images are uint8 "
            "(0..255), with 1 or 3 colours as the last dimension"
        )
    return Found(rows, found["labels"], found.get("train"))


def _opened(content: BinaryIO) -> NpzFile:
    try:
        file = np.load(content, allow_pickle=False)
    except ValueError:  # says how to load what is no file of arrays, which nobody should
        raise ValueError("it holds no arrays") from None
    if not isinstance(file, NpzFile):
        raise ValueError("it holds one array without a name")
    return file
