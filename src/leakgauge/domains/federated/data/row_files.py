"""Read rows from files: arrays of a .npz file, columns of a CSV or Parquet file, and encoded images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib.npyio import NpzFile

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.plan_tables import FederatedFileTable, FileKeys
from leakgauge.support.required_columns import require_columns
from leakgauge.support.table_reader import require_known
from leakgauge.support.tabular import (
    Connection,
    decimal_comma_way_out,
    open_table_file,
    refuse_numbers_as_texts,
)

DEFAULT_ROWS_KEY, DEFAULT_TRAIN_KEY = "embedding", "is_train"
ID_COLUMN = "id"  # numbers the rows; not a feature unless a plan names it
_INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBER_TYPES = (*_INTEGER_TYPES, *(f"U{name}" for name in _INTEGER_TYPES), "FLOAT", "DOUBLE", "DECIMAL")
_WORDS_WAY_OUT = "fix or remove those rows, or list the columns to use: features = [...]"

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FileRows:
    """The contents of a file, not yet validated."""

    rows: Any  # numbers (n, d), pixels (n, h, w) or (n, h, w, colours), or a list of encoded images
    labels: npt.NDArray[Any]
    train: npt.NDArray[Any] | None
    names: tuple[str, ...] = ()  # of the features, if they have names


def read_npz(path: Path, keys: FileKeys) -> FileRows:
    """Read the arrays that the keys name; pickled objects are refused."""
    try:
        with path.open("rb") as content, _open_npz(content) as file:
            wanted = {"rows": keys.rows or DEFAULT_ROWS_KEY, "labels": keys.labels}
            if keys.train is not None or DEFAULT_TRAIN_KEY in file:
                wanted["train"] = keys.train or DEFAULT_TRAIN_KEY
            for role, name in wanted.items():
                require_known(name, list(file), f"data.keys.{role}: no array of {path.name}")
            arrays = {role: file[name] for role, name in wanted.items()}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        reason = str(error).partition("\n")[0]
        raise BadInput(
            f"data.source: {path.name} cannot be read: {reason}; it must be a whole .npz file of plain arrays"
        ) from None
    rows = arrays["rows"]
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
    return FileRows(rows, arrays["labels"], arrays.get("train"))


def _open_npz(content: BinaryIO) -> NpzFile:
    try:
        file = np.load(content, allow_pickle=False)
    except ValueError:  # its message recommends allow_pickle, which is unsafe
        raise ValueError("it holds no arrays") from None
    if not isinstance(file, NpzFile):
        raise ValueError("it holds one array without a name")
    return file


def read_tabular(path: Path, table: FederatedFileTable) -> FileRows:
    """Read a table file: a column of images or lists with whole rows, or numeric columns as features."""
    with open_table_file(path, others=(".npz",), text=table.text_format) as (connection, types):
        if not table.columns and not table.keys.rows:  # else these columns are left out
            refuse_numbers_as_texts(
                connection, types, path, table.text_format, _WORDS_WAY_OUT, ids=(ID_COLUMN,)
            )
        return _read_connection(connection, types, path, table)


def _read_connection(
    connection: Connection, types: Mapping[str, str], path: Path, table: FederatedFileTable
) -> FileRows:
    keys = table.keys
    named = {role: name for role, name in vars(keys).items() if name is not None}
    require_columns(named, list(types), path.name, "data", "keys = { {} }")
    train = keys.train or (DEFAULT_TRAIN_KEY if DEFAULT_TRAIN_KEY in types else None)
    marks = None if train is None else _column(connection, train)
    rest = [name for name in types if name not in (keys.labels, train)]
    whole = keys.rows or _image_column(types, rest, table)
    labels = _column(connection, keys.labels)
    if whole is None:
        names = table.columns or [name for name in rest if _is_number(types[name]) and name != ID_COLUMN]
        return FileRows(_number_columns(connection, types, names, path), labels, marks, tuple(names))
    if table.columns:
        raise BadInput("data: keys.rows and a list of features exclude each other; leave one out")
    if types[whole] == "BLOB":
        return FileRows([blob for (blob,) in _select(connection, whole).fetchall()], labels, marks)
    return FileRows(_list_column(connection, whole, types[whole]), labels, marks)


def _image_column(types: Mapping[str, str], rest: Sequence[str], table: FederatedFileTable) -> str | None:
    """Return the column of encoded images, if there is exactly one and no features are named."""
    images = [name for name in rest if types[name] == "BLOB"]
    return images[0] if len(images) == 1 and not table.columns else None


def _number_columns(
    connection: Connection, types: Mapping[str, str], names: Sequence[str], path: Path
) -> npt.NDArray[np.float64]:
    if not names:
        raise BadInput(
            f"data.source: {path.name} has no column of numbers besides the labels; name the column that "
            'holds whole rows: keys = { rows = "..." }'
        )
    require_columns({"features": names}, list(types), path.name, "data")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise BadInput(f"data.features: {name!r} is named twice; remove one")
        if not _is_number(types[name]):
            if way_out := decimal_comma_way_out(connection, name, path):
                raise BadInput(f"data.features: {name!r} is written with decimal commas; {way_out}")
            raise BadInput(f"data.features: {name!r} holds {types[name]}, not numbers; leave it out")
    typed = ", ".join(f"CAST({_quoted(name)} AS DOUBLE) AS c{i}" for i, name in enumerate(names))
    columns = connection.execute(f"SELECT {typed} FROM given").fetchnumpy()
    return np.column_stack([np.ma.filled(columns[f"c{i}"], np.nan) for i in range(len(names))])


def _list_column(connection: Connection, name: str, kind: str) -> npt.NDArray[np.float64]:
    """Read a column of lists that all have the same length."""
    if not (kind.endswith("]") and _is_number(kind.partition("[")[0]) and kind.count("[") == 1):
        raise BadInput(
            f"data.keys.rows: {name!r} holds {kind}; a row is a list of numbers or an encoded image (a BLOB)"
        )
    column = _quoted(name)
    lengths = np.ma.filled(connection.execute(f"SELECT len({column}) AS n FROM given").fetchnumpy()["n"], -1)
    odd = np.flatnonzero(lengths != lengths[:1])
    if odd.size or (lengths < 0).any():
        row = int(odd[0]) if odd.size else 0
        has = "nothing" if lengths[row] < 0 else f"{lengths[row]} numbers"
        raise BadInput(
            f"data.keys.rows: row {row} (the first is 0) of {name!r} has {has}, and row 0 has {lengths[0]}; "
            "all rows need equally many"
        )
    flat = connection.execute(f"SELECT CAST(unnest({column}) AS DOUBLE) AS v FROM given").fetchnumpy()["v"]
    return np.ma.filled(flat, np.nan).reshape(len(lengths), -1)


def _column(connection: Connection, name: str) -> npt.NDArray[Any]:
    return connection.execute(f"SELECT {_quoted(name)} AS v FROM given").fetchnumpy()["v"]


def _select(connection: Connection, name: str) -> Connection:
    return connection.execute(f"SELECT {_quoted(name)} FROM given")


def _is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBER_TYPES


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def shrink_images(images: Pixels, size: int) -> Pixels:
    """Return rows of pixels of (n, h, w) or (n, h, w, colours), reduced to at most ``size`` a side."""
    n, height, width = images.shape[:3]
    if height > size or width > size:
        image = _pillow()
        side = (min(width, size), min(height, size))
        plain = images[..., 0] if images.shape[3:] == (1,) else images
        smaller = image.Resampling.BILINEAR
        images = np.array([np.asarray(image.fromarray(picture).resize(side, smaller)) for picture in plain])
    return images.reshape(n, -1)


def decode_images(blobs: Sequence[bytes | None], size: int) -> Pixels:
    """Return rows of RGB pixels of encoded images (JPEG, PNG, ...).

    All are resized to the height and width of the first, at most ``size``; proportions are not kept.
    """
    image = _pillow()
    rows: Pixels | None = None
    side = (0, 0)
    for i, blob in enumerate(blobs):
        try:
            with image.open(BytesIO(blob or b"")) as picture:
                if rows is None:
                    side = (min(picture.width, size), min(picture.height, size))
                    rows = np.empty((len(blobs), side[0] * side[1] * 3), dtype=np.uint8)
                picture.draft("RGB", side)  # a JPEG can be decoded at a fraction of its size
                rows[i] = np.asarray(picture.convert("RGB").resize(side, image.Resampling.BILINEAR)).ravel()
        except (OSError, ValueError, SyntaxError, image.DecompressionBombError):
            has = "no image" if not blob else "an image that cannot be decoded"
            raise BadInput(
                f"data.keys.rows: row {i} (the first is 0) holds {has}; fix or remove the row"
            ) from None
    return np.empty((0, 0), dtype=np.uint8) if rows is None else rows


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise BadInput("data.source: images need Pillow; run: pip install 'leakgauge[federated]'") from None
    return Image
