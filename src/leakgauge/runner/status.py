"""How much of a run is done, and whether this installation can continue it."""

from dataclasses import dataclass
from pathlib import Path

from leakgauge.plan import Audit, Stop
from leakgauge.runner import manifest, resume
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.early_stop import empty_sequence, load_block
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.rollback import VERDICTS_FILE
from leakgauge.support.files import is_locked

MOST_AUDITS_NAMED = 3  # in a message


@dataclass(frozen=True, kw_only=True)
class AuditProgress:
    """How many rounds of an audit are done; an audit that stopped early is complete with fewer."""

    audit: str
    played: int
    rounds: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """What is in a run folder.

    ``versions`` are those that began the run. ``continue_command`` continues it, unless it is complete;
    ``obstacle`` says why this installation cannot.
    """

    folder: str
    running: bool
    judged: bool
    reported: bool
    audits: tuple[AuditProgress, ...]
    versions: dict[str, str]
    continue_command: str | None
    obstacle: str | None

    @property
    def complete(self) -> bool:
        return all(audit.complete for audit in self.audits)


def run_status(folder: Path) -> RunStatus:
    """Read the status of a run folder without changing it."""
    content = manifest.load(folder)
    run = manifest.from_json(content, folder)
    audits = tuple(audit_progress(audit, run, folder) for audit in run.plan.audits)
    complete = all(audit.complete for audit in audits)
    return RunStatus(
        folder=str(folder),
        running=is_locked(folder),
        judged=(folder / VERDICTS_FILE).exists(),
        reported=(folder / "report.html").exists(),
        audits=audits,
        versions=run.versions,
        continue_command=None if complete else manifest.how_to_continue(content, folder),
        obstacle=None if complete else resume.continuation_obstacle(run, folder),
    )


def incomplete_audits(folder: Path) -> str | None:
    """Say which rounds of a run are missing from its folder; nothing where it is complete."""
    run = manifest.from_json(manifest.load(folder), folder)
    audits = (audit_progress(audit, run, folder) for audit in run.plan.audits)
    missing = [
        f"audit {audit.audit!r} has {audit.played:,} of {audit.rounds:,} rounds"
        for audit in audits
        if not audit.complete
    ]
    more = f", and {len(missing) - MOST_AUDITS_NAMED} more audits" if missing[MOST_AUDITS_NAMED:] else ""
    return "; ".join(missing[:MOST_AUDITS_NAMED]) + more if missing else None


def audit_progress(audit: Audit, run: Manifest, folder: Path) -> AuditProgress:
    """Count the rounds of an audit that are in a run folder."""
    stores, sequence = run.stores(folder, audit), empty_sequence(audit, run)
    played, consecutive, decided = 0, True, False
    for block in split_rounds(audit.rounds, audit.block):
        trials = load_block(stores, block)
        played += 0 if trials is None else len(block.rounds)
        consecutive = consecutive and trials is not None
        if audit.stop is Stop.DECIDED and consecutive and not decided and trials is not None:
            decided = sequence.add(trials)
    return AuditProgress(
        audit=audit.name, played=played, rounds=audit.rounds, complete=decided or played == audit.rounds
    )
