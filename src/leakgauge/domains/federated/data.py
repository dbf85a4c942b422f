"""The rows that the `data` table of a plan stands for: those of a file, or generated ones."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.keeping import Kept, identity
from leakgauge.core.settings import read
from leakgauge.domains.federated.arrays import read_arrays
from leakgauge.domains.federated.columns import read_columns
from leakgauge.domains.federated.featurizers import Raw
from leakgauge.domains.federated.file_table import FileTable, Found
from leakgauge.domains.federated.generating import Generated, generate
from leakgauge.domains.federated.images import decoded, shrunk
from leakgauge.domains.federated.labels import coded, marked
from leakgauge.domains.federated.loaded import Loaded


SYNTHETIC = "synthetic"
_loaded: Kept[Loaded] = Kept()


def load(table: Mapping[str, Any], folder: Path, seed: int) -> Loaded:
    """Read or generate the rows; files are looked for in ``folder``, and a seed decides what is random.

    The last data sets are kept in memory, and given again while neither the table nor a file has changed.
    """
    said = dict(table)
    source = said.pop("source", SYNTHETIC)
    if source == SYNTHETIC:
        generated = read(Generated, said, "data")
        return _loaded.once((generated, seed), lambda: generate(generated, seed))
    if not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    file = read(FileTable, {"source": source, **said}, "data")
    path = _found(folder, file.source, "source")
    if file.reference is None:
        return _loaded.once((file, identity(path), seed), lambda: read_file(file, path, seed))
    other = _found(folder, file.reference, "reference")
    return _loaded.once(
        (file, identity(path), identity(other), seed),
        lambda: joined(read_file(file, path, seed), _read_reference(file, other, seed)),
    )


def _read_reference(file: FileTable, path: Path, seed: int) -> Loaded:
    try:
        return read_file(file, path, seed)
    except BadInput as error:
        raise BadInput(f"data.reference ({path.name}): {error}") from None


def _found(folder: Path, name: str, key: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise BadInput(f"data.{key}: there is no file {name!r} in {folder}; check the path")
    return path


def joined(own: Loaded, reference: Loaded) -> Loaded:
    """The rows of both files, those of the second marked as the adversary's."""
    if own.rows.shape[1] != reference.rows.shape[1]:
        raise BadInput(
            f"data.reference: its rows have {reference.rows.shape[1]} values, those of source "
            f"{own.rows.shape[1]}; both must be made in the same way"
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


def read_file(table: FileTable, path: Path, seed: int) -> Loaded:
    """Read a file of embeddings or images."""
    arrays = path.name.lower().endswith(".npz")
    if arrays and table.columns:
        raise BadInput('data.features: an .npz file has no columns; name its array: keys = { rows = "..." }')
    found = read_arrays(path, table.keys) if arrays else read_columns(path, table)
    images = not isinstance(found.rows, np.ndarray) or found.rows.ndim > 2
    featurizer = table.featurizer(images=images)
    if not len(found.rows):
        raise BadInput(f"data.source: {path.name} has no rows; a game needs clients' and an adversary's")
    labels, classes = coded(found.labels, table.keys.labels)
    with path.open("rb") as content:  # where the file lies does not matter
        words = f"{file_digest(content, 'sha256').hexdigest()}\n{replace(table, source='', reference=None)!r}"
    rows = _rows(found, table.size)
    return Loaded(
        rows=rows,
        labels=labels,
        classes=classes,
        digest=sha256(words.encode()).hexdigest(),
        seed=seed,
        featurizer=featurizer,
        scale=table.scale,
        non_negative=table.non_negative,
        is_train=None if found.train is None else marked(found.train, table.keys.train or "is_train"),
        notes=(_note(path.name, rows, found, len(classes), images=images),),
    )


def _rows(found: Found, size: int) -> Raw:
    if isinstance(found.rows, list):
        return decoded(found.rows, size)
    if found.rows.ndim > 2:
        return shrunk(found.rows, size)
    with np.errstate(over="ignore"):  # what single precision cannot hold is refused with its row
        return found.rows.astype(np.float32)


def _note(name: str, rows: Raw, found: Found, n_classes: int, *, images: bool) -> str:
    what = "images" if images else "rows"
    of = f"{rows.shape[1]:,} {'pixel values' if images else 'numbers'}"
    named = f" ({found.names[0]!r} to {found.names[-1]!r})" if len(found.names) > 1 else ""
    return f"{name}: {len(rows):,} {what} of {of}{named}, {n_classes} classes"
