"""Make a paper's figures and tables again: one page, and one file of numbers beside the published ones."""

from collections.abc import Mapping
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import convert
from leakgauge.papers import reproduction_page
from leakgauge.papers.made import NUMBERS, Made, Reproduction
from leakgauge.papers.paper import Item, Scale, Scope, choose, find
from leakgauge.papers.playing import Stage
from leakgauge.runner import atomic, engines
from leakgauge.runner.run import Hands

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
    found = find(paper)
    items = choose(found, paper, only)
    engines.check(engine, workers, address)
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be a whole number in 0..2^63-1, got {seed}")
    stage = Stage(
        folder=default_folder(paper) if out is None else Path(out),
        scope=Scope(scale=convert(Scale, scale, "scale"), data=_data(data)),
        seed=seed,
        hands=Hands(engine=engine, workers=workers, address=address),
    )
    plans = {name: stage.plans(name, item) for name, item in items.items()}
    reproduction = Reproduction(
        name=paper,
        paper=found,
        scope=stage.scope,
        seed=seed,
        folder=stage.folder,
        command=_command(paper, only, stage.scope, seed),
        items=tuple(_make(name, item, stage, plans[name]) for name, item in items.items()),
    )
    atomic.write_json(reproduction.folder / NUMBERS, reproduction.to_json())
    reproduction_page.write(reproduction)
    return reproduction


def default_folder(paper: str) -> Path:
    """Return where a paper is reproduced unless told otherwise."""
    return Path("runs") / f"reproduce-{paper}"


def _make(name: str, item: Item, stage: Stage, plans: Mapping[str, str]) -> Made:
    played = stage.play(plans)
    return Made(name, item, played, item.show(played))


def _command(paper: str, only: str | None, scope: Scope, seed: int) -> str:
    item = f" --only {only}" if only else ""
    data = " --data DIR" if scope.data else ""
    other = "" if seed == SEED else f" --seed {seed}"
    return f"leakgauge reproduce {paper}{item} --scale {scope.scale}{data}{other}"


def _data(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = Path(folder)
    if not path.is_dir():
        raise BadInput(f"--data {path}: no such folder; name the one that holds the data sets")
    return path.resolve()
