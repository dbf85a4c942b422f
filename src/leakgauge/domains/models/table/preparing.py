"""From what a file holds to the rows of a game: nothing missing, no row twice, all features scaled."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.loaded import DUPLICATES, Loaded
from leakgauge.domains.models.table.duplicates import kept_once
from leakgauge.domains.models.table.encoding import encoded
from leakgauge.domains.models.table.giveaways import giveaways
from leakgauge.domains.models.table.imputing import require_whole
from leakgauge.domains.models.table.sheet import Category, Sheet

Duplicates: TypeAlias = Literal["remove", "keep"]


@dataclass(frozen=True)
class Source:
    """Where a sheet came from: a name for reports, and a digest of the files and of what was asked."""

    name: str
    digest: str


def source(name: str, paths: Sequence[Path], asked: str) -> Source:
    """A source of some files; where they lie does not matter."""
    words = [asked]
    for path in paths:
        with path.open("rb") as content:
            words.append(file_digest(content, "sha256").hexdigest())
    return Source(name, sha256("\n".join(words).encode()).hexdigest())


def prepared(sheet: Sheet, origin: Source, duplicates: Duplicates, seed: int) -> Loaded:
    """Encode, scale, and remove rows that occur twice; the seed decides which of them stays."""
    if not len(sheet):
        raise BadInput(f"data.source: {origin.name} has no rows; a game needs members and others")
    _require_given("the label", sheet.label)
    for name, group in sheet.groups.items():
        _require_given(f"group {name!r}", group)
    if len(sheet.label.values) < 2:
        raise BadInput(
            f"data: all {len(sheet)} rows of {origin.name} have the label {sheet.label.values[0]!r}; a model "
            "of one class has nothing to learn: bring rows of two classes, or name another column"
        )
    require_whole(sheet, "mend or remove them; is the file whole?")
    rows, names, constant = encoded(sheet)
    labels, groups, digest = sheet.label.codes, dict(sheet.groups), origin.digest
    notes = [f"{origin.name}: {len(rows):,} rows, {len(names)} features, {len(sheet.label.values)} classes"]
    notes += sheet.notes
    if constant:
        notes.append(f"left out, for all rows are the same in them: {', '.join(map(repr, constant))}")
    if duplicates == "remove":
        kept = kept_once(rows, labels, stream(seed, Role.DATA, DUPLICATES))
        if lost := len(rows) - kept.size:
            notes.append(f"left out: {lost:,} of {len(rows):,} rows, which occur more than once")
            rows, labels = rows[kept], labels[kept]
            groups = {name: group.where(kept) for name, group in groups.items()}
            digest = sha256(f"{digest} {seed}".encode()).hexdigest()
    rows.setflags(write=False)
    return Loaded(
        rows=rows,
        labels=labels,
        classes=sheet.label.values,
        names=names,
        digest=digest,
        groups=groups,
        notes=(*notes, *giveaways(sheet)),
    )


def _require_given(what: str, column: Category) -> None:
    if n := int(column.missing.sum()):
        raise BadInput(f"data: {what} has no value in {n} of {len(column)} rows; mend or remove them")
