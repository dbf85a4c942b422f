"""A plan -> blocks -> files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leakgauge.catalog import Game, naming, prepare
from leakgauge.core.errors import BadInput, IncompleteRun, Lost
from leakgauge.core.telling import telling
from leakgauge.plan import Audit, Plan, Stop
from leakgauge.runner import atomic, engines, lock, manifest
from leakgauge.runner.engines import Crew, Engine
from leakgauge.runner.facts import facts_of
from leakgauge.runner.judging import judge, refuse_unjudgeable
from leakgauge.runner.manifest import Manifest, manifest_of
from leakgauge.runner.plan_file import text_of
from leakgauge.runner.playing import study
from leakgauge.runner.prefix import load, must_load, prefix_of
from leakgauge.runner.progress import Advance, progress
from leakgauge.runner.shipping import WorkerError
from leakgauge.runner.sources import package_digest
from leakgauge.runner.store import Block, blocks
from leakgauge.runner.undoing import PLAN, any_block, missing, undone
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Hands:
    """Who plays: an engine by name, how many workers, and where, if not on this machine."""

    engine: str = "local"
    workers: int = 1
    address: str | None = None


ALONE = Hands()


def carry_out(plan: Plan, folder: Path, hands: Hands | None = None) -> list[Verdict]:
    """Play what a run folder lacks of a plan, judge it, and write ``verdicts.json``.

    Bad input leaves nothing behind, unless it shows after blocks were played. A run that was stopped, in
    whatever way, is continued by the same call; the trials are the same as those of a run that never stopped.
    """
    hands = hands or ALONE
    engines.check(hands.engine, hands.workers, hands.address)
    run, games = describe(plan, hands)
    with _held(folder, run) as content:
        way_on = manifest.how_to_continue(content, folder)
        rounds = sum(audit.rounds for audit in plan.audits)
        with (
            engines.open_engine(hands.engine, hands.workers, hands.address) as engine,
            progress(rounds) as advance,
        ):
            for audit in plan.audits:
                with _telling_where(audit, way_on):
                    _play_audit(audit, run, folder, engine, advance, games.pop(audit.name, None))
        return judge(run, content, folder)


def describe(plan: Plan, hands: Hands = ALONE) -> tuple[Manifest, dict[str, Game]]:
    """Set up every game of a plan once, to find what is wrong with it and what it promises.

    Many games may not fit into memory side by side, so only that of a single audit is kept.
    """
    facts, games = {}, {}
    for audit in plan.audits:
        game = prepare(audit, plan)
        with naming(audit, plan):
            refuse_crowd(game, hands)
            refuse_rounds(audit, game)
            facts[audit.name] = facts_of(game)
            refuse_unjudgeable(audit, facts[audit.name])
        if len(plan.audits) == 1:
            games[audit.name] = game
    return manifest_of(plan, facts, package_digest()), games


def refuse_crowd(game: Game, hands: Hands) -> None:
    """Refuse more workers than a challenger allows; one that allows a single one is played right here."""
    most = getattr(game.challenger, "most_workers", None)
    if most is not None and (hands.workers > most or hands.engine != "local"):
        raise BadInput(
            f"at most {most} local worker may play this: it keeps to the service's rate and total; leave out "
            "--workers and --engine"
        )


def refuse_rounds(audit: Audit, game: Game) -> None:
    """Refuse more rounds than a challenger has releases."""
    most = getattr(game.challenger, "most_rounds", None)
    if most is not None and audit.rounds > most:
        raise BadInput(
            f"rounds: there is {most} release of this model and no more, got {audit.rounds}; write "
            f"rounds = {most}"
        )


@contextmanager
def _held(folder: Path, run: Manifest) -> Iterator[dict[str, Any]]:
    """Hold a run folder that is new, or that holds this run; yield the content of its manifest."""
    try:
        inside = {path.name for path in folder.iterdir()} if folder.exists() else set()
        strange = {name for name in inside if name != lock.NAME and not name.endswith(atomic.PARTIAL)}
        if strange and manifest.NAME not in inside:
            raise BadInput(f"{folder}: not empty and not a run folder; choose another --out")
        made = missing(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be a run folder ({error.strerror}); choose another --out") from None
    with lock.locked(folder), undone(folder, inside, made):
        if any_block(folder):  # a run that never played a block may be replaced
            manifest.refuse_other(manifest.load(folder), run, folder)
        atomic.sweep_up(folder)
        manifest.write(run, folder)
        atomic.write(folder / PLAN, text_of(run.plan).encode())
        yield manifest.load(folder)


def _play_audit(
    audit: Audit, run: Manifest, folder: Path, engine: Engine, advance: Advance, game: Game | None
) -> None:
    """Play and save every block that has no file, or, where the audit may stop early, as many as it takes."""
    stores, prefix = run.stores(folder, audit), prefix_of(audit, run)
    crew: Crew | None = None
    told = partial(_tell, advance, audit.name)
    for wave in _waves(audit, engine.workers):
        missing = [block for block in wave if load(stores, block) is None]
        advance(audit.name, sum(len(block.rounds) for block in wave if block not in missing))
        if missing and crew is None:
            game = game or prepare(audit, run.plan)
            if game.digest != run.facts[audit.name].data:
                raise BadInput("the data changed while the run was starting; start it again")
            with telling(told):
                crew = engine.ship(study(game, run.plan.seed, engine, told))
        with telling(told):
            for position, trials in crew(missing) if crew and missing else ():
                for label, store in stores.items():
                    store.save(missing[position], trials[label])
                advance(audit.name, len(missing[position].rounds))
        if audit.stop is Stop.DECIDED and any(prefix.add(must_load(stores, block)) for block in wave):
            return


def _tell(advance: Advance, audit: str, words: str) -> None:
    advance(f"{audit}: {words}", 0)


def _waves(audit: Audit, width: int) -> list[list[Block]]:
    """Return all blocks at once, or, where each may be the last, as many at a time as there are workers."""
    everything = blocks(audit.rounds, audit.block)
    if audit.stop is Stop.ROUNDS:
        return [everything]
    return [everything[first : first + width] for first in range(0, len(everything), width)]


@contextmanager
def _telling_where(audit: Audit, way_on: str) -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise BadInput(f"audit {audit.name!r}: {error}") from error
    except (Lost, IncompleteRun) as error:
        raise IncompleteRun(
            f"audit {audit.name!r}: {error}; finished blocks are kept: continue with: {way_on}"
        ) from None
    except Exception as error:
        problem = str(error) if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
        raise IncompleteRun(
            f"audit {audit.name!r} ended with {problem}; finished blocks are kept: mend it, then continue "
            f"with: {way_on}"
        ) from error
