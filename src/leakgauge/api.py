"""The public functions ``run``, ``expose``, ``expose_log``, ``bundle`` and ``verify``, and their reports."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize
from zipfile import is_zipfile

from leakgauge.core.domain import Domain, FrameAudit
from leakgauge.core.errors import ANOTHER_OUT, BadInput, IncompleteRun
from leakgauge.exposure import (
    AuditExposure,
    expose_plan,
    expose_query_log,
    refuse_other_data,
    refuse_other_run,
    refuse_run,
    save_exposure,
)
from leakgauge.limits import Limits, read_limits
from leakgauge.plan import Plan, plan_of, read_plan
from leakgauge.runner import bundle_zip, manifest, run_bundle
from leakgauge.runner.dry_run import cost_line
from leakgauge.runner.engines import check_engine
from leakgauge.runner.limited_process import LimitReached, call_limited
from leakgauge.runner.manifest import NAME as MANIFEST
from leakgauge.runner.manifest import report_fields
from leakgauge.runner.redaction import machine_folders
from leakgauge.runner.rollback import CONFORMANCE_FILE, EXPOSURE_FILE, VERDICTS_FILE
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.runner.run_bundle import Difference, differs_in_drawings_only
from leakgauge.runner.run_verdicts import gate_folder, judge_folder, read_exposure_summary
from leakgauge.summary import RunResult, result_from_json
from leakgauge.support.files import path_argument, require_writable
from leakgauge.support.frame_source import hold_frame
from leakgauge.support.progress import announce
from leakgauge.support.table_reader import convert_value, read_dataclass
from leakgauge.support.user_code import no_user_code

if TYPE_CHECKING:
    from leakgauge.report.judged_run import JudgedRun


def run(
    plan: str | Path | Plan | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    fresh: bool = False,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    memory: float | None = None,
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
        memory: How many GB the arrays of all workers on this machine may take; a quarter of what is free
            unless given. Rounds that do not fit are refused before the first one.

    Returns:
        A sequence with one verdict for each attack of each audit, in the order of the plan; its `summary`
        says whether the promise is kept, and whether the risk is within the limits of the plan.

    Raises:
        BadInput: If the plan, its data or the folder cannot be used; the message says what to change.
    """
    plan = as_plan(plan, seed)
    fresh = convert_value(bool, fresh, "fresh")
    folder = path_argument(out, "out") if out is not None else default_folder(plan)
    memory = convert_value(float | None, memory, "memory")
    if memory is not None and not memory > 0:
        raise BadInput(
            f"memory must be above 0 (in GB), got {memory:g}; leave it out for a quarter of what is free"
        )
    options = EngineOptions(engine=engine, workers=workers, address=address, memory=memory)
    check_engine(engine, workers, address)
    if line := cost_line(plan, options):
        announce(f"{line}; trainings that are finished are kept in the cache")
    verdicts = run_plan(plan, folder, options, fresh=fresh)
    write_report(folder, verdicts)
    return RunFolder(folder).attach(verdicts)


@dataclass(frozen=True, eq=False)
class RunFolder:
    """The folder of a run, from which its result is judged by other limits and its report is written."""

    path: Path

    def attach(self, result: RunResult) -> RunResult:
        """The same result with access to the folder."""
        return replace(result, judge_again=self.judge, manifest=self.manifest)

    def judge(self, limits: Limits) -> RunResult:
        """Judge the trials in the folder; nothing is written."""
        return self.attach(gate_folder(self.path, limits))

    def manifest(self, result: RunResult) -> Mapping[str, Any]:
        """What a report shows besides the verdicts."""
        return judged_run(self.path, result).manifest


def run_without_folder(plan: Plan, *, workers: int = 1) -> RunResult:
    """Carry out a plan in a temporary folder for the owner alone, which is removed with the result.

    It holds trials and no data: scores, and which targets were members, by number.
    """
    top = Path(mkdtemp(prefix="leakgauge-"))
    kept = RunFolder(top / "run")
    finalize(kept, rmtree, top, ignore_errors=True)
    try:
        return kept.attach(run_plan(plan, kept.path, EngineOptions(workers=workers)))
    except BaseException:
        rmtree(top, ignore_errors=True)
        raise


def run_frame_audit(
    domain: Domain,
    audit: FrameAudit,
    settings: Mapping[str, Any],
    *,
    seed: int,
    limits: Limits | Mapping[str, Any],
    workers: int,
    out: str | Path | None,
) -> RunResult:
    """Carry out the audit of a data frame; ``settings`` are the other entries of its table in a plan."""
    stated = limits if isinstance(limits, Limits) else read_limits(limits, "limits")
    table = {**settings, "domain": domain.name, "challenger": audit.challenger}
    with _held(audit.frame) as source:
        plan = plan_of({"seed": seed, "audit": [{**table, "data": {**audit.data, **source}}]})
        plan = replace(plan, limits=stated)
        if out is not None:
            return run(plan, out=out, workers=workers)
        check_engine("local", workers, None)
        return run_without_folder(plan, workers=workers)


@contextmanager
def _held(frame: Any) -> Iterator[dict[str, str]]:
    """Hold a frame while a plan reads it; nothing to hold where a file is named."""
    if frame is None:
        yield {}
        return
    with hold_frame(frame, "frame") as name:
        yield {"source": name}


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
    require_writable(folder)
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
        require_writable(folder)
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


_MOST_DIFFERENCES = 1000  # that are kept
# What reading the files of a bundle may raise if somebody changed them and made the hashes again.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    AssertionError,
)


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A zip file with all that others need to check a run.

    Attributes:
        path: The zip file.
        sha256: Its hash. Publish it beside the file.
        files: How many files are in it.
        left_out: What is not in it, and why.
        hidden: What is hidden in the files that are in it.
    """

    path: Path
    sha256: str
    files: int
    left_out: tuple[str, ...]
    hidden: tuple[str, ...]


def bundle(folder: str | Path, *, out: str | Path | None = None) -> Bundle:
    """Write one zip file with report, plan, code, verdicts and trials of a run, for others to check.

    Names of people and paths of files are hidden. `exposure.csv` and transcripts are left out. The same
    folder gives the same bytes. The verdicts are those of the run's own limits.

    Args:
        folder: A run folder with all its rounds.
        out: The zip file. The default is the name of the folder with `.zip`, beside the folder.

    Raises:
        BadInput: If the folder cannot be bundled, or would show what the plan hides; nothing is written.
    """
    source = path_argument(folder, "folder")
    path = _zip_path(source) if out is None else path_argument(out, "out")
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a zip file: {ANOTHER_OUT}")
    if path.exists() and not is_zipfile(path):
        raise BadInput(f"{path}: is there already and is no bundle; {ANOTHER_OUT}")
    with TemporaryDirectory(prefix="leakgauge-") as name, no_user_code():
        copy = Path(name)
        about, hidden = run_bundle.copy_redacted(source, copy)
        if path.exists() and run_bundle.digest_in_zip(path) != manifest.load(copy)["digest"]:
            raise BadInput(f"{path}: is there already and holds something else than this run; {ANOTHER_OUT}")
        result = judge_folder(copy)
        verdicts = source / VERDICTS_FILE
        seconds = (verdicts if verdicts.exists() else source / MANIFEST).stat().st_mtime
        run_bundle.set_judged_date(copy, seconds)
        write_report(copy, result)
        run_bundle.finish_copy(copy, about, datetime.fromtimestamp(seconds, tz=UTC).date().isoformat())
        members = run_bundle.bundle_members(copy, hidden, machine_folders(source, copy))
    digest = bundle_zip.write_zip(members, path)
    return Bundle(path=path, sha256=digest, files=len(members) + 1, **vars(about))


def _zip_path(folder: Path) -> Path:
    resolved = folder.resolve()
    return (folder if folder.name else resolved).with_name(f"{resolved.name or 'run'}.zip")


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a check of a bundle found.

    Attributes:
        files: How many files it has; their hashes agree.
        sha256: The hash of the zip file, to compare with what its owner published.
        verdicts: How many verdicts were judged again from the trials.
        differences: Where the bundle differs from what follows from its trials: the first thousand places.
        n_differences: In how many places it does.
        other_versions: Which versions differ from those that judged the bundle.
        obstacle: Why it could not be judged again; none where it was.
        stated: What decides the verdicts and is taken as the bundle states it, one text each.
        left_out: What its owner left out.
        transcripts: Whether some results rest on transcripts that are not in it.
        report_compared: Whether the report was written again and compared; not so with other versions, where
            the verdicts differ, or where its charts are not those that are drawn here.
        exposure: Whether it holds a summary of exposed people, which is taken as stated.
    """

    files: int = 0
    sha256: str
    verdicts: int = 0
    differences: tuple[Difference, ...] = ()
    n_differences: int = 0
    other_versions: tuple[str, ...] = ()
    obstacle: str | None = None
    stated: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    transcripts: bool = False
    report_compared: bool = False
    exposure: bool = False

    @property
    def not_compared(self) -> tuple[str, ...]:
        """The parts of the bundle that were not compared."""
        parts = {"exposure.json": self.exposure, "the transcripts": self.transcripts}
        parts["the report"] = not self.report_compared
        return tuple(part for part, left_out in parts.items() if left_out)

    @property
    def exit_code(self) -> int:
        """0: all agrees; 1: something differs; 3: a part was not compared, or a limit was reached."""
        if self.obstacle is not None:
            return 3
        return 1 if self.differences else 3 if self.not_compared else 0


def verify(path: str | Path) -> Verification:
    """Check a bundle: its hashes, and whether its verdicts and its report follow from its trials.

    No code of the bundle is run, no file outside of it is read, and no data or release are made. The check
    is ended after 60 s of CPU time or at 2 GB of memory.

    Args:
        path: A zip file that `bundle` wrote.

    Raises:
        BadInput: If it is no bundle, or a file in it is damaged, missing, changed or added.
    """
    path = path_argument(path, "path")
    try:
        return read_dataclass(
            Verification, call_limited(__name__, check_bundle.__name__, str(path)), "verify"
        )
    except LimitReached as limit:
        with path.open("rb") as file:
            return Verification(sha256=file_digest(file, "sha256").hexdigest(), obstacle=str(limit))


def check_bundle(place: str) -> dict[str, Any]:
    """Check a bundle without limits of time and memory; return the fields of a ``Verification``."""
    path = Path(place)
    members = bundle_zip.read_zip(path)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    found: dict[str, Any] = {"files": len(members) + 1, "sha256": digest}
    with TemporaryDirectory(prefix="leakgauge-") as name, no_user_code():
        copy = Path(name)
        try:
            about = run_bundle.read_about(members)
            run_bundle.unpack(members, copy)
            checked = _check_unpacked(copy, about)
        except IncompleteRun as error:
            return {**found, "obstacle": str(error)}
        except _DAMAGE as error:
            problem = f"a file in it is damaged ({type(error).__name__})"
            raise BadInput(f"{path}: {problem}; ask for the bundle again") from error
        except BadInput as error:
            raise BadInput(f"{path}: {str(error).replace(f'{copy}{os.sep}', '').replace(name, '')}") from None
    return {
        **found,
        **checked,
        "other_versions": run_bundle.other_versions(about),
        "left_out": list(map(str, about["left_out"])),
        "transcripts": CONFORMANCE_FILE in members,
        "exposure": EXPOSURE_FILE in members,
    }


def _check_unpacked(copy: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Judge an unpacked bundle again, and write its report again where the same versions wrote it."""
    stated, report = run_bundle.unpacked_differences(copy), copy / "report.html"
    found, differences = run_bundle.judge_again(copy)
    shown = report.read_bytes()
    compared = not differences and not run_bundle.other_versions(about)
    if compared:
        run_bundle.set_judged_date(copy, _noon(about["judged"]))
        again = write_report(copy, result_from_json(found)).read_bytes()
        compared = shown == again or not differs_in_drawings_only(shown, again)
        if compared and shown != again:
            text = "not the report of these verdicts"
            differences.append(Difference(where=report.name, field="text", stated=text, found="another text"))
    differences = [*stated, *differences]
    return {
        "verdicts": len(found["verdicts"]),
        "differences": [asdict(one) for one in differences[:_MOST_DIFFERENCES]],
        "n_differences": len(differences),
        "stated": run_bundle.taken_as_stated(copy, found),
        "report_compared": compared,
    }


def _noon(date: str) -> float:
    try:
        return datetime.fromisoformat(f"{date}T12:00:00+00:00").timestamp()
    except ValueError:
        raise BadInput("bundle.json is damaged; ask for the bundle again") from None


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
    from leakgauge.report.judged_run import JudgedRun

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
