"""Load the rows and labels that the `data` table of a plan describes, from a file or generated."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.data import row_files
from leakgauge.domains.federated.data.dataset import ROWS, FederatedDataset, RawRows
from leakgauge.domains.federated.plan_tables import FederatedFileTable, FederatedSyntheticTable
from leakgauge.support.cache import RecentCache, file_identity
from leakgauge.support.table_reader import read_dataclass

SYNTHETIC = "synthetic"


def generate_rows(table: FederatedSyntheticTable, seed: int) -> FederatedDataset:
    """Draw the rows from a Gaussian mixture."""
    rng = stream(seed, Role.DATA, ROWS)
    place = np.arange(table.features)
    deviation, between = 8.4 * (1 + place / 5) ** -0.57, 0.55 / (1 + place / 2)
    means = rng.standard_normal((table.classes, table.features))
    means -= means.mean(axis=0)
    means /= means.std(axis=0)  # there are at least two classes, so no standard deviation is 0
    labels = rng.permutation(np.arange(table.rows) % table.classes)
    rows = rng.standard_normal((table.rows, table.features), dtype=np.float32)
    rows *= (deviation * np.sqrt(1 - between)).astype(np.float32)
    rows += (deviation * np.sqrt(between) * means).astype(np.float32)[labels]
    return FederatedDataset(
        rows=rows,
        labels=labels,
        classes=tuple(map(str, range(table.classes))),
        digest=sha256(f"{table!r} {seed}".encode()).hexdigest(),
        seed=seed,
        scale=table.scale,
        non_negative=table.non_negative,
    )


_loaded: RecentCache[FederatedDataset] = RecentCache()


def encode_labels(labels: npt.NDArray[Any], name: str) -> tuple[Ints, tuple[str, ...]]:
    """Return the labels as codes 0, 1, ... of the sorted classes, and the names of the classes."""
    whole = _complete_column(labels, name, "a class: a whole number or a text")
    classes, codes = np.unique(whole, return_inverse=True)
    return codes.astype(np.int64), tuple(map(str, classes.tolist()))


def training_flags(train: npt.NDArray[Any], name: str) -> Bits:
    """Return which rows the model behind the embeddings was trained on."""
    rule = "true or false (or 1 or 0)"
    whole = _complete_column(train, name, rule)
    wrong = ~np.isin(whole, (0, 1))
    if whole.dtype.kind not in "biu" or wrong.any():
        row = int(wrong.argmax())
        raise BadInput(f"data.keys.train: row {row} (the first is 0) of {name!r} must be {rule}")
    return whole.astype(np.bool_)


def _complete_column(values: npt.NDArray[Any], name: str, rule: str) -> npt.NDArray[Any]:
    """Check that a column has one value per row, no missing values and no fractions."""
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


def load_rows(table: Mapping[str, Any], folder: Path, seed: int) -> FederatedDataset:
    """Read or generate the rows; file paths are relative to ``folder``.

    The last data sets are cached in memory, and reused while neither the table nor a file has changed.
    """
    parameters = dict(table)
    source = parameters.pop("source", SYNTHETIC)
    if source == SYNTHETIC:
        generated = read_dataclass(FederatedSyntheticTable, parameters, "data")
        return _loaded.once((generated, seed), lambda: generate_rows(generated, seed))
    if not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    file = read_dataclass(FederatedFileTable, {"source": source, **parameters}, "data")
    path = _existing_file(folder, file.source, "source")
    if file.reference is None:
        return _loaded.once((file, file_identity(path), seed), lambda: read_file(file, path, seed))
    other = _existing_file(folder, file.reference, "reference")
    return _loaded.once(
        (file, file_identity(path), file_identity(other), seed),
        lambda: join_reference(read_file(file, path, seed), _read_reference(file, other, seed)),
    )


def _read_reference(file: FederatedFileTable, path: Path, seed: int) -> FederatedDataset:
    try:
        return read_file(file, path, seed)
    except BadInput as error:
        raise BadInput(f"data.reference ({path.name}): {error}") from None


def _existing_file(folder: Path, name: str, key: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise BadInput(f"data.{key}: there is no file {name!r} in {folder}; check the path")
    return path


def join_reference(own: FederatedDataset, reference: FederatedDataset) -> FederatedDataset:
    """Join the rows of both files; those of the second are marked as the attacker's."""
    if own.rows.shape[1] != reference.rows.shape[1]:
        raise BadInput(
            f"data.reference: its rows have {reference.rows.shape[1]} values, those of source "
            f"{own.rows.shape[1]}; make both files in the same way"
        )
    classes = tuple(dict.fromkeys((*own.classes, *reference.classes)))
    codes = np.array([classes.index(name) for name in reference.classes], dtype=np.int64)
    return replace(
        own,
        rows=np.concatenate([own.rows, reference.rows]),
        labels=np.concatenate([own.labels, codes[reference.labels]]),
        classes=classes,
        digest=sha256(f"{own.digest} {reference.digest}".encode()).hexdigest(),
        is_train=None,
        given=np.arange(len(own) + len(reference)) >= len(own),
        notes=(*own.notes, *reference.notes),
    )


def read_file(table: FederatedFileTable, path: Path, seed: int) -> FederatedDataset:
    """Read a file of embeddings or images."""
    arrays = path.name.lower().endswith(".npz")
    if arrays and table.columns:
        raise BadInput('data.features: an .npz file has no columns; name its array: keys = { rows = "..." }')
    file_rows = row_files.read_npz(path, table.keys) if arrays else row_files.read_tabular(path, table)
    images = not isinstance(file_rows.rows, np.ndarray) or file_rows.rows.ndim > 2
    featurizer = table.featurizer(images=images)
    if not len(file_rows.rows):
        raise BadInput(f"data.source: {path.name} has no rows; add rows of clients and of the attacker")
    labels, classes = encode_labels(file_rows.labels, table.keys.labels)
    with path.open("rb") as content:  # the digest does not depend on the path
        identity = (
            f"{file_digest(content, 'sha256').hexdigest()}\n{replace(table, source='', reference=None)!r}"
        )
    rows = _decode_rows(file_rows, table.size)
    return FederatedDataset(
        rows=rows,
        labels=labels,
        classes=classes,
        digest=sha256(identity.encode()).hexdigest(),
        seed=seed,
        featurizer=featurizer,
        scale=table.scale,
        non_negative=table.non_negative,
        is_train=None
        if file_rows.train is None
        else training_flags(file_rows.train, table.keys.train or "is_train"),
        notes=(_file_note(path.name, rows, file_rows, len(classes), images=images),),
    )


def _decode_rows(file_rows: row_files.FileRows, size: int) -> RawRows:
    if isinstance(file_rows.rows, list):
        return row_files.decode_images(file_rows.rows, size)
    if file_rows.rows.ndim > 2:
        return row_files.shrink_images(file_rows.rows, size)
    with np.errstate(over="ignore"):  # values beyond single precision are refused later, with their row
        return file_rows.rows.astype(np.float32)


def _file_note(
    name: str, rows: RawRows, file_rows: row_files.FileRows, n_classes: int, *, images: bool
) -> str:
    what = "images" if images else "rows"
    of = f"{rows.shape[1]:,} {'pixel values' if images else 'numbers'}"
    named = f" ({file_rows.names[0]!r} to {file_rows.names[-1]!r})" if len(file_rows.names) > 1 else ""
    return f"{name}: {len(rows):,} {what} of {of}{named}, {n_classes} classes"
