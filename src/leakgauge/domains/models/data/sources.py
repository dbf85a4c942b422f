"""Load the rows that the `data` table of a plan names: a file, a published data set, or generated rows."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import plan_tables
from leakgauge.domains.models.data import (
    dataset,
    preprocessing,
    published,
    published_files,
    user_file,
    user_records,
)
from leakgauge.support.cache import RecentCache, file_identity
from leakgauge.support.table_reader import read_dataclass

COMPONENT_GROUP = "component"
CONSTANTS_SOURCE = "constants"
SYNTHETIC = "synthetic"
FOLDER_KEYS = ("folder", "adult")  # the place of files does not change what they hold


def generate_mixture(table: plan_tables.ModelsSyntheticDataTable, seed: int) -> dataset.EncodedTable:
    """Draw the rows from the stream of the seed."""
    rng = stream(seed, Role.DATA, dataset.ROWS_STREAM)
    shape = (table.components, table.features)
    centres = table.distance * _unit(rng.standard_normal(shape))
    rules = rng.standard_normal((*shape, table.classes))
    if table.components > 1:
        rules -= rules.mean(axis=0)
    component = rng.permutation(np.arange(table.rows) % table.components)
    noise = rng.standard_normal((table.rows, table.features))
    labels = np.einsum("nd,ndc->nc", noise, rules[component]).argmax(axis=1)
    flipped = rng.random(table.rows) < table.flip
    labels = np.where(flipped, rng.integers(table.classes, size=table.rows), labels)
    classes, labels = np.unique(labels, return_inverse=True)
    rows = centres[component] + noise
    rows = (rows - rows.min(axis=0)) / (rows.max(axis=0) - rows.min(axis=0))
    note = (
        f"generated: {table.rows:,} rows of {table.features} features, {classes.size} classes, "
        f"{table.components} component{'s' if table.components > 1 else ''}"
    )
    return dataset.EncodedTable(
        rows=rows.astype(np.float32),
        labels=labels.astype(np.int64),
        classes=tuple(map(str, classes.tolist())),
        names=tuple(f"x{i}" for i in range(table.features)),
        digest=sha256(f"{table!r} {seed}".encode()).hexdigest(),
        groups={
            COMPONENT_GROUP: dataset.CategoricalColumn(
                component.astype(np.int64), tuple(map(str, range(table.components)))
            )
        },
        notes=(note,),
    )


def _unit(directions: Reals) -> Reals:
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def constant_components(table: plan_tables.ModelsConstantsDataTable, rows: int) -> dataset.EncodedTable:
    """A feature "value" and a group "component"; the classes do not matter here."""
    codes = np.repeat(np.arange(table.components), rows)
    values = codes / (table.components - 1)
    return dataset.EncodedTable(
        rows=values.astype(np.float32)[:, None],
        labels=(codes > 0).astype(np.int64),
        classes=("0", "1"),
        names=("value",),
        digest=sha256(f"{table!r} {rows}".encode()).hexdigest(),
        groups={
            COMPONENT_GROUP: dataset.CategoricalColumn(
                codes.astype(np.int64), tuple(map(str, range(table.components)))
            )
        },
        notes=(f"constants: {table.components} components, all records of one are the same",),
    )


_table_cache: RecentCache[dataset.EncodedTable] = RecentCache()


def published_names() -> list[str]:
    """Name the published data sets that can be read: the files in ``published/``.

    >>> published_names()
    ['adult', 'census', 'compas', 'heart', 'location30', 'student']
    """
    return sorted(
        module.name for module in iter_modules(published.__path__) if not module.name.startswith("_")
    )


def load_table(table: Mapping[str, Any], folder: Path, seed: int) -> dataset.EncodedTable:
    """Read or generate the rows; files are looked for in ``folder``, and the seed decides what is random.

    The most recent data sets stay in memory, and are reused while neither the table nor a file has changed.
    """
    parameters = dict(table)
    name = parameters.pop("source", SYNTHETIC)
    if name == SYNTHETIC:
        generated = read_dataclass(plan_tables.ModelsSyntheticDataTable, parameters, "data")
        return _table_cache.once((generated, seed), lambda: generate_mixture(generated, seed))
    if not isinstance(name, str):
        raise BadInput(f"data.source: must be a file or one of {_known_sources()}, got {name!r}")
    if name in published_names():
        return _load_published(name, parameters, folder, seed)
    if ":" in name and not (folder / name).exists():
        user = read_dataclass(plan_tables.ModelsCodeDataTable, parameters, "data")
        return user_records.load_records(name, user, folder)
    file = read_dataclass(plan_tables.ModelsFileDataTable, {"source": name, **parameters}, "data")
    path = folder / file.source
    if not path.is_file():
        raise BadInput(
            f"data.source: there is no file {name!r} in {folder}; check the path, or use one of "
            f"{_known_sources()}"
        )
    return _table_cache.once((file, file_identity(path), seed), lambda: _load_file(file, path, seed))


def _load_file(table: plan_tables.ModelsFileDataTable, path: Path, seed: int) -> dataset.EncodedTable:
    sheet = user_file.read_user_file(table, path)
    origin = preprocessing.data_source(path.name, [path], repr(replace(table, source="")))
    return preprocessing.prepare_table(sheet, origin, table.duplicates, seed)


def _load_published(
    name: str, parameters: Mapping[str, Any], folder: Path, seed: int
) -> dataset.EncodedTable:
    kind: type[published_files.PublishedDataTable] = import_module(f"{published.__name__}.{name}").DataTable
    table = read_dataclass(kind, parameters, "data")
    paths = table.files(folder)

    def read() -> dataset.EncodedTable:
        options = {key: value for key, value in asdict(table).items() if key not in FOLDER_KEYS}
        origin = preprocessing.data_source(table.name, paths, f"{name} {options!r}")
        return preprocessing.prepare_table(table.read(paths), origin, table.duplicates, seed)

    return _table_cache.once((name, table, *map(file_identity, paths), seed), read)


def _known_sources() -> str:
    return ", ".join([SYNTHETIC, *published_names()])
