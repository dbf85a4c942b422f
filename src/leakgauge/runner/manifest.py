"""The file manifest.json of a run folder: its plan, what is known of its audits, and the code that runs it.

Code and versions are those that began the run. Continuing it never changes them.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.limits import read_limits
from leakgauge.plan import (
    Audit,
    Heading,
    Plan,
    check_stored_audits,
    has_overridden_seed,
    plan_without_rounds,
    split_assumed,
    to_toml,
)
from leakgauge.runner import audit_metadata
from leakgauge.runner.block_store import BlockStore
from leakgauge.support import files
from leakgauge.support.files import json_digest
from leakgauge.support.table_reader import read_dataclass

NAME = "manifest.json"
SCHEMA = 2
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that is needed to continue a run and to judge it."""

    plan: Plan
    metadata: dict[str, audit_metadata.AuditMetadata]  # by audit
    code: dict[str, str]  # digests by source file, of the code that began the run
    versions: dict[str, str]  # of leakgauge, Python and libraries, when the run began
    digest: str  # of all that decides the trials
    looks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # rounds at which audits were judged

    @property
    def n_verdicts(self) -> int:
        return sum(len(audit.contenders) for audit in self.plan.audits)

    def stores(
        self, folder: Path, audit: Audit, versions: Mapping[str, str] | None = None
    ) -> dict[str, BlockStore]:
        """Return where the blocks of an audit are, by label; ``versions`` go into blocks that are saved."""
        return {
            contender.label: BlockStore(
                folder / "audits" / audit.name / contender.label,
                f"{self.digest}/{audit.name}/{contender.label}",
                versions or {},
                self.metadata[audit.name].n_targets,
            )
            for contender in audit.contenders
        }


def run_digest(
    plan: Plan, metadata: Mapping[str, audit_metadata.AuditMetadata], code: Mapping[str, str]
) -> str:
    """A digest of all that decides the trials of a run."""
    data = {name: audit.data for name, audit in metadata.items()}
    return json_digest([plan_without_rounds(plan), data, code])


def write(manifest: Manifest, folder: Path) -> None:
    """Write the file; readable by its owner alone where the plan names people."""
    plan = plan_without_rounds(manifest.plan)
    for table, audit in zip(plan["audits"], manifest.plan.audits):
        table["rounds"] = audit.rounds
    path = manifest.plan.path
    content = {
        "schema": SCHEMA,
        "digest": manifest.digest,
        "code": manifest.code,
        "versions": manifest.versions,
        "seed": manifest.plan.seed,
        "other_seed": has_overridden_seed(manifest.plan),
        "plan_file": path and os.path.relpath(path, folder),
        "plan": plan,
        "limits": manifest.plan.limits.table(),
        "heading": asdict(manifest.plan.heading),
        "publish": manifest.plan.publish,
        "assumed": [*manifest.plan.assumed, *manifest.plan.limits.assumed],
        "looks": {name: list(rounds) for name, rounds in manifest.looks.items()},
        "facts": {name: audit_metadata.metadata_to_json(one) for name, one in manifest.metadata.items()},
    }
    content["checksum"] = json_digest(content)
    files.write_json(folder / NAME, content, private=names_people(manifest.plan))


def update(content: dict[str, Any], folder: Path, **changed: Any) -> None:
    """Write the file again as it was, except for what changed: nothing of what produced a block may."""
    content, path = {**content, **changed}, folder / NAME
    files.write_json(path, {**content, "checksum": json_digest(content)}, private=files.is_private(path))


def load(folder: Path) -> dict[str, Any]:
    """Read the file of a run folder, as it is."""
    files.refuse_special_files(folder)
    path = folder / NAME
    with _refusing_damage(path):
        try:
            content = files.parse_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(
                f"{folder}: not a run folder (no {NAME} in it); leakgauge run creates one"
            ) from None
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from None
        schema = content["schema"]
        if type(schema) is int and schema != SCHEMA:
            raise BadInput(f"{path}: written by another version of leakgauge; use that one")
        if content.pop("checksum") != json_digest(content):
            raise ValueError
        return dict(content)


@contextmanager
def _refusing_damage(path: Path, damage: tuple[type[Exception], ...] = _DAMAGE) -> Iterator[None]:
    """Say of a file whose entries are not those that were written that it is damaged."""
    try:
        yield
    except damage as error:
        why = f" ({error})" if isinstance(error, BadInput) else ""
        raise BadInput(
            f"{path}: damaged, or not of a run{why}; restore it from a copy, or run the plan in another "
            "folder"
        ) from None


@dataclass(frozen=True, kw_only=True)
class _PlanEntry:
    seed: int
    audits: tuple[Audit, ...]


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """The entries of the file and their types."""

    schema: int
    digest: str
    versions: dict[str, str]
    seed: int
    other_seed: bool
    plan_file: str | None
    plan: _PlanEntry
    facts: dict[str, dict[str, Any]]
    code: dict[str, str]
    limits: dict[str, Any] = field(default_factory=dict)
    heading: Heading = field(default_factory=Heading)
    publish: str | None = None
    assumed: tuple[str, ...] = ()
    looks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    verdicts: str | None = None


def from_json(content: dict[str, Any], folder: Path) -> Manifest:
    """Return the manifest in a file."""
    with _refusing_damage(folder / NAME, (*_DAMAGE, BadInput)):
        return _read(read_dataclass(_Entries, content, "manifest"), folder)


def _read(entries: _Entries, folder: Path) -> Manifest:
    path = Path(os.path.normpath(folder / entries.plan_file)) if entries.plan_file else None
    audits, named = entries.plan.audits, {audit.name for audit in entries.plan.audits}
    check_stored_audits(audits)
    if not named or named != set(entries.facts) or entries.plan.seed != entries.seed:
        raise ValueError
    limits, assumed = split_assumed(read_limits(entries.limits, "limits"), entries.assumed, "manifest")
    plan = Plan(
        seed=entries.seed,
        audits=audits,
        folder=path.parent if path else folder,
        path=path,
        limits=limits,
        assumed=assumed,
        heading=entries.heading,
        publish=entries.publish,
    )
    return Manifest(
        plan=plan,
        metadata={
            name: audit_metadata.metadata_from_json(entry, f"facts of {name}")
            for name, entry in entries.facts.items()
        },
        code=entries.code,
        versions={"leakgauge": entries.versions["leakgauge"], **entries.versions},
        digest=entries.digest,
        looks=entries.looks,
    )


def how_to_continue(content: dict[str, Any], folder: Path, command: str = "run") -> str:
    """Return the command, or the call in Python, that continues a run, or exposes its people."""
    if content["plan_file"] is None:
        return f"leakgauge.{command}(plan, out={str(folder)!r})"
    plan = os.path.relpath(folder / content["plan_file"])
    return shlex.join(["leakgauge", command, plan, "--out", str(folder), *_seed_option(content)])


def _seed_option(content: dict[str, Any]) -> list[str]:
    return ["--seed", str(content["seed"])] if content["other_seed"] else []


def report_fields(folder: Path) -> dict[str, Any]:
    """Return what a report shows of a run besides its verdicts: nothing about the machine."""
    content = load(folder)
    name = Path(content["plan_file"]).name if content["plan_file"] else "plan.toml"
    seed = _seed_option(content)
    return {
        **content.get("heading", {}),
        "command": shlex.join(["leakgauge", "run", name, *seed]),
        "expose_command": shlex.join(["leakgauge", "expose", name, "--out", "DIR", *seed]),
        "plan": to_toml(redacted_plan(from_json(content, folder).plan)),
        "seed": content["seed"],
        "digest": content["digest"],
        "data": {name: entry["data"] for name, entry in content["facts"].items()},
        "notes": data_notes(content),
        "versions": content["versions"],
    }


def data_notes(content: dict[str, Any]) -> dict[str, list[str]]:
    """Return the notes on the data of a run, each with its audits: points of a sweep share their data."""
    audits_by_note: dict[str, list[str]] = {}
    for name, entry in content["facts"].items():
        for note in entry.get("notes", ()):
            audits_by_note.setdefault(note, []).append(name)
    return audits_by_note


def names_people(plan: Plan) -> bool:
    """Whether a plan holds values from the data that a report must not show, such as names of targets."""
    return redacted_plan(plan).audits != plan.audits


def redacted_plan(plan: Plan) -> Plan:
    """Return a plan as a report may show it: without values from the data."""
    return replace(plan, audits=tuple(_redacted_audit(audit) for audit in plan.audits))


def _redacted_audit(audit: Audit) -> Audit:
    contenders = tuple(
        replace(
            contender,
            knowledge_parameters=catalog.redacted_knowledge(audit.domain, contender.knowledge_parameters),
        )
        for contender in audit.contenders
    )
    return replace(
        audit, challenger=catalog.redacted_challenger(audit.domain, audit.challenger), contenders=contenders
    )
