"""A redacted copy of a run folder that others can check, and what differs when it is judged again."""

import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from reprlib import Repr
from typing import Any
from zipfile import BadZipFile, ZipFile

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Trials
from leakgauge.plan import Audit, plan_without_rounds, to_toml
from leakgauge.runner import manifest, redaction
from leakgauge.runner.audit_metadata import metadata_to_json
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.library_versions import installed_versions
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.positive_control import control_stores
from leakgauge.runner.redaction import HiddenValues
from leakgauge.runner.rollback import CONFORMANCE_FILE, EXPOSURE_FILE, PLAN_FILE, VERDICTS_FILE
from leakgauge.runner.run_verdicts import (
    collect_blocks,
    compare_transcripts,
    gate_folder,
    read_exposure_summary,
)
from leakgauge.summary import result_to_json
from leakgauge.support import files
from leakgauge.support.files import json_digest
from leakgauge.support.user_code import split_reference
from leakgauge.verdict import VERDICTS_SCHEMA
from leakgauge.version import VERSION

ABOUT = "bundle.json"
SCHEMA = 2
_LIBRARIES = ("numpy", "scipy", "altair", "vl-convert-python", "jinja2")  # that judge, or draw the report
_REQUIRED = (ABOUT, PLAN_FILE, manifest.NAME, VERDICTS_FILE, "report.html")
_MEMBER = re.compile(
    r"(bundle|manifest|verdicts|exposure|conformance)\.json|plan\.toml|report\.html"
    r"|audits/[^/]+/[^/]+/block-\d{8}\.npz|controls/[0-9a-f]{32}/(block-\d{8}\.npz|obstacle\.json)",
    re.ASCII,
)
_DRAWING = re.compile(rb'(?P<script><script.*?</script>)|(?<=<div class="static">).*?(?=</div>)', re.DOTALL)
_STATED = {  # what trials do not show, and its words
    "control": "positive control",
    "unread": "read by no attack",
    "understated_knowledge": "attackers who clear nobody",
    "overfitted_knowledge": "attackers for whom fitted thresholds say too much",
    "noise_is_stated": "the noise is what the owner of a service says",
    "coins": "how membership was decided",
    "own_attacks": "attacks of the owner's own",
    "event": "what gave people away",
    "studied": "what attacks worked out before",
    "n_targets": "number of targets",
    "guarantee": "promise, and in its curve what the best attacker could reach",
    "utility": "usefulness of the data",
    "notes": "notes on the data",
}
_TEXT = Repr()  # of values that may be long or deep
_TEXT.maxstring = 60
_TOLERANCE = 1e-9  # of numbers that other versions of libraries may round differently
_PEOPLE_FILES = {"exposure.csv": "it lists individuals", "exposure.html": "report.html shows what it shows"}


@dataclass(frozen=True, kw_only=True)
class RedactedCopy:
    """What a copy of a run folder holds, and what was left out or hidden, in words."""

    left_out: tuple[str, ...]
    hidden: tuple[str, ...]


def copy_redacted(folder: Path, copy: Path) -> tuple[RedactedCopy, HiddenValues]:
    """Write the trials, the plan and the manifest of a run to an empty folder, without people and paths."""
    content = manifest.load(folder)
    run = manifest.from_json(content, folder)
    hidden = redaction.hidden_values(run.plan)
    shown = redaction.redacted_run(run, hidden)
    manifest.write(shown, copy)
    files.write_file(copy / PLAN_FILE, to_toml(shown.plan).encode())
    transcripts = _copy_trials(run, shown, content, folder, copy, hidden)
    _copy_exposure(folder, copy, shown, hidden)
    left_out = [f"{name} ({why})" for name, why in _PEOPLE_FILES.items() if (folder / name).exists()]
    if transcripts:
        left_out.append(f"{transcripts} transcripts (they may hold values of people)")
    about = RedactedCopy(left_out=tuple(left_out), hidden=_hidden_words(hidden))
    return about, hidden


def _hidden_words(hidden: HiddenValues) -> tuple[str, ...]:
    counts = (
        (len(hidden.people), "name or value of people", "names or values of people"),
        (len(hidden.paths), "file path or address", "file paths or addresses"),
    )
    return tuple(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def _copy_trials(
    run: Manifest, shown: Manifest, content: dict[str, Any], folder: Path, copy: Path, hidden: HiddenValues
) -> int:
    """Copy blocks and controls; return how many transcripts were left out, whose tests are kept."""
    transcripts, conformance = 0, {}
    for audit, redacted in zip(run.plan.audits, shown.plan.audits):
        sequence = collect_blocks(audit, run, content, folder)
        for block, part in zip(split_rounds(audit.rounds, audit.block), sequence.parts):
            for label, trials in part.items():
                versions = run.stores(folder, audit)[label].versions_of(block)
                store = shown.stores(copy, redacted, versions)[label]
                store.save(block, replace(trials, transcripts=()))
                transcripts += len(trials.transcripts)
        seen = {
            label: compare_transcripts(audit, label, sequence.trials(label), run, folder)
            for label in sequence.labels
        }
        kept = {label: asdict(one) for label, one in seen.items() if one is not None}
        if kept:
            conformance[audit.name] = redaction.redacted_value(kept, hidden)
        _copy_controls(audit, redacted, run, shown, folder, copy, hidden)
    if conformance:
        files.write_json(copy / CONFORMANCE_FILE, conformance)
    return transcripts


def _copy_controls(
    audit: Audit,
    redacted: Audit,
    run: Manifest,
    shown: Manifest,
    folder: Path,
    copy: Path,
    hidden: HiddenValues,
) -> None:
    stores = control_stores(redacted, shown, copy)
    for label, store in control_stores(audit, run, folder).items():
        played: Trials | str | None = store.load()
        if isinstance(played, str):
            played = hidden.without(played)
        if played is not None and stores[label].load() is None:  # points of a sweep share them
            stores[label].save(played)


def _copy_exposure(folder: Path, copy: Path, shown: Manifest, hidden: HiddenValues) -> None:
    """Copy how many people are at risk, which names nobody and decides limits on people."""
    summary = read_exposure_summary(folder)
    if summary is None:
        return
    summary = redaction.redacted_value(summary, hidden)
    summary["plan"] = json_digest(plan_without_rounds(shown.plan))
    files.write_json(copy / EXPOSURE_FILE, {**summary, "checksum": json_digest(summary)})


def finish_copy(copy: Path, about: RedactedCopy, judged: str) -> None:
    """Write what a bundle says about itself; ``judged`` is the date that its report shows."""
    table = {"schema": SCHEMA, "judged": judged, "versions": judging_versions(), **asdict(about)}
    files.write_json(copy / ABOUT, table)


def judging_versions() -> dict[str, str]:
    """The versions of all that judges trials and draws the report."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"leakgauge": VERSION, "python": python, **installed_versions(_LIBRARIES)}


def bundle_members(copy: Path, hidden: HiddenValues, folders: frozenset[str]) -> dict[str, bytes]:
    """Read the files of a redacted copy; refuse to hand over a name or a path that is still in one."""
    members = {
        path.relative_to(copy).as_posix(): path.read_bytes()
        for path in sorted(copy.rglob("*"))
        if path.is_file() and path.name not in files.LOCK_NAMES
    }
    for name, content in members.items():
        if hidden.found_in(name.encode()) or hidden.found_in(content, folders):
            raise BadInput(
                f"{name} of the bundle would hold a name or path that the plan hides; nothing was written; "
                "the names of audits, labels, title and limits of a plan are shown: leave it out of those"
            )
    return members


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A value of a bundle that is not the one that follows from its trials.

    Attributes:
        where: The attacker, or the file.
        field: The name of the value, such as `metrics.accuracy.value`.
        stated: The value in the bundle, as text, which is cut if it is long.
        found: The value that follows from the trials, likewise.
    """

    where: str
    field: str
    stated: str
    found: str


def read_about(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Read what a bundle says about itself."""
    try:
        about = files.parse_json(members[ABOUT])
        schema, versions = about["schema"], about["versions"]
        if type(schema) is not int or not all(isinstance(one, str) for one in versions.values()):
            raise ValueError
        str(about["judged"]), list(about["left_out"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"{ABOUT} is missing or damaged, so it is no bundle; ask for the bundle again"
        ) from None
    if schema != SCHEMA:
        raise IncompleteRun(
            f"the bundle was written by another leakgauge ({versions.get('leakgauge')}); use that version"
        )
    return about


def other_versions(about: Mapping[str, Any]) -> list[str]:
    """Say which versions differ from those that judged a bundle."""
    now = judging_versions()
    return [
        f"{name} {then} judged it, here is {now.get(name, 'none')}"
        for name, then in about["versions"].items()
        if now.get(name) != then
    ]


def judge_again(copy: Path) -> tuple[dict[str, Any], list[Difference]]:
    """Judge the trials of an unpacked bundle; return the verdicts, and where those of the bundle differ."""
    try:
        stated = files.parse_json((copy / VERDICTS_FILE).read_bytes())
        entries, summary, schema = stated["verdicts"], stated["summary"], stated["schema"]
        named = [(str(entry["audit"]), str(entry["label"])) for entry in entries]
        dict(summary)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{VERDICTS_FILE} is missing or damaged; ask for the bundle again") from None
    if schema != VERDICTS_SCHEMA:
        raise IncompleteRun(
            f"{VERDICTS_FILE} has schema {schema}, and this leakgauge writes {VERDICTS_SCHEMA}; use the "
            "version that wrote it"
        )
    try:
        found = json.loads(json.dumps(result_to_json(gate_folder(copy)), default=str))
        _refuse_other_files(copy)
    except IncompleteRun as error:
        place = str(error).partition(": ")[2].partition("; continue")[0]
        raise BadInput(f"trials are missing or damaged: {place}; ask for the bundle again") from None
    again = {(entry["audit"], entry["label"]): entry for entry in found["verdicts"]}
    differences = list(_differences(VERDICTS_FILE, "keys", sorted(stated), sorted(found)))
    differences += _differences(
        VERDICTS_FILE, "attackers", sorted(map(list, named)), sorted(map(list, again))
    )
    for key, entry in zip(named, entries):
        differences += _differences(" / ".join(key), "", entry, again.get(key, entry))
    return found, [*differences, *_differences("summary", "", summary, found["summary"])]


def _refuse_other_files(copy: Path) -> None:
    """Refuse a bundle with trials or controls that are not those of its plan, which nothing would look at."""
    content = manifest.load(copy)
    run = manifest.from_json(content, copy)
    known = {copy / name for name in (*_REQUIRED, EXPOSURE_FILE, CONFORMANCE_FILE)}
    for audit in run.plan.audits:
        played = len(collect_blocks(audit, run, content, copy).parts)
        for store in run.stores(copy, audit).values():
            known |= {store.path(block) for block in split_rounds(audit.rounds, audit.block)[:played]}
        for control in control_stores(audit, run, copy).values():
            known |= set(control.saved_files())
    for path in copy.rglob("*"):
        if path.is_file() and path not in known:
            name = path.relative_to(copy).as_posix()
            raise BadInput(f"{name[:200]} is damaged, or no file of this plan; ask for the bundle again")


def taken_as_stated(copy: Path, found: Mapping[str, Any]) -> list[str]:
    """All that decides the verdicts of a bundle and does not follow from its trials, each with its audits."""
    run = manifest.from_json(manifest.load(copy), copy)
    audits_by_text: dict[str, list[str]] = {}
    for audit in run.plan.audits:
        table = metadata_to_json(run.metadata[audit.name])
        entries = [entry for entry in found["verdicts"] if entry["audit"] == audit.name]
        table["own_attacks"] = [one.attack for one in audit.contenders if split_reference(one.attack)]
        table |= {key: [entry[key] for entry in entries if entry.get(key)] for key in ("event", "studied")}
        for key, words in _STATED.items():
            if table[key] is not False and (text := _stated_text(table[key])):
                audits_by_text.setdefault(f"{words}: {text}", []).append(audit.name)
    return [
        f"{', '.join(names) if len(names) < len(run.plan.audits) else 'all audits'}: {text}"
        for text, names in audits_by_text.items()
    ]


def _stated_text(value: Any) -> str:
    """A value of a manifest in words, with texts in quotation marks; nothing of what is empty."""
    if isinstance(value, Mapping):
        texts = {key: _stated_text(item) for key, item in value.items() if key != "digest"}
        return ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in texts.items() if text)
    if isinstance(value, list | tuple):
        numbers = bool(value) and all(isinstance(item, float) for item in value)
        return f"{len(value)} numbers" if numbers else "; ".join(dict.fromkeys(map(_stated_text, value)))
    return "" if value is None else repr(str(value)) if isinstance(value, str) else f"{value}"


def unpacked_differences(copy: Path) -> list[Difference]:
    """Compare the plan and the digest of an unpacked bundle with its manifest."""
    content = manifest.load(copy)
    if content["plan_file"] is not None:
        raise BadInput(f"{manifest.NAME} names a file outside of the bundle; ask for the bundle again")
    run = manifest.from_json(content, copy)
    differences = list(
        _differences(
            manifest.NAME, "digest", run.digest, manifest.run_digest(run.plan, run.metadata, run.code)
        )
    )
    if (copy / PLAN_FILE).read_text("utf-8") != to_toml(run.plan):
        differences.append(
            Difference(where=PLAN_FILE, field="text", stated="another plan", found="the manifest's")
        )
    return differences


def _differences(where: str, field: str, stated: Any, found: Any) -> Iterator[Difference]:
    """Yield where two nested values differ; numbers may differ in their last digits."""
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        for key in {**stated, **found}:
            inner = f"{field}.{key}" if field else str(key)
            yield from _differences(where, inner, stated.get(key), found.get(key))
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for position, (one, other) in enumerate(zip(stated, found)):
            yield from _differences(where, f"{field}[{position}]", one, other)
    elif not _same(stated, found):
        yield Difference(where=where, field=field, stated=_TEXT.repr(stated), found=_TEXT.repr(found))


def _same(stated: Any, found: Any) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (stated, found))
    if numbers:
        return math.isclose(stated, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return type(stated) is type(found) and stated == found


def unpack(members: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a bundle to an empty folder; refuse files that no bundle has, as transcripts."""
    for name in members:
        if not _MEMBER.fullmatch(name):
            raise BadInput(f"{name[:80]} is no file of a bundle; ask for the bundle again")
    for name in _REQUIRED:
        if name not in members:
            raise BadInput(f"{name} is missing from the bundle; ask for the bundle again")
    for name, content in members.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise BadInput(f"{name[:80]} cannot be unpacked ({error.strerror})") from None


def differs_in_drawings_only(shown: bytes, again: bytes) -> bool:
    """Whether a page holds all that another one has outside of its drawings, from its first byte to its last.

    >>> again = b'<p>a</p><div class="static"><svg>b</svg></div><p>c</p>'
    >>> differs_in_drawings_only(again.replace(b"b", b"d"), again)
    True
    >>> differs_in_drawings_only(again.replace(b"c", b"d"), again)
    False
    """
    spans = [match.span() for match in _DRAWING.finditer(again) if not match["script"]]
    edges = [0, *(edge for span in spans for edge in span), len(again)]
    *pieces, last = (again[start:end] for start, end in zip(edges[::2], edges[1::2]))
    if not pieces or not shown.startswith(pieces[0]):
        return False
    place = 0
    for piece in pieces:
        if (found := shown.find(piece, place)) < 0:
            return False
        place = found + len(piece)
    return shown.endswith(last) and place + len(last) <= len(shown)


def digest_in_zip(path: Path) -> str | None:
    """The digest of the run in a bundle; nothing where a zip file is no bundle."""
    try:
        with ZipFile(path) as archive:
            found = files.parse_json(archive.read(manifest.NAME))["digest"]
    except (BadZipFile, KeyError, ValueError, TypeError, OSError, RuntimeError):
        return None
    return found if isinstance(found, str) else None


def set_judged_date(copy: Path, seconds: float) -> None:
    """Let a report show this date as that of its verdicts."""
    os.utime(copy / VERDICTS_FILE, (seconds, seconds))
