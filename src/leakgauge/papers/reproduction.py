"""Reproduce a paper: run the plans of its items, and compare the results with the published numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.core.game import NoControl
from leakgauge.papers import reproduction_page, saved_item
from leakgauge.papers.metric_intervals import confidence_text
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
from leakgauge.plan import Plan, plan_of, to_toml
from leakgauge.runner import engines
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.support import files
from leakgauge.support.table_reader import convert_value
from leakgauge.verdict import Verdict

SEED = 20240501
NO_CONTROL = NoControl(reason="a reproduction compares with published numbers, and plays no control")


@dataclass(frozen=True, kw_only=True)
class ItemRunner:
    """Runs the plans of items in one folder; a run that several items share is run and judged once.

    ``fresh`` removes each of these runs that is in the folder and starts it over.
    """

    folder: Path
    scope: Scope
    seed: int
    engine: EngineOptions
    fresh: bool = False
    _judged: dict[str, tuple[Plan, tuple[Verdict, ...]]] = field(default_factory=dict, compare=False)

    def plans(self, name: str, item: PaperItem) -> dict[str, Plan]:
        """Build the plans of an item, by the names of their runs."""
        try:
            return {
                run.name: plan_of({"seed": self.seed + run.seed_offset, "audit": audits})
                for run in item.runs(name)
                if (audits := run.audits(self.scope))
            }
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None

    def play(self, plans: Mapping[str, Plan]) -> PlayedItem:
        """Run what is missing: the run ``name`` goes to ``runs/<name>-<scale>``."""
        verdicts = [verdict for name, plan in plans.items() for verdict in self._verdicts(name, plan)]
        return PlayedItem(scope=self.scope, verdicts=tuple(verdicts), plans=dict(plans))

    def _verdicts(self, name: str, plan: Plan) -> tuple[Verdict, ...]:
        if name not in self._judged or self._judged[name][0] != plan:
            folder = f"{name}-{self.scope.scale}"
            files.write_file(self.folder / "plans" / f"{folder}.toml", to_toml(plan).encode())
            fresh = self.fresh and name not in self._judged
            out = self.folder / "runs" / folder
            verdicts = run_plan(plan, out, self.engine, fresh=fresh, without_control=NO_CONTROL)
            self._judged[name] = plan, tuple(verdicts)
        return self._judged[name][1]


def reproduce(
    paper: str,
    *,
    only: str | None = None,
    scale: str = "quick",
    data: str | Path | None = None,
    out: str | Path | None = None,
    seed: int = SEED,
    fresh: bool = False,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> Reproduction:
    """Reproduce the figures and tables of a paper, or only the item ``only``.

    ``scale`` is "quick" or "full", ``data`` the folder of the data sets that some items need. The folder
    ``out`` (``runs/reproduce-<paper>`` by default) gets ``reproduction.html``, ``reproduction.json`` and
    the runs. Items of the same paper that the folder holds already stay in both files. If it was interrupted,
    the same call continues it; ``fresh`` removes the runs of these items that are in the folder and starts
    over.
    """
    declared = find_paper(convert_value(str, paper, "paper"))
    items = select_items(declared, paper, convert_value(str | None, only, "only"))
    engines.check_engine(engine, workers, address)
    seed, fresh = convert_value(int, seed, "seed"), convert_value(bool, fresh, "fresh")
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be a whole number in 0..2^63-1, got {seed}")
    runner = ItemRunner(
        folder=default_folder(paper) if out is None else files.path_argument(out, "out"),
        scope=Scope(scale=convert_value(Scale, scale, "scale"), data=_data_folder(data)),
        seed=seed,
        engine=EngineOptions(engine=engine, workers=workers, address=address),
        fresh=fresh,
    )
    plans = {name: runner.plans(name, item) for name, item in items.items()}
    before = saved_item.read_items(runner.folder, paper)
    reproduction = Reproduction(
        name=paper,
        paper=declared,
        scope=runner.scope,
        seed=seed,
        folder=runner.folder,
        command=_command(paper, only, runner.scope, seed),
        items=tuple(_reproduce_item(name, item, runner, plans[name]) for name, item in items.items()),
    )
    now = {item.name: _saved(reproduction, item) for item in reproduction.items}
    for item in now.values():
        saved_item.save_item(reproduction.folder, item)
    together = before | now
    order = [name for name in declared.items if name in together]
    shown = [together[name] for name in (*order, *(name for name in together if name not in order))]
    files.write_json(
        reproduction.folder / NUMBERS_FILE, {"cells": [cell for item in shown for cell in item.to_json()]}
    )
    reproduction_page.write_page(reproduction, shown)
    return reproduction


def default_folder(paper: str) -> Path:
    """Return the folder in which a paper is reproduced by default."""
    return Path("runs") / f"reproduce-{paper}"


def _reproduce_item(
    name: str, item: PaperItem, runner: ItemRunner, plans: Mapping[str, Plan]
) -> ReproducedItem:
    played = runner.play(plans)
    return ReproducedItem(name, item, played, item.show(played))


def _saved(reproduction: Reproduction, made: ReproducedItem) -> saved_item.SavedItem:
    return saved_item.SavedItem(
        paper=reproduction.name,
        name=made.name,
        title=made.item.title,
        about=made.item.about,
        scale=reproduction.scope.scale,
        seed=reproduction.seed,
        command=reproduction.command,
        rounds=made.played.rounds if made.played.verdicts else None,
        confidence=confidence_text(made.played.verdicts),
        notes=(*made.item.notes, *made.result.notes),
        cells=made.result.cells,
        charts=made.result.charts,
        plans={name: to_toml(plan) for name, plan in made.played.plans.items()},
    )


def _command(paper: str, only: str | None, scope: Scope, seed: int) -> str:
    item = f" --only {only}" if only else ""
    data = " --data DIR" if scope.data else ""
    other_seed = "" if seed == SEED else f" --seed {seed}"
    return f"leakgauge reproduce {paper}{item} --scale {scope.scale}{data}{other_seed}"


def _data_folder(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = files.path_argument(folder, "data")
    if not path.is_dir():
        raise BadInput(f"data: {path}: no such folder; name the one that holds the data sets")
    return path.resolve()
