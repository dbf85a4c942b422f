"""The public functions ``run``, ``expose`` and ``expose_log``, and the report they write."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakgauge.core.errors import BadInput
from leakgauge.exposure import (
    AuditExposure,
    expose_plan,
    expose_query_log,
    refuse_other_data,
    refuse_other_run,
    refuse_run,
    save_exposure,
)
from leakgauge.plan import Plan, plan_of, read_plan
from leakgauge.runner.dry_run import cost_line
from leakgauge.runner.engines import check_engine
from leakgauge.runner.manifest import report_fields
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.runner.run_verdicts import VERDICTS_FILE, judge_folder, read_exposure_summary
from leakgauge.summary import RunResult
from leakgauge.support.files import path_argument
from leakgauge.support.progress import announce
from leakgauge.support.table_reader import convert_value

if TYPE_CHECKING:
    from leakgauge.report.run_report import JudgedRun


def run(
    plan: str | Path | Plan | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    fresh: bool = False,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> RunResult:
    """Carry out a plan, or continue it; return one verdict per attacker, and a summary.

    A run that was interrupted is continued by the same call, and gives the same verdicts as one that was not.
    It is refused if the plan, the data, the code that decides the trials or a library version has changed.

    Args:
        plan: The path of a plan file, a `Plan`, or a dict of the same shape as a plan file. Files that a dict
            names are looked for in the current folder.
        out: The run folder, for the trials, `verdicts.json` and `report.html`. The default is
            `runs/<name of the plan>`: for a file called plan.toml the name of its folder, and `runs/plan` for
            a dict.
        seed: The seed of all random numbers, instead of the one in the plan.
        fresh: Removes the run that is in the folder, and starts over.
        engine: What runs the blocks: `local`, `dask` or `ray`.
        workers: How many blocks are run at the same time.
        address: The dask or ray cluster to use; without it one is started on this machine.

    Returns:
        A sequence with one verdict for each attack of each audit, in the order of the plan; its `summary`
        says whether the promise is kept, and whether the risk is within the limits of the plan.

    Raises:
        BadInput: If the plan, its data or the folder cannot be used; the message says what to change.
    """
    plan = as_plan(plan, seed)
    fresh = convert_value(bool, fresh, "fresh")
    folder = path_argument(out, "out") if out is not None else default_folder(plan)
    options = EngineOptions(engine=engine, workers=workers, address=address)
    check_engine(engine, workers, address)
    if line := cost_line(plan, options):
        announce(f"{line}; trainings that are finished are kept in the cache")
    verdicts = run_plan(plan, folder, options, fresh=fresh)
    write_report(folder, verdicts)
    return verdicts


def expose(
    plan: str | Path | Plan | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
) -> list[AuditExposure]:
    """Compute how exposed every person in the data of a plan is, without simulating any release.

    The numbers do not depend on the engine and its workers. A worker gets some people at a time, never all.

    Args:
        plan: The path of a plan file, a `Plan`, or a dict of the same shape as a plan file.
        out: A folder for `exposure.csv` (the only file that lists individuals, readable by its owner alone),
            `exposure.json` and `exposure.html`. The report of a run in that folder is written again and shows
            the exposure too. Without it nothing is written.
        seed: The seed of all random numbers, instead of the one in the plan.
        engine: What computes the numbers of people: `local`, `dask` or `ray`.
        workers: How many processes compute at the same time. Without it the cores of this machine are used by
            threads, unless another engine is chosen.
        address: The dask or ray cluster to use; without it one is started on this machine.

    Returns:
        One result for each audit whose data are about people.

    Raises:
        BadInput: If the plan, its data or the folder cannot be used; the message says what to change.
    """
    plan = as_plan(plan, seed)
    check_engine(engine, 1 if workers is None else workers, address)
    options = (
        None
        if engine == "local" and workers is None
        else EngineOptions(engine=engine, workers=workers or 1, address=address)
    )
    if out is None:
        return expose_plan(plan, options)
    folder = path_argument(out, "out")
    refuse_other_run(plan, folder)
    exposures = expose_plan(plan, options)
    refuse_other_data(exposures, folder)
    _write_exposure(exposures, folder, plan)
    if (folder / VERDICTS_FILE).exists():
        write_report(folder, judge_folder(folder))
    return exposures


def expose_log(
    query_log: str | Path,
    *,
    contains: str | Path | None = None,
    data: str | Path | None = None,
    id_column: str | None = None,
    delta: float | None = None,
    secret: str | None = None,
    out: str | Path | None = None,
) -> AuditExposure:
    """Compute how exposed every record is by the answers in a query log.

    Args:
        query_log: A file with one row per answered query: CSV, Parquet or JSON lines.
        contains: A file with one row (query, record) for each record of each query.
        data: The table that the predicates of the queries select from.
        id_column: The column of that table that identifies a record; `id` unless given.
        delta: The delta at which epsilon is stated for Gaussian noise; 1e-5 unless given.
        secret: A column of the table with two values. Where the log has a column `answer`, the exposure also
            says in which share of records an attacker reconstructs it who knows everything else.
        out: A folder for `exposure.csv` (the only file that lists individuals, readable by its owner alone),
            `exposure.json` and `exposure.html`. Without it nothing is written.

    Raises:
        BadInput: If a file or the folder cannot be used; the message says what to change.
    """
    folder = None if out is None else path_argument(out, "out")
    if folder is not None:
        refuse_run(folder)
    exposure = expose_query_log(
        path_argument(query_log, "query_log"),
        contains=None if contains is None else path_argument(contains, "contains"),
        data=None if data is None else path_argument(data, "data"),
        id_column=convert_value(str | None, id_column, "id_column"),
        delta=convert_value(float | None, delta, "delta"),
        secret=convert_value(str | None, secret, "secret"),
    )
    if folder is not None:
        _write_exposure([exposure], folder)
    return exposure


def default_folder(plan: Plan) -> Path:
    """Return the run folder of a plan: ``runs/<name of its file>``, or of its folder if that is plan.toml."""
    if plan.path is None:
        return Path("runs") / "plan"
    name = plan.path.resolve().parent.name if plan.path.name == "plan.toml" else plan.path.stem
    return Path("runs") / (name or "plan")


def write_report(
    folder: Path, result: RunResult, *, style: str = "html", incomplete: str | None = None
) -> Path:
    """Write the report of a run folder: as one HTML page, or as ``md``, ``csv`` or ``json``.

    ``incomplete`` says which rounds are missing from the folder, so that the result is an earlier one.
    """
    from leakgauge.report.run_report import write_run_report
    from leakgauge.report.text_formats import write_text_report

    run, path = judged_run(folder, result, incomplete), folder / f"report.{style}"
    if style == "html":
        return write_run_report(run.verdicts, run.manifest, path)
    return write_text_report(run, style, path)


def judged_run(folder: Path, result: RunResult, incomplete: str | None = None) -> "JudgedRun":
    """Return all that a report shows of a run folder."""
    from leakgauge.report.run_report import JudgedRun

    verdicts = folder / VERDICTS_FILE
    judged = (
        datetime.fromtimestamp(verdicts.stat().st_mtime, tz=UTC) if verdicts.exists() else datetime.now(UTC)
    )
    known = {
        **report_fields(folder),
        "exposure": read_exposure_summary(folder),
        "summary": result.summary,
        "incomplete": incomplete,
        "date": judged.date().isoformat(),
    }
    return JudgedRun(result, known)


def _write_exposure(exposures: Sequence[AuditExposure], folder: Path, plan: Plan | None = None) -> None:
    from leakgauge.report.sections.exposure import write_exposure_page

    write_exposure_page(save_exposure(exposures, folder, plan), folder / "exposure.html")


def as_plan(plan: str | Path | Plan | Mapping[str, Any], seed: int | None) -> Plan:
    """Return a plan from any of the forms in which a caller may give one."""
    if isinstance(plan, Plan):
        return plan if seed is None else replace(plan, seed=seed)
    if isinstance(plan, (str, Path, Mapping)):
        return plan_of(plan, seed=seed) if isinstance(plan, Mapping) else read_plan(plan, seed=seed)
    raise BadInput(
        f"plan: must be the path of a plan file, a Plan or a dict of its shape, got {type(plan).__name__}"
    )
