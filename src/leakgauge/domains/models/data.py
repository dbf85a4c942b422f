"""The rows that the `data` table of a plan about models stands for."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.keeping import Kept, identity
from leakgauge.core.settings import read
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.readers import adult, census, compas, heart, location30, student, texas
from leakgauge.domains.models.table.file_table import FileTable, read_sheet
from leakgauge.domains.models.table.generating import Generated, generate
from leakgauge.domains.models.table.preparing import prepared, source
from leakgauge.domains.models.table.published import Published


SYNTHETIC = "synthetic"
FOLDERS = ("folder", "adult")  # where files lie does not change what they hold
PUBLISHED: Mapping[str, type[Published]] = {
    "adult": adult.Table,
    "census": census.Table,
    "compas": compas.Table,
    "heart": heart.Table,
    "location30": location30.Table,
    "student": student.Table,
    "texas": texas.Table,
}
_loaded: Kept[Loaded] = Kept()


def load(table: Mapping[str, Any], folder: Path, seed: int) -> Loaded:
    """Read or generate the rows; files are looked for in ``folder``, and a seed decides what is random.

    The last data sets are kept in memory, and given again while neither the table nor a file has changed.
    """
    said = dict(table)
    name = said.pop("source", SYNTHETIC)
    if name == SYNTHETIC:
        generated = read(Generated, said, "data")
        return _loaded.once((generated, seed), lambda: generate(generated, seed))
    if not isinstance(name, str):
        raise BadInput(f"data.source: must be a file or one of {_known()}, got {name!r}")
    if name in PUBLISHED:
        return _published(name, said, folder, seed)
    file = read(FileTable, {"source": name, **said}, "data")
    path = folder / file.source
    if not path.is_file():
        raise BadInput(
            f"data.source: there is no file {name!r} in {folder}; check the path, or use one of {_known()}"
        )
    return _loaded.once((file, identity(path), seed), lambda: _file(file, path, seed))


def _file(table: FileTable, path: Path, seed: int) -> Loaded:
    sheet = read_sheet(table, path)
    origin = source(path.name, [path], repr(replace(table, source="")))
    return prepared(sheet, origin, table.duplicates, seed)


def _published(name: str, said: Mapping[str, Any], folder: Path, seed: int) -> Loaded:
    table = read(PUBLISHED[name], said, "data")
    paths = table.files(folder)

    def make() -> Loaded:
        asked = {key: value for key, value in asdict(table).items() if key not in FOLDERS}
        origin = source(table.name, paths, f"{name} {asked!r}")
        return prepared(table.read(paths), origin, table.duplicates, seed)

    return _loaded.once((name, table, *map(identity, paths), seed), make)


def _known() -> str:
    return ", ".join([SYNTHETIC, *PUBLISHED])
