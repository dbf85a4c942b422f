"""The visits that the `data` table of a plan stands for: those of a file, or of a generated city."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import read
from leakgauge.domains.locations.friends import WHERE as FRIENDS
from leakgauge.domains.locations.friends import read_friends
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.reading.files import digest_of, find
from leakgauge.domains.locations.reading.loaded import Loaded, Tally
from leakgauge.domains.locations.reading.table import Coordinates, FileTable

__all__ = ["Loaded", "Tally", "load"]

SYNTHETIC = "synthetic"

_KEPT = 2  # data sets that a process keeps: the points of a sweep read their file once
_loaded: OrderedDict[Hashable, Loaded] = OrderedDict()


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
        found = _once(("city", repr(city), seed), lambda: generate(city, seed))
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
    key = (repr(table), *(_identity(file) for file in files))
    return _once(key, lambda: read_visits(table, folder))


def _with_friends(found: Loaded, path: Path) -> Loaded:
    friends = read_friends(path, found.traces)
    return replace(found, friends=friends, digest=digest_of((path,), found.digest))


def _identity(file: Path) -> tuple[str, int, int, int]:
    """What tells a file from another one, and from itself after a change."""
    about = file.stat()
    return str(file.resolve()), about.st_ino, about.st_size, about.st_mtime_ns


def _once(key: Hashable, make: Callable[[], Loaded]) -> Loaded:
    if key not in _loaded:
        while len(_loaded) >= _KEPT:  # before the new one takes up memory
            _loaded.popitem(last=False)
        _loaded[key] = make()
    _loaded.move_to_end(key)
    return _loaded[key]
