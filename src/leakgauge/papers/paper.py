"""A paper with its figures and tables, and the result of reproducing them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeAlias

from leakgauge import papers
from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import Agreement, ComparedNumber
from leakgauge.plan import Plan
from leakgauge.report.page import Chart
from leakgauge.support.threads import single_threaded
from leakgauge.verdict import Verdict

NUMBERS_FILE, PAGE_FILE = "reproduction.json", "reproduction.html"
AuditTable: TypeAlias = dict[str, Any]  # one [[audit]] of a plan


class Scale(StrEnum):
    """How much is simulated."""

    QUICK = "quick"  # a minute at most
    FULL = "full"  # about as much as in the paper


@dataclass(frozen=True, kw_only=True)
class Scope:
    """How much of an item to simulate, and the folder of the data sets if one was given."""

    scale: Scale
    data: Path | None = None

    def need_data(self) -> Path:
        """Return the folder of the data sets, for an item that needs it."""
        if self.data is None:
            raise BadInput(
                "this item needs real data; name its folder (--data DIR, in Python data=...), or choose "
                "another item (--only, in Python only=...)"
            )
        return self.data


@dataclass(frozen=True, kw_only=True, eq=False)
class PlayedItem:
    """The verdicts of an item and the plans that produced them, by run; both empty for theory alone."""

    scope: Scope
    verdicts: tuple[Verdict, ...] = ()
    plans: Mapping[str, Plan] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Total number of rounds; the attackers of an audit share them."""
        return sum({verdict.audit: verdict.rounds for verdict in self.verdicts}.values())


@dataclass(frozen=True, eq=False)
class ItemResult:
    """Numbers of an item beside those of the paper, its charts, and notes on what was found."""

    cells: tuple[ComparedNumber, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """A plan that one or several items use, run once, into a folder of this name.

    ``audits`` returns the audits of the plan; without any at some scale, nothing is run. ``seed_offset`` is
    added to the seed, so that the same plan can be repeated with other data, targets and groups.
    """

    name: str
    audits: Callable[[Scope], list[AuditTable]]
    seed_offset: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperItem:
    """One figure or table.

    ``audits`` returns the audits to run for this item alone; ``shared_runs`` are used by other items too. An
    item of theory alone has neither. ``show`` turns the verdicts into numbers and charts. ``notes`` explain
    where we differ from the paper.
    """

    title: str
    about: str
    show: Callable[[PlayedItem], ItemResult]
    audits: Callable[[Scope], list[AuditTable]] | None = None
    shared_runs: tuple[PaperRun, ...] = ()
    notes: tuple[str, ...] = ()

    def runs(self, name: str) -> tuple[PaperRun, ...]:
        """Return all runs that the item of this name needs."""
        own = () if self.audits is None else (PaperRun(name=name, audits=self.audits),)
        return (*own, *self.shared_runs)


@dataclass(frozen=True, kw_only=True, eq=False)
class Paper:
    """A paper and its items by name, as in ``--only figure_6``.

    ``items`` says where each item is defined, as ``"module:NAME"`` in the package of the paper: a module is
    imported only when one of its items is needed. ``single_threaded`` items do not depend on how many cores
    there are.
    """

    package: str
    title: str
    authors: str
    year: int
    items: Mapping[str, str]
    single_threaded: bool = False

    def item(self, name: str) -> PaperItem:
        """Import one item."""
        module, _, attribute = self.items[name].partition(":")
        item: PaperItem = attrgetter(attribute)(import_module(f"{self.package}.{module}"))
        return _single_threaded(item) if self.single_threaded else item


def _single_threaded(item: PaperItem) -> PaperItem:
    def show(played: PlayedItem) -> ItemResult:
        with single_threaded():
            return item.show(played)

    return replace(item, show=show)


def paper_names() -> list[str]:
    """Return the short names of all papers, which are the packages here, without importing any."""
    return sorted(module.name for module in iter_modules(papers.__path__) if module.ispkg)


def find_paper(name: str) -> Paper:
    """Return a paper by its short name."""
    known = paper_names()
    if name not in known:
        raise BadInput(f"no paper is called {name!r}; {_suggestion(name, known, 'papers')}")
    paper: Paper = import_module(f"{papers.__name__}.{name}").PAPER
    return paper


def select_items(paper: Paper, name: str, only: str | None) -> dict[str, PaperItem]:
    """Import the items to reproduce: all of a paper, or only one."""
    if only is None:
        return {item: paper.item(item) for item in paper.items}
    if only not in paper.items:
        raise BadInput(f"{name}: no item is called {only!r}; {_suggestion(only, list(paper.items), 'items')}")
    return {only: paper.item(only)}


def _suggestion(name: str, known: Sequence[str], kind: str) -> str:
    near = get_close_matches(name.lower().replace(" ", "_"), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}{kind}: {', '.join(known)}"


@dataclass(frozen=True, eq=False)
class ReproducedItem:
    """One reproduced item."""

    name: str
    item: PaperItem
    played: PlayedItem
    result: ItemResult


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction:
    """The items of a paper that were reproduced in a folder; ``command`` repeats them."""

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
        return [cell for item in self.items for cell in item.result.cells]

    def count(self, agreement: Agreement) -> int:
        """How many numbers agree, differ, or cannot be compared."""
        return sum(cell.verdict is agreement for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers of these items, as in reproduction.json."""
        return {
            "cells": [cell.to_json(self.name, item.name) for item in self.items for cell in item.result.cells]
        }
