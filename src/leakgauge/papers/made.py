"""A paper made again: what was played, what came of it, and how it compares."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakgauge.papers.comparison import Agreement, Cell
from leakgauge.papers.paper import Item, Paper, Played, Scope, Shown

NUMBERS, PAGE = "reproduction.json", "reproduction.html"


@dataclass(frozen=True, eq=False)
class Made:
    """One item made again."""

    name: str
    item: Item
    played: Played
    shown: Shown


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """A paper made again, in its folder; ``command`` makes it once more."""

    name: str
    paper: Paper
    scope: Scope
    seed: int
    folder: Path
    command: str
    items: tuple[Made, ...]

    @property
    def page(self) -> Path:
        return self.folder / PAGE

    @property
    def cells(self) -> list[Cell]:
        """All numbers, item by item."""
        return [cell for made in self.items for cell in made.shown.cells]

    def count(self, agreement: Agreement) -> int:
        """How many numbers agree, differ, or cannot be compared."""
        return sum(cell.verdict is agreement for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Return the content of reproduction.json."""
        return {
            "cells": [cell.to_json(self.name, made.name) for made in self.items for cell in made.shown.cells]
        }
