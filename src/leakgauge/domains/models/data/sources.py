"""The rows that the `data` table of a plan about models stands for."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import EncodedTable
from leakgauge.domains.models.data.preprocessing import data_source, prepare_table
from leakgauge.domains.models.data.published import adult, census, compas, heart, location30, student, texas
from leakgauge.domains.models.data.published_files import PublishedDataTable
from leakgauge.domains.models.data.synthetic import ModelsSyntheticDataTable, generate_mixture
from leakgauge.domains.models.data.user_file import ModelsFileDataTable, read_user_file
from leakgauge.support.cache import RecentCache, file_identity
from leakgauge.support.table_reader import read_dataclass

SYNTHETIC = "synthetic"
FOLDER_KEYS = ("folder", "adult")  # where files lie does not change what they hold
PUBLISHED: Mapping[str, type[PublishedDataTable]] = {
    "adult": adult.AdultDataTable,
    "census": census.CensusDataTable,
    "compas": compas.CompasDataTable,
    "heart": heart.HeartDataTable,
    "location30": location30.Location30DataTable,
    "student": student.StudentDataTable,
    "texas": texas.TexasDataTable,
}
_table_cache: RecentCache[EncodedTable] = RecentCache()


def load_table(table: Mapping[str, Any], folder: Path, seed: int) -> EncodedTable:
    """Read or generate the rows; files are looked for in ``folder``, and a seed decides what is random.

    The last data sets are kept in memory, and given again while neither the table nor a file has changed.
    """
    said = dict(table)
    name = said.pop("source", SYNTHETIC)
    if name == SYNTHETIC:
        generated = read_dataclass(ModelsSyntheticDataTable, said, "data")
        return _table_cache.once((generated, seed), lambda: generate_mixture(generated, seed))
    if not isinstance(name, str):
        raise BadInput(f"data.source: must be a file or one of {_known_sources()}, got {name!r}")
    if name in PUBLISHED:
        return _load_published(name, said, folder, seed)
    file = read_dataclass(ModelsFileDataTable, {"source": name, **said}, "data")
    path = folder / file.source
    if not path.is_file():
        raise BadInput(
            f"data.source: there is no file {name!r} in {folder}; check the path, or use one of {_known_sources()}"
        )
    return _table_cache.once((file, file_identity(path), seed), lambda: _load_file(file, path, seed))


def _load_file(table: ModelsFileDataTable, path: Path, seed: int) -> EncodedTable:
    sheet = read_user_file(table, path)
    origin = data_source(path.name, [path], repr(replace(table, source="")))
    return prepare_table(sheet, origin, table.duplicates, seed)


def _load_published(name: str, said: Mapping[str, Any], folder: Path, seed: int) -> EncodedTable:
    table = read_dataclass(PUBLISHED[name], said, "data")
    paths = table.files(folder)

    def make() -> EncodedTable:
        asked = {key: value for key, value in asdict(table).items() if key not in FOLDER_KEYS}
        origin = data_source(table.name, paths, f"{name} {asked!r}")
        return prepare_table(table.read(paths), origin, table.duplicates, seed)

    return _table_cache.once((name, table, *map(file_identity, paths), seed), make)


def _known_sources() -> str:
    return ", ".join([SYNTHETIC, *PUBLISHED])
