"""The visits that the `data` table of a plan stands for: those of a file, or of a generated city."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.keeping import Kept, identity
from leakgauge.core.settings import read
from leakgauge.domains.locations.friends import WHERE as FRIENDS
from leakgauge.domains.locations.friends import read_friends
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.reading.files import digest_of, find
from leakgauge.domains.locations.reading.loaded import Loaded, Tally
from leakgauge.domains.locations.reading.table import Coordinates, FileTable


SYNTHETIC = "synthetic"

_loaded: Kept[Loaded] = Kept()


def load(table: Mapping[str, Any], folder: Path, seed: int) -> Loaded:
    """Read or generate the visits; files are looked for in ``folder``, and a seed decides a city.

    The last data sets are kept in memory, and given again while neither the table nor a file has changed.
    """
    said = {key: value for key, value in table.items() if key != "friends"}
    friends = table.get("friends")
    if friends is not None and not isinstance(friends, str):
        raise BadInput(f"{FRIENDS}: must be a CSV file with columns target and friend, got {friends!r}")
    source = said.pop("source", SYNTHETIC)
    if source == SYNTHETIC:
        city = read(City, said, "data")
        found = _loaded.once(("city", repr(city), seed), lambda: generate(city, seed))
    elif not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    else:
        found = _visits(read(FileTable, {"source": source, **said}, "data"), folder)
    return found if friends is None else _with_friends(found, folder / friends)


def _visits(table: FileTable, folder: Path) -> Loaded:
    from leakgauge.domains.locations.reading.visits import read_visits

    places = table.places.source if isinstance(table.places, Coordinates) else table.places
    files = find(table.source, folder, table.format, "data.source")
    if places is not None:
        files += find(places, folder, None, "data.places")
    key = (repr(table), *(identity(file) for file in files))
    return _loaded.once(key, lambda: read_visits(table, folder))


def _with_friends(found: Loaded, path: Path) -> Loaded:
    friends = read_friends(path, found.traces)
    return replace(found, friends=friends, digest=digest_of((path,), found.digest))
