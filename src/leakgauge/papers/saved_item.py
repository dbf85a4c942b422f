"""The reproduced items of a folder, one file each, so that items reproduced later are added to them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import ComparedNumber
from leakgauge.papers.paper import Scale
from leakgauge.report.page import Chart
from leakgauge.support import files
from leakgauge.support.table_reader import read_dataclass

FOLDER = "items"


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedItem:
    """All that the page shows of one item.

    ``rounds`` is the number of simulated releases, None for theory alone; ``confidence`` is that of the
    intervals. ``plans`` holds the plans that were run, as TOML, by the names of their runs.
    """

    paper: str
    name: str
    title: str
    about: str
    scale: Scale
    seed: int
    command: str
    rounds: int | None
    confidence: str
    notes: tuple[str, ...]
    cells: tuple[ComparedNumber, ...]
    charts: tuple[Chart, ...]
    plans: Mapping[str, str]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the cells of reproduction.json."""
        return [cell.to_json(self.paper, self.name) for cell in self.cells]


def save_item(folder: Path, item: SavedItem) -> None:
    """Write an item into the folder of a reproduction."""
    files.write_json(folder / FOLDER / f"{item.name}.json", asdict(item))


def read_items(folder: Path, paper: str) -> dict[str, SavedItem]:
    """Read the items that a folder holds, by name; they must be of this paper."""
    items = {path.stem: _read(path) for path in sorted((folder / FOLDER).glob("*.json"))}
    for item in items.values():
        if item.paper != paper:
            raise BadInput(f"{folder} holds a reproduction of {item.paper}; choose another --out")
    return items


def _read(path: Path) -> SavedItem:
    try:
        return read_dataclass(SavedItem, json.loads(path.read_text(encoding="utf-8")), str(path))
    except (ValueError, BadInput) as error:
        raise BadInput(f"{path}: not an item saved by this version ({error}); remove the file") from None
