"""Run a plan: from the plan to blocks of rounds, to files in a run folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from leakgauge.catalog import PreparedAudit, audit_error_context, prepare_audit
from leakgauge.core.errors import ANOTHER_OUT, START_OVER, BadInput, IncompleteRun, ReleaseLost
from leakgauge.core.game import PART_BYTES, NoControl, SizedRounds
from leakgauge.plan import Audit, Plan, Stop, plan_text
from leakgauge.runner import engines, manifest, resume
from leakgauge.runner.audit_metadata import AuditMetadata, metadata_of
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.code_digest import code_digests, library_versions, run_versions
from leakgauge.runner.early_stop import empty_sequence, load_block, require_block
from leakgauge.runner.engines import Engine
from leakgauge.runner.library_versions import VersionGuard
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.positive_control import control_stores, missing_controls, play_missing_controls
from leakgauge.runner.rollback import (
    EXPOSURE_FILES,
    PLAN_FILE,
    has_any_block,
    missing_folders,
    remove_run,
    rollback_on_bad_input,
)
from leakgauge.runner.run_verdicts import judge_run, read_exposure_summary, refuse_unjudgeable
from leakgauge.runner.status import audit_progress
from leakgauge.runner.worker_tasks import TaskMap, WorkerError
from leakgauge.summary import RunResult
from leakgauge.support import files
from leakgauge.support.free_memory import free_memory
from leakgauge.support.progress import Advance, listen_to_progress, progress_bar


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What runs the blocks: an engine, how many workers, and the address of a cluster."""

    engine: str = "local"
    workers: int = 1
    address: str | None = None
    memory: float | None = None  # in GB, for arrays of all workers here; a quarter of what is free if not set


ONE_WORKER = EngineOptions()


def run_plan(
    plan: Plan,
    folder: Path,
    options: EngineOptions = ONE_WORKER,
    *,
    fresh: bool = False,
    without_control: NoControl | None = None,
) -> RunResult:
    """Run the blocks of a plan that a run folder does not hold yet, judge it, and write ``verdicts.json``.

    Bad input leaves nothing behind, unless it is found after some blocks are complete. The same call
    continues a run that was stopped; its trials are the same as those of a run that was never stopped.
    ``fresh`` removes the run that is in the folder and starts over. ``without_control`` says why positive
    controls are left out, where nothing is decided by the run.
    """
    engines.check_engine(options.engine, options.workers, options.address)
    new, prepared = set_up_run(plan, options, without_control)
    with _open_run_folder(folder, new, fresh=fresh) as (run, content):
        command = manifest.how_to_continue(content, folder)
        rounds = sum(audit.rounds for audit in run.plan.audits)
        with (
            engines.open_engine(options.engine, options.workers, options.address) as engine,
            progress_bar(rounds) as advance,
        ):
            for audit in run.plan.audits:
                with _run_error_context(audit, command):
                    _play_audit(audit, run, folder, engine, advance, prepared.pop(audit.name, None))
        return judge_run(run, content, folder)


def set_up_run(
    plan: Plan, options: EngineOptions = ONE_WORKER, without_control: NoControl | None = None
) -> tuple[Manifest, dict[str, PreparedAudit]]:
    """Prepare every audit of a plan once, to find errors in the plan and what each audit promises.

    Many prepared audits may not fit into memory together, so only that of a plan with one audit is returned.
    """
    metadata, kept, audits = {}, {}, []
    for audit in plan.audits:
        prepared = prepare_audit(audit, plan)
        with audit_error_context(audit, plan):
            prepared.challenger.require_access()
            refuse_too_many_workers(prepared, options)
            refuse_too_many_rounds(audit, prepared)
            refuse_too_much_memory(prepared, options)
            metadata[audit.name] = metadata_of(prepared, without_control)
            refuse_unjudgeable(audit, metadata[audit.name], plan.limits)
        control = metadata[audit.name].control
        nothing = control is not None and control.none is not None and control.none.nothing_to_audit
        audits.append(replace(audit, rounds=0) if nothing else audit)
        if len(plan.audits) == 1:
            kept[audit.name] = prepared
    return _new_manifest(replace(plan, audits=tuple(audits)), metadata), kept


def _new_manifest(plan: Plan, metadata: dict[str, AuditMetadata]) -> Manifest:
    """Return the manifest of a new run; its digest covers the plan without rounds, the data and the code."""
    code = code_digests(plan.audits)
    return Manifest(
        plan=plan,
        metadata=metadata,
        code=code,
        versions=run_versions(plan.audits),
        digest=manifest.run_digest(plan, metadata, code),
    )


def refuse_too_many_workers(prepared: PreparedAudit, options: EngineOptions) -> None:
    """Refuse more workers than a challenger allows; a limited one runs on this machine only."""
    most = prepared.challenger.most_workers
    if most is not None and (options.workers > most or options.engine != "local"):
        raise BadInput(
            f"this audit can use at most {most} local worker, so that its limits on rate and total hold; "
            "leave out --workers and --engine (in Python: workers and engine)"
        )


def refuse_too_many_rounds(audit: Audit, prepared: PreparedAudit) -> None:
    """Refuse more rounds than a challenger has releases."""
    most = prepared.challenger.most_rounds
    if most is not None and audit.rounds > most:
        raise BadInput(
            f"rounds: this audit has only {most} release, got {audit.rounds}; write rounds = {most}"
        )


def refuse_too_much_memory(prepared: PreparedAudit, options: EngineOptions) -> None:
    """Refuse rounds of which even one does not fit into memory; more of them are played in parts."""
    challenger = prepared.challenger
    if not isinstance(challenger, SizedRounds):
        return
    workers = options.workers if options.engine == "local" else 1
    needed = max(PART_BYTES, challenger.round_bytes) * workers
    allowed = free_memory() / 4 if options.memory is None else options.memory * 1e9
    if challenger.round_bytes > PART_BYTES and needed > allowed:
        raise BadInput(
            f"one round takes about {challenger.round_bytes / 1e9:.2g} GB in each worker, "
            f"{needed / 1e9:.2g} GB in all, and {allowed / 1e9:.2g} GB may be used (a quarter of the free "
            "memory, or --memory GB); "
            "use fewer workers, or count fewer places or longer periods"
        )


@contextmanager
def _open_run_folder(
    folder: Path, new: Manifest, *, fresh: bool
) -> Iterator[tuple[Manifest, dict[str, Any]]]:
    """Lock a run folder that is new, or that holds this run; yield its manifest, also as the file has it."""
    try:
        inside = {path.name for path in folder.iterdir()} if folder.exists() else set()
        foreign = {
            name for name in inside if name not in files.LOCK_NAMES and not files.is_partial_file(name)
        }
        foreign -= EXPOSURE_FILES
        if foreign and manifest.NAME not in inside:
            raise BadInput(f"{folder}: not empty and not a run folder; {ANOTHER_OUT}")
        created = missing_folders(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be a run folder ({error.strerror}); {ANOTHER_OUT}") from None
    with files.lock_folder(folder), rollback_on_bad_input(folder, inside, created):
        stored = manifest.load(folder) if (folder / manifest.NAME).exists() else None
        files.remove_partial_files(folder)
        if fresh:
            remove_run(folder)
            if stored is not None and stored["digest"] == new.digest:
                # the same trials again: what was seen of them stays seen
                new = replace(new, looks=manifest.from_json(stored, folder).looks)
        # a run without a single block may be replaced
        run = new if stored is None or not has_any_block(folder) else _continued_run(stored, new, folder)
        if exposure := read_exposure_summary(folder):
            resume.refuse_other_exposure(exposure, run, folder)
        manifest.write(run, folder)
        private = manifest.names_people(run.plan)
        files.write_file(folder / PLAN_FILE, plan_text(run.plan).encode(), private=private)
        yield run, manifest.load(folder)


def _continued_run(content: dict[str, Any], new: Manifest, folder: Path) -> Manifest:
    """Return the run in a folder with the rounds of the new plan; refuse blocks that would not belong to it.

    A run that is complete is judged by any code: there is no block to add.
    """
    stored = manifest.from_json(content, folder)
    resume.refuse_different_run(stored, new, folder)
    run = replace(stored, plan=new.plan)
    obstacle = resume.continuation_obstacle(run, folder)
    if obstacle and not all(audit_progress(audit, run, folder).complete for audit in run.plan.audits):
        raise BadInput(f"{folder} cannot be continued: {obstacle}; or {START_OVER}, or {ANOTHER_OUT}")
    return run


def _play_audit(
    audit: Audit,
    run: Manifest,
    folder: Path,
    engine: Engine,
    advance: Advance,
    prepared: PreparedAudit | None,
) -> None:
    """Run and save the positive control and every block that has no file.

    An audit that may stop early ends when it is decided.
    """
    versions = library_versions(audit)
    stores, sequence = run.stores(folder, audit, versions), empty_sequence(audit, run)
    run_blocks: TaskMap | None = None
    show_message = partial(_advance_with_message, advance, audit.name)
    if missing_controls(control_stores(audit, run, folder)):
        prepared = prepared or _prepare_again(audit, run)
        with listen_to_progress(show_message):
            play_missing_controls(audit, prepared, run, folder, engine, show_message)
    for batch in _block_batches(audit, engine.workers):
        missing = [block for block in batch if load_block(stores, block) is None]
        advance(audit.name, sum(len(block.rounds) for block in batch if block not in missing))
        if missing and run_blocks is None:
            prepared = prepared or _prepare_again(audit, run)
            with listen_to_progress(show_message):
                play_block = study_attacks(prepared, run.plan.seed, engine, show_message)
                run_blocks = engine.load_task(VersionGuard(play_block, versions))
        with listen_to_progress(show_message):
            for position, trials in run_blocks(missing) if run_blocks and missing else ():
                for label, store in stores.items():
                    store.save(missing[position], trials[label])
                advance(audit.name, len(missing[position].rounds))
        if audit.stop is Stop.DECIDED and any(sequence.add(require_block(stores, block)) for block in batch):
            return


def _prepare_again(audit: Audit, run: Manifest) -> PreparedAudit:
    prepared = prepare_audit(audit, run.plan)
    if prepared.digest != run.metadata[audit.name].data:
        raise BadInput("the data changed while the run was starting; start it again")
    return prepared


def _advance_with_message(advance: Advance, audit: str, message: str) -> None:
    advance(f"{audit}: {message}", 0)


def _block_batches(audit: Audit, width: int) -> list[list[RoundBlock]]:
    """Return all blocks at once, or, where each may be the last, as many at a time as there are workers."""
    blocks = split_rounds(audit.rounds, audit.block)
    if audit.stop is Stop.ROUNDS:
        return [blocks]
    return [blocks[first : first + width] for first in range(0, len(blocks), width)]


@contextmanager
def _run_error_context(audit: Audit, command: str) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise BadInput(f"audit {audit.name!r}: {error}") from error
    except (ReleaseLost, IncompleteRun) as error:
        raise IncompleteRun(
            f"audit {audit.name!r}: {error}; finished blocks are kept: continue with: {command}"
        ) from None
    except Exception as error:
        problem = str(error) if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
        raise IncompleteRun(
            f"audit {audit.name!r} ended with {problem}; finished blocks are kept: fix it, then continue "
            f"with: {command}"
        ) from error
