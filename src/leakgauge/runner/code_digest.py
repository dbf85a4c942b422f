"""Which source files and libraries decide the trials of an audit, and their digests and versions.

A run may be continued only by code that gives the same trials. That code is found in the sources, without
running them. It is

- the whole package of the audit's domain;
- ``catalog`` and ``plan``, which build the audit, and of the runner ``play_block``, which lets the attacks
  study and simulates a block, and ``block_store``, which divides the rounds into blocks;
- everything that these import, wherever in a file the import stands. The engines are among it: they limit
  the threads of a computation, on which the last digit of a sum can depend. The metrics that the catalog
  describes and the limits of a plan are left out, because they judge trials and decide none; what a domain
  imports of the referee is not;
- the mechanisms that a domain imports by name: those whose names stand as strings in the audit, in the domain
  or in what it imports.

The rest of the runner is left out: it decides which blocks are run, where and in which order, and a block
does not depend on that. So are the verdicts, the report, the command line, the papers and other domains.
"""

import ast
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
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
PACKAGE = "leakgauge"
SHARED_MODULES = (
    "leakgauge.catalog",
    "leakgauge.plan",
    "leakgauge.runner.block_store",
    "leakgauge.runner.play_block",
)
JUDGING_MODULES = ("leakgauge.referee", "leakgauge.limits")


@dataclass(frozen=True)
class SourceModule:
    """What matters of a source file: its digest, what it imports and the strings in it."""

    digest: str
    imports: frozenset[str]  # names that may be modules of this package, or attributes of them
    libraries: frozenset[str]  # the top packages of all other imports
    strings: frozenset[str]


def code_digests(audits: Sequence[Audit]) -> dict[str, str]:
    """Return the digest of every source file that decides trials of these audits, by its path."""
    modules = {name: module for audit in audits for name, module in _trial_modules(audit).items()}
    return {_shown_path(name): modules[name].digest for name in sorted(modules)}


def library_versions(audit: Audit) -> dict[str, str]:
    """Return the versions of the libraries that the code of an audit imports and that are installed."""
    imported = {library for module in _trial_modules(audit).values() for library in module.libraries}
    return installed_versions([name for package, name in LIBRARIES.items() if package in imported])


def run_versions(audits: Sequence[Audit]) -> dict[str, str]:
    """Return the versions of leakgauge, Python and the libraries that all these audits use."""
    versions = {"leakgauge": VERSION, "python": platform.python_version()}
    for audit in audits:
        versions |= library_versions(audit)
    return versions


def _trial_modules(audit: Audit) -> dict[str, SourceModule]:
    """Return every module that decides trials of an audit, by name."""
    return _reached_modules(audit.domain, frozenset(nested_strings(audit_tables(audit))))


def audit_tables(audit: Audit) -> tuple[Any, ...]:
    """All of an audit that may name a mechanism or a function."""
    return (audit.data, audit.challenger, audit.mechanism, list(map(asdict, audit.contenders)))


@cache
def _reached_modules(domain: str, names: frozenset[str]) -> dict[str, SourceModule]:
    mechanisms = set(catalog.module_names(catalog.MECHANISMS))
    reached: dict[str, SourceModule] = {}
    waiting = {*SHARED_MODULES, *_domain_modules(domain)}
    waiting |= {f"{catalog.MECHANISMS}.{name}" for name in mechanisms & names}
    while waiting:
        name = waiting.pop()
        if name in reached or name == PACKAGE or (module := _read_module(name)) is None:
            continue
        reached[name] = module
        waiting.add(name.rpartition(".")[0])
        if name in SHARED_MODULES:
            waiting |= {target for target in module.imports if not target.startswith(JUDGING_MODULES)}
        else:
            waiting |= {*module.imports}
            waiting |= {f"{catalog.MECHANISMS}.{one}" for one in mechanisms & module.strings}
    return reached


def _domain_modules(domain: str) -> Iterator[str]:
    """Yield the names of all modules of a domain."""
    package = f"{catalog.DOMAINS}.{domain}"
    if (source := _source(package)) is None:
        return
    for path in source.parent.rglob("*.py"):
        parts = path.relative_to(source.parent).with_suffix("").parts
        yield ".".join((package, *(part for part in parts if part != "__init__")))


@cache
def _read_module(name: str) -> SourceModule | None:
    """Read the source of a module once; nothing if there is no such module."""
    if (path := _source(name)) is None:
        return None
    content = path.read_bytes()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    nodes = list(_executed_nodes(ast.parse(content)))
    imported = {target for node in nodes for target in _import_targets(node, package)}
    ours = {target for target in imported if target.partition(".")[0] == PACKAGE}
    return SourceModule(
        digest=sha256(content).hexdigest(),
        imports=frozenset(ours),
        libraries=frozenset(target.partition(".")[0] for target in imported - ours),
        strings=frozenset(
            node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ),
    )


def _source(module: str) -> Path | None:
    """Return the file of a module of this package; domains may also live in other folders."""
    _, *parts = module.split(".")
    folders = [ROOT]
    if module.startswith(f"{catalog.DOMAINS}."):
        folders = [Path(folder) for folder in import_module(catalog.DOMAINS).__path__]
        parts = parts[1:]
    for folder in folders:
        place = folder.joinpath(*parts)
        for path in (place / "__init__.py", place.parent / f"{place.name}.py"):
            if path.is_file():
                return path
    return None


def _executed_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node of a source file but those that only a type checker reads."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _import_targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield what a node imports, with full names; some of them may be attributes of modules."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = package.rsplit(".", level - 1)[0] if level else ""
            origin = ".".join(part for part in (above, module) if part)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in names)


def nested_strings(value: Any) -> Iterator[str]:
    """Yield all strings in nested tables."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for item in value.values() for text in nested_strings(item))
        case list() | tuple():
            yield from (text for item in value for text in nested_strings(item))


def _shown_path(module: str) -> str:
    """Return the path of a module's file within the package, as messages show it."""
    source = _source(module)
    end = "/__init__.py" if source is not None and source.name == "__init__.py" else ".py"
    return module.removeprefix(f"{PACKAGE}.").replace(".", "/") + end
