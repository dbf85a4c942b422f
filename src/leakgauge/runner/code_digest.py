"""Which source files and libraries belong to an audit, and their digests and versions.

A run may be continued only by code that gives the same trials. So everything counts that trials can come
from: the files that build an audit and play its rounds, its domain, and the folders that domains use. That is
more than what decides its trials: where a change does not matter, the run is started over for nothing.

The rest of the runner is left out: it decides which blocks are run, where and in which order, and a block
does not depend on that. So are the verdicts, the report, the command line, the papers and other domains.
"""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.plan import Audit
from leakgauge.runner.library_versions import LIBRARIES, installed_versions
from leakgauge.version import VERSION

ROOT = Path(__file__).parents[1]
FOLDERS = ("core", "mechanisms", "referee", "strategies", "support", "theory")
FILES = (
    "catalog.py",
    "plan.py",
    "sweep.py",
    "runner/block_store.py",
    "runner/engines.py",
    "runner/library_versions.py",
    "runner/play_block.py",
    "runner/worker_tasks.py",
)
EVERYWHERE = ("numpy", "scipy")  # libraries that those folders use

_IMPORT = re.compile(rf"^\s*(?:import|from) ({'|'.join(LIBRARIES)})\b", re.MULTILINE)


def code_digests(audits: Sequence[Audit]) -> dict[str, str]:
    """Return the digest of every source file that trials of these audits can come from, by its path."""
    found = {name: ROOT / name for name in FILES}
    for folder in FOLDERS:
        found |= _sources(ROOT / folder, folder)
    for domain in {audit.domain for audit in audits}:
        found |= _domain_sources(domain)
    return {name: sha256(found[name].read_bytes()).hexdigest() for name in sorted(found)}


def library_versions(audit: Audit) -> dict[str, str]:
    """Return the versions of the libraries that the code of an audit imports and that are installed."""
    imported = _imported_libraries(audit.domain)
    return installed_versions([name for package, name in LIBRARIES.items() if package in imported])


def run_versions(audits: Sequence[Audit]) -> dict[str, str]:
    """Return the versions of leakgauge, Python and the libraries that all these audits use."""
    versions = {"leakgauge": VERSION, "python": platform.python_version()}
    for audit in audits:
        versions |= library_versions(audit)
    return versions


def audit_tables(audit: Audit) -> tuple[Any, ...]:
    """All of an audit that may name a mechanism or a function."""
    return (audit.data, audit.challenger, audit.mechanism, list(map(asdict, audit.contenders)))


@cache
def _imported_libraries(domain: str) -> frozenset[str]:
    texts = (path.read_text(encoding="utf-8") for path in _domain_sources(domain).values())
    return frozenset(EVERYWHERE).union(*map(_IMPORT.findall, texts))


def _domain_sources(domain: str) -> dict[str, Path]:
    """The files of a domain, which may also live in another folder; none if there is no such domain."""
    for folder in import_module(catalog.DOMAINS).__path__:
        if (found := Path(folder) / domain).is_dir():
            return _sources(found, f"domains/{domain}")
    return {}


def _sources(folder: Path, name: str) -> dict[str, Path]:
    """The source files of a folder, by the path that messages show."""
    return {f"{name}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*.py")}


def nested_strings(value: Any) -> Iterator[str]:
    """Yield all strings in nested tables."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for item in value.values() for text in nested_strings(item))
        case list() | tuple():
            yield from (text for item in value for text in nested_strings(item))
