"""What a paper's file says: its figures and tables, and how each is made again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.pages.page import Chart
from leakgauge.papers.comparison import Cell
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
class Played:
    """The verdicts of an item and, by run, the plans that give them again; neither, where theory is all."""

    scope: Scope
    verdicts: tuple[Verdict, ...] = ()
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Rounds in all; adversaries of an audit share them."""
        return sum({verdict.audit: verdict.rounds for verdict in self.verdicts}.values())


@dataclass(frozen=True, eq=False)
class Shown:
    """What an item comes to: numbers beside those of the paper, figures, and notes on what was found."""

    cells: tuple[Cell, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """Games that several items show: played once, into a folder that bears their name.

    A plan that is empty at some scale is not played. ``further`` is added to the seed: so the same game can
    be played again with data, targets and groups of its own.
    """

    name: str
    plan: Callable[[Scope], str]
    further: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Item:
    """One figure or table.

    ``plan`` writes the audits to play, as a plan file without its seed; ``shares`` are runs that other items
    show too. An item of theory alone has neither. ``show`` makes numbers and figures of their verdicts.
    ``notes`` say where we differ, and why.
    """

    title: str
    about: str
    show: Callable[[Played], Shown]
    plan: Callable[[Scope], str] | None = None
    shares: tuple[Run, ...] = ()
    notes: tuple[str, ...] = ()

    def runs(self, name: str) -> tuple[Run, ...]:
        """All that is to be played for the item of this name."""
        own = () if self.plan is None else (Run(name=name, plan=self.plan),)
        return (*own, *self.shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Paper:
    """A paper: what it is, and its items by name, as in ``--only figure_6``."""

    title: str
    authors: str
    year: int
    items: Mapping[str, Item]


def papers() -> dict[str, Paper]:
    """Return every paper there is: each file here that defines ``PAPER``, by the name of the file."""
    package = __name__.rpartition(".")[0]
    modules = {name: import_module(f"{package}.{name}") for name in catalog.names(package)}
    return {name: module.PAPER for name, module in modules.items() if hasattr(module, "PAPER")}


def find(name: str) -> Paper:
    """Return a paper by its short name."""
    known = papers()
    if name not in known:
        raise BadInput(f"no paper is called {name!r}; {_way_out(name, list(known), 'papers')}")
    return known[name]


def choose(paper: Paper, name: str, only: str | None) -> dict[str, Item]:
    """Return the items to make: all of a paper's, or the one that was asked for."""
    if only is None:
        return dict(paper.items)
    if only not in paper.items:
        raise BadInput(f"{name}: no item is called {only!r}; {_way_out(only, list(paper.items), 'items')}")
    return {only: paper.items[only]}


def _way_out(name: str, known: Sequence[str], kind: str) -> str:
    near = get_close_matches(name.lower().replace(" ", "_"), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}{kind}: {', '.join(known)}"
