"""Whether a run folder may be continued: with the same plan, data, code and library versions only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakgauge.core.errors import ANOTHER_OUT, START_OVER, BadInput
from leakgauge.plan import Audit, plan_without_rounds
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.code_digest import code_digests, library_versions
from leakgauge.runner.manifest import Manifest
from leakgauge.support.files import json_digest

MOST_FILES_SHOWN = 5


def refuse_different_run(stored: Manifest, new: Manifest, folder: Path) -> None:
    """Stop if a folder holds a run of another plan or of other data: their trials must not be mixed."""
    difference = _difference(plan_without_rounds(stored.plan), plan_without_rounds(new.plan), "plan")
    if difference is None:
        changed = [
            repr(name) for name, audit in new.metadata.items() if audit.data != stored.metadata[name].data
        ]
        difference = f"the data or code behind audit {', '.join(changed)} changed" if changed else None
    if difference is not None:
        raise BadInput(
            f"{folder} holds another run: {difference}; {ANOTHER_OUT}, undo the change, or {START_OVER}"
        )


def refuse_other_exposure(exposure: Mapping[str, Any], run: Manifest, folder: Path) -> None:
    """Stop if a folder holds what ``expose`` found for another plan or other data: no report may mix them."""
    same_plan = exposure.get("plan") == json_digest(plan_without_rounds(run.plan))
    if not same_plan or any(
        audit["data"] != run.metadata[audit["audit"]].data for audit in exposure["audits"]
    ):
        raise BadInput(
            f"{folder} holds the exposure of another plan or of other data; remove the files exposure.* "
            f"there, {ANOTHER_OUT}, or {START_OVER}"
        )


def continuation_obstacle(stored: Manifest, folder: Path) -> str | None:
    """Say why this installation cannot add blocks to a run, and what to do about it; nothing if it can.

    All blocks of a run have to come from the same code and library versions.
    """
    began = f"leakgauge {stored.versions['leakgauge']}"
    if changed := _changed_files(stored.code, code_digests(stored.plan.audits)):
        shown = ", ".join(changed[:MOST_FILES_SHOWN])
        more = f" and {len(changed) - MOST_FILES_SHOWN} more" if len(changed) > MOST_FILES_SHOWN else ""
        return f"leakgauge itself changed: {shown}{more}; use the code that began it ({began})"
    for audit in stored.plan.audits:
        if difference := _version_difference(audit, stored, folder):
            return difference
    return None


def _changed_files(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {**then, **now} if then.get(name) != now.get(name))


def _version_difference(audit: Audit, stored: Manifest, folder: Path) -> str | None:
    """Compare the versions in every block of an audit with those that are installed."""
    now, stores = library_versions(audit), stored.stores(folder, audit)
    for block in split_rounds(audit.rounds, audit.block):
        for store in stores.values():
            if (then := store.versions_of(block)) is None:
                continue
            if changed := [name for name in {**then, **now} if then.get(name) != now.get(name)]:
                return (
                    f"its blocks were run {_with_library(changed[0], then)}, and this would be run "
                    f"{_with_library(changed[0], now)}; install what they were run with"
                )
    return None


def _with_library(name: str, versions: Mapping[str, str]) -> str:
    return f"with {name} {versions[name]}" if name in versions else f"without {name}"


def _difference(then: Any, now: Any, where: str) -> str | None:
    """Name the first place where two plans differ."""
    if isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            return f"{where} had {len(then)} entries, has {len(now)}"
        differences = (_difference(*pair, f"{where}[{i}]") for i, pair in enumerate(zip(then, now)))
        return next(filter(None, differences), None)
    if isinstance(then, dict) and isinstance(now, dict):
        missing = object()
        for key in {**then, **now}:
            if then.get(key, missing) is missing or now.get(key, missing) is missing:
                return f"{where}.{key} was {'added' if key in now else 'removed'}"
        differences = (_difference(then[key], now[key], f"{where}.{key}") for key in then)
        return next(filter(None, differences), None)
    same = then == now and type(then) is type(now)
    return None if same else f"{where} was {then!r}, is {now!r}"
