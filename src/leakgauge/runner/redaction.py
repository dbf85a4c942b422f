"""A run as others may see it: without names of people, paths of files and addresses, wherever they stand."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import available_timezones

from leakgauge import catalog
from leakgauge.plan import Audit, Contender, Plan
from leakgauge.runner import manifest
from leakgauge.runner.audit_metadata import AuditMetadata
from leakgauge.runner.code_digest import audit_tables, nested_strings
from leakgauge.runner.manifest import Manifest
from leakgauge.support.user_code import split_reference

NO_PATH, NO_VALUE = "(path not shown)", "(not shown)"
_FILE_NAME = re.compile(
    r"[^\s%]+\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"|[^\n]+\.(arrow|csv|db|duckdb|feather|geojson|gz|jpe?g|jsonl?|ndjson|np[yz]|onnx|parquet|pdf|pq|pt|py|pkl"
    r"|sqlite|toml|tsv|txt|xlsx?|xml|zip)",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")
_TIME_FORMAT = re.compile(r"(?=.*%[A-Za-z])(?:%[A-Za-z%]|[^\w%]|[\dTZ])+")
_SHORTEST_NAME = 4  # characters: shorter ones are found in any text by chance
_TEXT_ENCODINGS = ("utf-8", "utf-16-le", "utf-32-le")


@dataclass(frozen=True)
class HiddenValues:
    """What a redacted run must not hold: strings of the plan under private keys, and paths."""

    people: frozenset[str]
    paths: frozenset[str]  # as the plan writes them

    @property
    def places(self) -> frozenset[str]:
        """All texts that say where files are: the paths, and their last parts."""
        ends = (PureWindowsPath(path).name for path in self.paths)
        return frozenset({*self.paths, *(end for end in ends if _SUFFIX.search(end))})

    def without(self, text: str) -> str:
        """Return a text with every path in it replaced, the longest first."""
        for place in sorted(self.places, key=len, reverse=True):
            text = text.replace(place, NO_PATH)
        return text

    def found_in(self, content: bytes, folders: frozenset[str] = frozenset()) -> bool:
        """Whether bytes hold a name, a path or one of some folders of this machine, as text."""
        places = {text for text in {*self.places, *folders} if len(text) >= _SHORTEST_NAME}
        return any(_bytes_in(text, content) for text in places) or any(
            _word_in(name, content) for name in self.people if len(name) >= _SHORTEST_NAME
        )


def machine_folders(*folders: Path) -> frozenset[str]:
    """The absolute paths of folders and of the user's home, none of which others may see."""
    return frozenset(str(folder.resolve()) for folder in (Path.home(), *folders))


def hidden_values(plan: Plan) -> HiddenValues:
    """Collect what a plan holds and others must not see."""
    shown = manifest.redacted_plan(plan)
    people, paths = set(), set()
    for audit, redacted in zip(plan.audits, shown.audits):
        for before, after in zip(audit_tables(audit), audit_tables(redacted)):
            people |= set(_changed_strings(before, after))
            paths |= {text for text in nested_strings(after) if _is_path(text, plan.folder)}
        people |= {text for table in audit_tables(redacted) for text in _private_strings(table, audit)}
    return HiddenValues(frozenset(people - paths), frozenset(paths))


def redacted_run(run: Manifest, hidden: HiddenValues) -> Manifest:
    """Return a run without names, paths and the place of its plan; its digest is that of what it shows.

    The digest of the run itself would confirm a guess of a name.
    """
    audits = tuple(_redacted_audit(audit, hidden) for audit in manifest.redacted_plan(run.plan).audits)
    plan = replace(run.plan, audits=audits, path=None, text=None)
    metadata = {name: _redacted_metadata(one, hidden) for name, one in run.metadata.items()}
    return replace(run, plan=plan, metadata=metadata, digest=manifest.run_digest(plan, metadata, run.code))


def redacted_value(value: Any, hidden: HiddenValues) -> Any:
    """Return nested tables with every path and name that is a whole value hidden, and paths within texts."""
    match value:
        case str():
            return NO_VALUE if value in hidden.people else hidden.without(value)
        case Mapping():
            return {key: redacted_value(item, hidden) for key, item in value.items()}
        case list() | tuple():
            return type(value)(redacted_value(item, hidden) for item in value)
    return value


def _redacted_audit(audit: Audit, hidden: HiddenValues) -> Audit:
    tables = {
        name: redacted_value(getattr(audit, name), hidden) for name in ("data", "challenger", "mechanism")
    }
    contenders = tuple(_redacted_contender(contender, hidden) for contender in audit.contenders)
    return replace(audit, **tables, contenders=contenders)


def _redacted_contender(contender: Contender, hidden: HiddenValues) -> Contender:
    return replace(
        contender,
        attack_parameters=redacted_value(contender.attack_parameters, hidden),
        knowledge_parameters=redacted_value(contender.knowledge_parameters, hidden),
    )


def _redacted_metadata(metadata: AuditMetadata, hidden: HiddenValues) -> AuditMetadata:
    control = metadata.control
    if control is not None:
        none = control.none and replace(control.none, reason=hidden.without(control.none.reason))
        control = replace(control, none=none, caveat=control.caveat and hidden.without(control.caveat))
    notes = tuple(hidden.without(note) for note in metadata.notes)
    return replace(metadata, notes=notes, control=control)


def _changed_strings(before: Any, after: Any) -> Iterator[str]:
    """Yield the strings of a table that its redacted form does not show."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in before.items():
            yield from _changed_strings(value, after.get(key))
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple) and len(before) == len(after):
        for one, other in zip(before, after):
            yield from _changed_strings(one, other)
    elif before != after:
        yield from nested_strings(before)


def _private_strings(table: Any, audit: Audit) -> Iterator[str]:
    """Yield the strings under private keys that name no function."""
    domain = catalog.get_domain(audit.domain)
    private = {*domain.private_keys, *domain.private_knowledge_keys}
    if isinstance(table, list | tuple):
        for item in table:
            yield from _private_strings(item, audit)
    elif isinstance(table, Mapping):
        for key, value in table.items():
            if isinstance(value, str) and key in private and value != NO_VALUE:
                yield from () if _names_code(value) else (value,)
            yield from _private_strings(value, audit)


def _names_code(text: str) -> bool:
    """Whether a string is "module:name"; a module of one letter would be a drive."""
    parts = split_reference(text)
    return parts is not None and len(parts[0]) > 1


def _is_path(text: str, folder: Path) -> bool:
    """Whether a string of a plan says where something is: a path, the name of a file, or an address."""
    if not text or text in (NO_PATH, NO_VALUE) or _names_code(text) or _TIME_FORMAT.fullmatch(text):
        return False
    if "/" in text or "\\" in text:
        return text not in _time_zones()
    if _FILE_NAME.fullmatch(text) or PurePosixPath(text).parts[:1] == ("~",):
        return True
    try:
        return (folder / text).is_file()
    except OSError:  # too long for a name
        return False


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _bytes_in(text: str, content: bytes) -> bool:
    escaped = text.replace("\\", "\\\\")  # as JSON and TOML write it
    return any(
        form.encode(encoding, "surrogatepass") in content
        for form in {text, escaped}
        for encoding in _TEXT_ENCODINGS
    )


def _word_in(text: str, content: bytes) -> bool:
    """Whether a name stands in bytes as a word of its own; in wide encodings, anywhere."""
    if any(text.encode(encoding, "surrogatepass") in content for encoding in _TEXT_ENCODINGS[1:]):
        return True
    pattern = rb"(?<![\w])" + re.escape(text.encode(errors="surrogatepass")) + rb"(?![\w])"
    return re.search(pattern, content) is not None
