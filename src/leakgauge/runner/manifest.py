"""What a run folder is a run of: its plan, the facts of its audits, the code that plays it."""

import json
import os
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.plan import Audit, Plan, canonical_plan, has_overridden_seed, to_toml
from leakgauge.runner import audit_facts
from leakgauge.runner.audit_facts import AuditFacts
from leakgauge.runner.block_store import BlockStore
from leakgauge.runner.code_digest import library_versions
from leakgauge.support import files
from leakgauge.support.table_reader import read_dataclass
from leakgauge.version import VERSION

NAME = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that is needed to continue a run and to judge it."""

    plan: Plan
    facts: dict[str, AuditFacts]  # by audit
    package: str  # the digest of this package's sources
    digest: str  # of all that decides the trials

    @property
    def n_verdicts(self) -> int:
        return sum(len(audit.contenders) for audit in self.plan.audits)

    def stores(self, folder: Path, audit: Audit) -> dict[str, BlockStore]:
        """Return where the blocks of an audit are, by label."""
        return {
            contender.label: BlockStore(
                folder / "audits" / audit.name / contender.label,
                f"{self.digest}/{audit.name}/{contender.label}",
            )
            for contender in audit.contenders
        }


def make_manifest(plan: Plan, known: dict[str, AuditFacts], package: str) -> Manifest:
    """Return the manifest of a plan; its digest covers the plan without rounds, the data and the sources."""
    data = {name: said.data for name, said in known.items()}
    return Manifest(
        plan=plan, facts=known, package=package, digest=_digest([canonical_plan(plan), data, package])
    )


def write(manifest: Manifest, folder: Path) -> None:
    """Write the file."""
    plan = canonical_plan(manifest.plan)
    for table, audit in zip(plan["audits"], manifest.plan.audits):
        table["rounds"] = audit.rounds
    path = manifest.plan.path
    content = {
        "schema": 1,
        "digest": manifest.digest,
        "package": manifest.package,
        "versions": library_versions(),
        "seed": manifest.plan.seed,
        "other_seed": has_overridden_seed(manifest.plan),
        "plan_file": path and os.path.relpath(path, folder),
        "plan": plan,
        "facts": {name: audit_facts.facts_to_json(known) for name, known in manifest.facts.items()},
    }
    files.write_json(folder / NAME, {**content, "checksum": _digest(content)})


def load(folder: Path) -> dict[str, Any]:
    """Read the file of a run folder, as it is."""
    path = folder / NAME
    try:
        content = json.loads(path.read_bytes())
        if content.get("schema") != 1:
            raise BadInput(f"{path}: written by another version of leakgauge; use that one")
        if content.pop("checksum") != _digest(content):
            raise ValueError
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{folder}: not a run folder (no {NAME} in it); leakgauge run makes one") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, KeyError, AttributeError):
        raise BadInput(f"{path}: damaged; put it back, or run into another --out") from None
    return content


def from_json(content: dict[str, Any], folder: Path) -> Manifest:
    """Return the manifest in a file."""
    path = Path(os.path.normpath(folder / content["plan_file"])) if content["plan_file"] else None
    audits = tuple(
        read_dataclass(Audit, audit, f"{folder / NAME}: audit") for audit in content["plan"]["audits"]
    )
    plan = Plan(seed=content["seed"], audits=audits, folder=path.parent if path else folder, path=path)
    known = {name: audit_facts.facts_from_json(entry) for name, entry in content["facts"].items()}
    return Manifest(plan=plan, facts=known, package=content["package"], digest=content["digest"])


def refuse_different_run(old: dict[str, Any], new: Manifest, folder: Path) -> None:
    """Stop if a folder holds another run: its trials and the new ones must not mix."""
    if old["digest"] == new.digest:
        return
    then = from_json(old, folder)
    difference = _difference(canonical_plan(then.plan), canonical_plan(new.plan), "plan")
    if difference is None and then.package != new.package:
        difference = f"leakgauge itself changed (version {old['versions']['leakgauge']}, now {VERSION})"
    if difference is None:
        changed = [repr(name) for name, known in new.facts.items() if known.data != then.facts[name].data]
        difference = f"the data or code behind audit {', '.join(changed)} changed"
    raise BadInput(
        f"{folder} holds another run: {difference}; choose another --out, or put back what changed"
    )


def how_to_continue(content: dict[str, Any], folder: Path) -> str:
    """Return what continues a run."""
    if content["plan_file"] is None:
        return f"leakgauge.run(plan, out={str(folder)!r})"
    seed = f" --seed {content['seed']}" if content["other_seed"] else ""
    return f"leakgauge run {os.path.relpath(folder / content['plan_file'])} --out {folder}{seed}"


def report_fields(folder: Path) -> dict[str, Any]:
    """Return what a report says of a run besides its verdicts: nothing about the machine."""
    content = load(folder)
    name = Path(content["plan_file"]).name if content["plan_file"] else "plan.toml"
    seed = f" --seed {content['seed']}" if content["other_seed"] else ""
    return {
        "command": f"leakgauge run {name}{seed}",
        "plan": to_toml(_redacted_plan(from_json(content, folder).plan)),
        "seed": content["seed"],
        "digest": content["digest"],
        "data": {name: known["data"] for name, known in content["facts"].items()},
        "notes": data_notes(content),
        "versions": content["versions"],
    }


def data_notes(content: dict[str, Any]) -> dict[str, list[str]]:
    """Return what was noted of the data of a run, and in which audits; points of a sweep share their data."""
    found: dict[str, list[str]] = {}
    for name, known in content["facts"].items():
        for note in known.get("notes", ()):
            found.setdefault(note, []).append(name)
    return found


def _redacted_plan(plan: Plan) -> Plan:
    """Return a plan as a report may show it."""
    return replace(plan, audits=tuple(_redacted_audit(audit) for audit in plan.audits))


def _redacted_audit(audit: Audit) -> Audit:
    contenders = tuple(
        replace(one, knowledge_parameters=catalog.redacted_knowledge(audit.domain, one.knowledge_parameters))
        for one in audit.contenders
    )
    return replace(
        audit, challenger=catalog.redacted_challenger(audit.domain, audit.challenger), contenders=contenders
    )


def _difference(then: Any, now: Any, where: str) -> str | None:
    """Name the first place where two plans differ."""
    if isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            return f"{where} had {len(then)} entries, has {len(now)}"
        found = (_difference(*pair, f"{where}[{i}]") for i, pair in enumerate(zip(then, now)))
        return next(filter(None, found), None)
    if isinstance(then, dict) and isinstance(now, dict):
        missing = object()
        for key in {**then, **now}:
            if then.get(key, missing) is missing or now.get(key, missing) is missing:
                return f"{where}.{key} was {'added' if key in now else 'removed'}"
        found = (_difference(then[key], now[key], f"{where}.{key}") for key in then)
        return next(filter(None, found), None)
    same = then == now and type(then) is type(now)
    return None if same else f"{where} was {then!r}, is {now!r}"


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
