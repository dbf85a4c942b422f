"""The classes of rows, as numbers from 0."""

from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.domains.federated.loaded import Ints


def coded(labels: npt.NDArray[Any], name: str) -> tuple[Ints, tuple[str, ...]]:
    """Number the classes in order, and name them."""
    whole = _whole(labels, name, "a class: a whole number or a text")
    classes, codes = np.unique(whole, return_inverse=True)
    return codes.astype(np.int64), tuple(map(str, classes.tolist()))


def marked(train: npt.NDArray[Any], name: str) -> Bits:
    """Which rows a model behind the embeddings was trained on."""
    rule = "true or false (or 1 or 0)"
    whole = _whole(train, name, rule)
    wrong = ~np.isin(whole, (0, 1))
    if whole.dtype.kind not in "biu" or wrong.any():
        row = int(wrong.argmax())
        raise BadInput(f"data.keys.train: row {row} (the first is 0) of {name!r} must be {rule}")
    return whole.astype(np.bool_)


def _whole(values: npt.NDArray[Any], name: str, rule: str) -> npt.NDArray[Any]:
    """One value per row, none of them missing, and no fractions."""
    lost = np.ma.getmaskarray(values)
    plain = np.asarray(np.ma.getdata(values))
    if plain.ndim != 1:
        raise BadInput(f"data.keys: {name!r} has shape {plain.shape}; it needs one value per row")
    if plain.dtype == object:
        lost = lost | np.array([not isinstance(value, str | bool | int) for value in plain], dtype=np.bool_)
    if plain.dtype.kind == "f":
        lost = lost | ~(np.isfinite(plain) & (plain == np.floor(plain)))
    if lost.any():
        raise BadInput(f"data.keys: row {int(lost.argmax())} (the first is 0) of {name!r} must be {rule}")
    if plain.dtype == object:
        return plain.astype(str)
    return plain.astype(np.int64) if plain.dtype.kind == "f" else plain
