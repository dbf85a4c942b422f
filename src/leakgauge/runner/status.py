"""How far a run folder has come."""

from dataclasses import dataclass
from pathlib import Path

from leakgauge.plan import Audit, Stop
from leakgauge.runner import judging, manifest
from leakgauge.runner.lock import is_locked
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.prefix import load, prefix_of
from leakgauge.runner.store import blocks


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What of an audit has been played; an audit that stopped early is complete with fewer rounds."""

    audit: str
    played: int
    rounds: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is in a run folder."""

    folder: str
    running: bool
    judged: bool
    reported: bool
    audits: tuple[Standing, ...]
    way_on: str | None  # how to continue it, unless it is complete

    @property
    def complete(self) -> bool:
        return all(standing.complete for standing in self.audits)


def status(folder: Path) -> Status:
    """Look at a run folder without touching it."""
    content = manifest.load(folder)
    run = manifest.from_json(content, folder)
    audits = tuple(_standing(audit, run, folder) for audit in run.plan.audits)
    complete = all(standing.complete for standing in audits)
    return Status(
        folder=str(folder),
        running=is_locked(folder),
        judged=(folder / judging.NAME).exists(),
        reported=(folder / "report.html").exists(),
        audits=audits,
        way_on=None if complete else manifest.how_to_continue(content, folder),
    )


def _standing(audit: Audit, run: Manifest, folder: Path) -> Standing:
    stores, prefix = run.stores(folder, audit), prefix_of(audit, run)
    played, consecutive, decided = 0, True, False
    for block in blocks(audit.rounds, audit.block):
        trials = load(stores, block)
        played += 0 if trials is None else len(block.rounds)
        consecutive = consecutive and trials is not None
        if audit.stop is Stop.DECIDED and consecutive and not decided and trials is not None:
            decided = prefix.add(trials)
    return Standing(
        audit=audit.name, played=played, rounds=audit.rounds, complete=decided or played == audit.rounds
    )
