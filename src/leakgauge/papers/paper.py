"""A paper, its figures and tables, and what comes of reproducing them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import Agreement, ComparedNumber
from leakgauge.report.page import Chart
from leakgauge.verdict import Verdict


class Scale(StrEnum):
    """How much is played."""

    QUICK = "quick"  # a minute at most
    FULL = "full"  # about as much as the paper did


@dataclass(frozen=True, kw_only=True)
class Scope:
    """How much of an item is wanted, and the folder of the data sets, if one was given."""

    scale: Scale
    data: Path | None = None

    def need_data(self) -> Path:
        """Return the folder of the data sets, for an item that cannot do without."""
        if self.data is None:
            raise BadInput(
                "this item needs real data; name its folder with --data DIR, or choose another --only"
            )
        return self.data


@dataclass(frozen=True, kw_only=True, eq=False)
class PlayedItem:
    """The verdicts of an item and, by run, the plans that give them again; neither, where theory is all."""

    scope: Scope
    verdicts: tuple[Verdict, ...] = ()
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Rounds in all; adversaries of an audit share them."""
        return sum({verdict.audit: verdict.rounds for verdict in self.verdicts}.values())


@dataclass(frozen=True, eq=False)
class ItemResult:
    """What an item comes to: numbers beside those of the paper, figures, and notes on what was found."""

    cells: tuple[ComparedNumber, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """Games that several items show: played once, into a folder that bears their name.

    A plan that is empty at some scale is not played. ``further`` is added to the seed: so the same game can
    be played again with data, targets and groups of its own.
    """

    name: str
    plan: Callable[[Scope], str]
    further: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperItem:
    """One figure or table.

    ``plan`` writes the audits to play, as a plan file without its seed; ``shares`` are runs that other items
    show too. An item of theory alone has neither. ``show`` makes numbers and figures of their verdicts.
    ``notes`` say where we differ, and why.
    """

    title: str
    about: str
    show: Callable[[PlayedItem], ItemResult]
    plan: Callable[[Scope], str] | None = None
    shares: tuple[PaperRun, ...] = ()
    notes: tuple[str, ...] = ()

    def runs(self, name: str) -> tuple[PaperRun, ...]:
        """All that is to be played for the item of this name."""
        own = () if self.plan is None else (PaperRun(name=name, plan=self.plan),)
        return (*own, *self.shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Paper:
    """A paper: what it is, and its items by name, as in ``--only figure_6``."""

    title: str
    authors: str
    year: int
    items: Mapping[str, PaperItem]


def all_papers() -> dict[str, Paper]:
    """Return every paper there is: each file here that defines ``PAPER``, by the name of the file."""
    package = __name__.rpartition(".")[0]
    modules = {name: import_module(f"{package}.{name}") for name in catalog.module_names(package)}
    return {name: module.PAPER for name, module in modules.items() if hasattr(module, "PAPER")}


def find_paper(name: str) -> Paper:
    """Return a paper by its short name."""
    known = all_papers()
    if name not in known:
        raise BadInput(f"no paper is called {name!r}; {_suggestion(name, list(known), 'papers')}")
    return known[name]


def select_items(paper: Paper, name: str, only: str | None) -> dict[str, PaperItem]:
    """Return the items to make: all of a paper's, or the one that was asked for."""
    if only is None:
        return dict(paper.items)
    if only not in paper.items:
        raise BadInput(f"{name}: no item is called {only!r}; {_suggestion(only, list(paper.items), 'items')}")
    return {only: paper.items[only]}


def _suggestion(name: str, known: Sequence[str], kind: str) -> str:
    near = get_close_matches(name.lower().replace(" ", "_"), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}{kind}: {', '.join(known)}"


NUMBERS_FILE, PAGE_FILE = "reproduction.json", "reproduction.html"


@dataclass(frozen=True, eq=False)
class ReproducedItem:
    """One item made again."""

    name: str
    item: PaperItem
    played: PlayedItem
    shown: ItemResult


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """A paper made again, in its folder; ``command`` makes it once more."""

    name: str
    paper: Paper
    scope: Scope
    seed: int
    folder: Path
    command: str
    items: tuple[ReproducedItem, ...]

    @property
    def page(self) -> Path:
        return self.folder / PAGE_FILE

    @property
    def cells(self) -> list[ComparedNumber]:
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
