"""What ``leakgauge.run`` and ``leakgauge.expose`` do with a plan, and the report on both."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from leakgauge.exposure import Exposed, expose_plan, read_summary, refuse_other_run, save
from leakgauge.plan import Plan, read_plan
from leakgauge.runner.judging import NAME as VERDICTS
from leakgauge.runner.judging import read_verdicts
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
    plan = _seeded(plan, seed)
    folder = Path(out) if out is not None else default_folder(plan)
    verdicts = carry_out(plan, folder, Hands(engine=engine, workers=workers, address=address))
    report(folder, verdicts)
    return verdicts


def expose(
    plan: str | Path | Plan, *, out: str | Path | None = None, seed: int | None = None
) -> list[Exposed]:
    """Compute how exposed every person of a plan's data is, without playing; one result per audit.

    With a folder ``out``, write ``exposure.csv`` (the only file with people in it, readable by its owner
    alone), ``exposure.json`` and ``exposure.html`` there, and the report of a run that is there anew.
    """
    plan = _seeded(plan, seed)
    if out is None:
        return expose_plan(plan)
    folder = Path(out)
    refuse_other_run(plan, folder)
    found = expose_plan(plan)
    summary = save(found, folder)

    from leakgauge.pages.exposure_page import write

    write(summary, folder / "exposure.html")
    if (folder / VERDICTS).exists():
        report(folder, read_verdicts(folder))
    return found


def default_folder(plan: Plan) -> Path:
    """Return where a plan is run unless told otherwise."""
    return Path("runs") / (plan.path.stem if plan.path else "plan")


def report(folder: Path, verdicts: Sequence[Verdict]) -> Path:
    """Write the report of a run folder."""
    from leakgauge.pages.report import write

    known = {**for_report(folder), "exposure": read_summary(folder)}
    return write(verdicts, known, folder / "report.html")


def _seeded(plan: str | Path | Plan, seed: int | None) -> Plan:
    if not isinstance(plan, Plan):
        return read_plan(plan, seed=seed)
    return plan if seed is None else replace(plan, seed=seed)
