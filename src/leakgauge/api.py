"""What ``leakgauge.run`` and ``leakgauge.expose`` do with a plan or a query log, and the report on both."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.files import DEFAULT_DELTA, QueryLogFiles
from leakgauge.exposure import (
    AuditExposure,
    expose_log,
    expose_plan,
    read_summary,
    refuse_other_run,
    refuse_run,
    save_exposure,
)
from leakgauge.plan import Plan, read_plan
from leakgauge.runner.manifest import report_fields
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.runner.run_verdicts import VERDICTS_FILE as VERDICTS
from leakgauge.runner.run_verdicts import read_verdicts
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
    it holds the blocks, ``verdicts.json`` and ``write_report.html``. ``seed`` overrides that of a file.
    """
    plan = _plan_with_seed(plan, seed)
    folder = Path(out) if out is not None else default_folder(plan)
    verdicts = run_plan(plan, folder, EngineOptions(engine=engine, workers=workers, address=address))
    write_report(folder, verdicts)
    return verdicts


def expose(
    plan: str | Path | Plan | None = None,
    *,
    query_log: str | Path | None = None,
    contains: str | Path | None = None,
    data: str | Path | None = None,
    id_column: str | None = None,
    delta: float | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
) -> list[AuditExposure]:
    """Compute how exposed every person of a plan's data is, without playing; one result per audit.

    Or, given a ``query_log`` instead of a plan, how exposed every record is by the answers in it.
    ``contains`` is a file that says which query contains which record, ``data`` the table that predicates
    select from, with its ``id_column``; ``delta`` is for Gaussian answers.

    With a folder ``out``, write ``exposure.csv`` (the only file with people in it, readable by its owner
    alone), ``exposure.json`` and ``exposure.html`` there, and the report of a run that is there anew.
    """
    about_log = {"contains": contains, "data": data, "id_column": id_column, "delta": delta}
    if query_log is None:
        if said := [name for name, value in about_log.items() if value is not None]:
            raise BadInput(f"{said[0]} is of a query log; give query_log too, or leave it out")
        if plan is None:
            raise BadInput("nothing to expose: give a plan, or a query_log")
        return _expose_plan(_plan_with_seed(plan, seed), out)
    if plan is not None or seed is not None:
        raise BadInput("a query log is exposed without a plan and a seed; leave them out")
    places = [None if place is None else Path(place) for place in (contains, data)]
    files = QueryLogFiles(Path(query_log), places[0], places[1], id_column)
    if out is not None:
        refuse_run(Path(out))
    found = [expose_log(files, DEFAULT_DELTA if delta is None else delta)]
    if out is not None:
        _write_exposure(found, Path(out))
    return found


def _expose_plan(plan: Plan, out: str | Path | None) -> list[AuditExposure]:
    if out is None:
        return expose_plan(plan)
    folder = Path(out)
    refuse_other_run(plan, folder)
    found = expose_plan(plan)
    _write_exposure(found, folder)
    if (folder / VERDICTS).exists():
        write_report(folder, read_verdicts(folder))
    return found


def _write_exposure(found: Sequence[AuditExposure], folder: Path) -> None:
    from leakgauge.report.sections.exposure import write_exposure_page

    write_exposure_page(save_exposure(found, folder), folder / "exposure.html")


def default_folder(plan: Plan) -> Path:
    """Return where a plan is run unless told otherwise."""
    return Path("runs") / (plan.path.stem if plan.path else "plan")


def write_report(folder: Path, verdicts: Sequence[Verdict]) -> Path:
    """Write the report of a run folder."""
    from leakgauge.report.run_report import write_run_report

    known = {**report_fields(folder), "exposure": read_summary(folder)}
    return write_run_report(verdicts, known, folder / "report.html")


def _plan_with_seed(plan: str | Path | Plan, seed: int | None) -> Plan:
    if not isinstance(plan, Plan):
        return read_plan(plan, seed=seed)
    return plan if seed is None else replace(plan, seed=seed)
