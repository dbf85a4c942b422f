"""What ``leakgauge.run`` does: carry out a plan, and write its report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from leakgauge.plan import Plan, read_plan
from leakgauge.runner.manifest import for_report
from leakgauge.runner.run import Hands, carry_out
from leakgauge.verdict import Verdict


def run(
    plan: str | Path | Plan,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> list[Verdict]:
    """Carry out a plan, or continue it; return one verdict per adversary.

    ``plan`` is a file or a ``Plan``. ``out`` is the run folder, ``runs/<name of the plan>`` unless given;
    it holds the blocks, ``verdicts.json`` and ``report.html``. ``seed`` overrides that of a file.
    """
    if not isinstance(plan, Plan):
        plan = read_plan(plan, seed=seed)
    elif seed is not None:
        plan = replace(plan, seed=seed)
    folder = Path(out) if out is not None else default_folder(plan)
    verdicts = carry_out(plan, folder, Hands(engine=engine, workers=workers, address=address))
    report(folder, verdicts)
    return verdicts


def default_folder(plan: Plan) -> Path:
    """Return where a plan is run unless told otherwise."""
    return Path("runs") / (plan.path.stem if plan.path else "plan")


def report(folder: Path, verdicts: Sequence[Verdict]) -> Path:
    """Write the report of a run folder."""
    from leakgauge.pages.report import write

    return write(verdicts, for_report(folder), folder / "report.html")
