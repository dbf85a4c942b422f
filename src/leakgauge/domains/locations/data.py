"""The visits that the `data` table of a plan stands for: those of a file, or of a generated city."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import read
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.reading.loaded import Loaded, Tally
from leakgauge.domains.locations.reading.table import FileTable

__all__ = ["Loaded", "Tally", "load"]

SYNTHETIC = "synthetic"


def load(table: Mapping[str, Any], folder: Path, seed: int) -> Loaded:
    """Read or generate the visits; files are looked for in ``folder``, and a seed decides a city."""
    source = table.get("source", SYNTHETIC)
    if source == SYNTHETIC:
        return generate(read(City, {key: table[key] for key in table if key != "source"}, "data"), seed)
    if not isinstance(source, str):
        raise BadInput(f'data.source: must be a file, or "{SYNTHETIC}", got {source!r}')
    from leakgauge.domains.locations.reading.visits import read_visits

    return read_visits(read(FileTable, table, "data"), folder)
