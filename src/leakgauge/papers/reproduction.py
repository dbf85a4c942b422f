"""Reproduce a paper: play the plans of its items, write a page and a file of numbers beside the published."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.papers import reproduction_page
from leakgauge.papers.paper import (
    NUMBERS_FILE,
    PaperItem,
    PlayedItem,
    ReproducedItem,
    Reproduction,
    Scale,
    Scope,
    find_paper,
    select_items,
)
from leakgauge.plan import read_plan
from leakgauge.runner import engines
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.support import files
from leakgauge.support.table_reader import convert_value
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class ItemPlayer:
    """Where and how items are played; what several items share is played and judged once."""

    folder: Path
    scope: Scope
    seed: int
    hands: EngineOptions
    _judged: dict[tuple[str, str], tuple[Verdict, ...]] = field(default_factory=dict, compare=False)

    def plans(self, name: str, item: PaperItem) -> dict[str, str]:
        """Write the plans of an item, in memory, by the names of their runs."""
        try:
            return {
                run.name: f"seed = {self.seed + run.further}\n{plan}"
                for run in item.runs(name)
                if (plan := run.plan(self.scope))
            }
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None

    def play(self, plans: Mapping[str, str]) -> PlayedItem:
        """Play what is missing: ``plans/<run>-<scale>.toml`` into ``runs/<run>-<scale>``."""
        verdicts = [verdict for name, plan in plans.items() for verdict in self._verdicts(name, plan)]
        return PlayedItem(scope=self.scope, verdicts=tuple(verdicts), plans=dict(plans))

    def _verdicts(self, name: str, plan: str) -> tuple[Verdict, ...]:
        if (name, plan) not in self._judged:
            place = f"{name}-{self.scope.scale}"
            path = self.folder / "plans" / f"{place}.toml"
            files.write_file(path, plan.encode())
            found = run_plan(read_plan(path), self.folder / "runs" / place, self.hands)
            self._judged[name, plan] = tuple(found)
        return self._judged[name, plan]


SEED = 20240501


def reproduce(
    paper: str,
    *,
    only: str | None = None,
    scale: str = "quick",
    data: str | Path | None = None,
    out: str | Path | None = None,
    seed: int = SEED,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> Reproduction:
    """Make the figures and tables of a paper again, or only the item ``only``.

    ``scale`` is "quick" or "full", ``data`` the folder of the data sets that some items need. The folder
    ``out`` (``runs/reproduce-<paper>`` unless given) gets ``reproduction.html``, ``reproduction.json`` and
    the runs, which the same call continues if it was stopped.
    """
    found = find_paper(paper)
    items = select_items(found, paper, only)
    engines.check_engine(engine, workers, address)
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be a whole number in 0..2^63-1, got {seed}")
    stage = ItemPlayer(
        folder=default_folder(paper) if out is None else Path(out),
        scope=Scope(scale=convert_value(Scale, scale, "scale"), data=_data_folder(data)),
        seed=seed,
        hands=EngineOptions(engine=engine, workers=workers, address=address),
    )
    plans = {name: stage.plans(name, item) for name, item in items.items()}
    reproduction = Reproduction(
        name=paper,
        paper=found,
        scope=stage.scope,
        seed=seed,
        folder=stage.folder,
        command=_command(paper, only, stage.scope, seed),
        items=tuple(_reproduce_item(name, item, stage, plans[name]) for name, item in items.items()),
    )
    files.write_json(reproduction.folder / NUMBERS_FILE, reproduction.to_json())
    reproduction_page.write_page(reproduction)
    return reproduction


def default_folder(paper: str) -> Path:
    """Return where a paper is reproduced unless told otherwise."""
    return Path("runs") / f"reproduce-{paper}"


def _reproduce_item(
    name: str, item: PaperItem, stage: ItemPlayer, plans: Mapping[str, str]
) -> ReproducedItem:
    played = stage.play(plans)
    return ReproducedItem(name, item, played, item.show(played))


def _command(paper: str, only: str | None, scope: Scope, seed: int) -> str:
    item = f" --only {only}" if only else ""
    data = " --data DIR" if scope.data else ""
    other = "" if seed == SEED else f" --seed {seed}"
    return f"leakgauge reproduce {paper}{item} --scale {scope.scale}{data}{other}"


def _data_folder(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = Path(folder)
    if not path.is_dir():
        raise BadInput(f"--data {path}: no such folder; name the one that holds the data sets")
    return path.resolve()
