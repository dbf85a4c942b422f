"""A plan -> blocks -> files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leakgauge.catalog import PreparedAudit, audit_error_context, prepare_audit
from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.plan import Audit, Plan, Stop, plan_text
from leakgauge.runner import engines, manifest
from leakgauge.runner.audit_facts import facts_of
from leakgauge.runner.block_store import RoundBlock, split_rounds
from leakgauge.runner.code_digest import package_digest
from leakgauge.runner.early_stop import empty_sequence, load_block, require_block
from leakgauge.runner.engines import Engine, TaskMap
from leakgauge.runner.manifest import Manifest, make_manifest
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.rollback import PLAN_FILE, has_any_block, missing_folders, rollback_on_bad_input
from leakgauge.runner.run_verdicts import judge_run, refuse_unjudgeable
from leakgauge.runner.worker_tasks import WorkerError
from leakgauge.support import files
from leakgauge.support.progress import Advance, listen_to_progress, progress_bar
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Who plays: an engine by name, how many workers, and where, if not on this machine."""

    engine: str = "local"
    workers: int = 1
    address: str | None = None


ONE_WORKER = EngineOptions()


def run_plan(plan: Plan, folder: Path, hands: EngineOptions | None = None) -> list[Verdict]:
    """Play what a run folder lacks of a plan, judge it, and write ``verdicts.json``.

    Bad input leaves nothing behind, unless it shows after blocks were played. A run that was stopped, in
    whatever way, is continued by the same call; the trials are the same as those of a run that never stopped.
    """
    hands = hands or ONE_WORKER
    engines.check_engine(hands.engine, hands.workers, hands.address)
    run, games = set_up_run(plan, hands)
    with _open_run_folder(folder, run) as content:
        way_on = manifest.how_to_continue(content, folder)
        rounds = sum(audit.rounds for audit in plan.audits)
        with (
            engines.open_engine(hands.engine, hands.workers, hands.address) as engine,
            progress_bar(rounds) as advance,
        ):
            for audit in plan.audits:
                with _run_error_context(audit, way_on):
                    _play_audit(audit, run, folder, engine, advance, games.pop(audit.name, None))
        return judge_run(run, content, folder)


def set_up_run(plan: Plan, hands: EngineOptions = ONE_WORKER) -> tuple[Manifest, dict[str, PreparedAudit]]:
    """Set up every game of a plan once, to find what is wrong with it and what it promises.

    Many games may not fit into memory side by side, so only that of a single audit is kept.
    """
    facts, games = {}, {}
    for audit in plan.audits:
        game = prepare_audit(audit, plan)
        with audit_error_context(audit, plan):
            refuse_too_many_workers(game, hands)
            refuse_too_many_rounds(audit, game)
            facts[audit.name] = facts_of(game)
            refuse_unjudgeable(audit, facts[audit.name])
        if len(plan.audits) == 1:
            games[audit.name] = game
    return make_manifest(plan, facts, package_digest()), games


def refuse_too_many_workers(game: PreparedAudit, hands: EngineOptions) -> None:
    """Refuse more workers than a challenger allows; one that allows a single one is played right here."""
    most = game.challenger.most_workers
    if most is not None and (hands.workers > most or hands.engine != "local"):
        raise BadInput(
            f"at most {most} local worker may play this: it keeps to the service's rate and total; leave out "
            "--workers and --engine"
        )


def refuse_too_many_rounds(audit: Audit, game: PreparedAudit) -> None:
    """Refuse more rounds than a challenger has releases."""
    most = game.challenger.most_rounds
    if most is not None and audit.rounds > most:
        raise BadInput(
            f"rounds: there is {most} release of this model and no more, got {audit.rounds}; write "
            f"rounds = {most}"
        )


@contextmanager
def _open_run_folder(folder: Path, run: Manifest) -> Iterator[dict[str, Any]]:
    """Hold a run folder that is new, or that holds this run; yield the content of its manifest."""
    try:
        inside = {path.name for path in folder.iterdir()} if folder.exists() else set()
        strange = {
            name for name in inside if name != files.LOCK_NAME and not name.endswith(files.PARTIAL_SUFFIX)
        }
        if strange and manifest.NAME not in inside:
            raise BadInput(f"{folder}: not empty and not a run folder; choose another --out")
        made = missing_folders(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be a run folder ({error.strerror}); choose another --out") from None
    with files.lock_folder(folder), rollback_on_bad_input(folder, inside, made):
        if has_any_block(folder):  # a run that never played a block may be replaced
            manifest.refuse_different_run(manifest.load(folder), run, folder)
        files.remove_partial_files(folder)
        manifest.write(run, folder)
        files.write_file(folder / PLAN_FILE, plan_text(run.plan).encode())
        yield manifest.load(folder)


def _play_audit(
    audit: Audit, run: Manifest, folder: Path, engine: Engine, advance: Advance, game: PreparedAudit | None
) -> None:
    """Play and save every block that has no file, or, where the audit may stop early, as many as it takes."""
    stores, prefix = run.stores(folder, audit), empty_sequence(audit, run)
    crew: TaskMap | None = None
    told = partial(_advance_with_message, advance, audit.name)
    for wave in _block_batches(audit, engine.workers):
        missing = [block for block in wave if load_block(stores, block) is None]
        advance(audit.name, sum(len(block.rounds) for block in wave if block not in missing))
        if missing and crew is None:
            game = game or prepare_audit(audit, run.plan)
            if game.digest != run.facts[audit.name].data:
                raise BadInput("the data changed while the run was starting; start it again")
            with listen_to_progress(told):
                crew = engine.load_task(study_attacks(game, run.plan.seed, engine, told))
        with listen_to_progress(told):
            for position, trials in crew(missing) if crew and missing else ():
                for label, store in stores.items():
                    store.save(missing[position], trials[label])
                advance(audit.name, len(missing[position].rounds))
        if audit.stop is Stop.DECIDED and any(prefix.add(require_block(stores, block)) for block in wave):
            return


def _advance_with_message(advance: Advance, audit: str, words: str) -> None:
    advance(f"{audit}: {words}", 0)


def _block_batches(audit: Audit, width: int) -> list[list[RoundBlock]]:
    """Return all blocks at once, or, where each may be the last, as many at a time as there are workers."""
    everything = split_rounds(audit.rounds, audit.block)
    if audit.stop is Stop.ROUNDS:
        return [everything]
    return [everything[first : first + width] for first in range(0, len(everything), width)]


@contextmanager
def _run_error_context(audit: Audit, way_on: str) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise BadInput(f"audit {audit.name!r}: {error}") from error
    except (ReleaseLost, IncompleteRun) as error:
        raise IncompleteRun(
            f"audit {audit.name!r}: {error}; finished blocks are kept: continue with: {way_on}"
        ) from None
    except Exception as error:
        problem = str(error) if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
        raise IncompleteRun(
            f"audit {audit.name!r} ended with {problem}; finished blocks are kept: fix it, then continue "
            f"with: {way_on}"
        ) from error
