"""Prepare the columns of a file for a game: no missing values, no duplicates, one-hot encoded and scaled."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data.dataset import (
    DUPLICATES_STREAM,
    CategoricalColumn,
    EncodedTable,
    FeatureRows,
    Ints,
    RawTable,
    TableColumn,
)
from leakgauge.domains.models.data.imputation import require_complete
from leakgauge.domains.models.data.target_leakage import leakage_warnings

DuplicatePolicy: TypeAlias = Literal["remove", "keep"]

MAX_CATEGORIES = 1_000  # in a column of texts; more are likely names or identifiers


def deduplicated_rows(rows: FeatureRows, labels: Ints, rng: Generator) -> Ints:
    """Of rows with equal features and label keep one, drawn at random; the order of the table stays.

    A row that occurs in two groups is kept in the group of the copy that was drawn.
    """
    whole = np.ascontiguousarray(np.column_stack([rows, labels.astype(np.float32)])) + np.float32(0)  # no -0
    as_one = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    order = rng.permutation(len(rows))
    _, first = np.unique(as_one[order], return_index=True)
    return np.sort(order[first])


def encode_features(sheet: RawTable) -> tuple[FeatureRows, tuple[str, ...], tuple[str, ...]]:
    """The features, their names, and the constant columns, which are left out.

    Two texts become 0 and 1, more become one feature each; numbers are kept. All features are then scaled to
    [0, 1] by their smallest and largest value over all rows, as in Humphries et al. (2023): scaling within a
    group would reveal the group.
    """
    features, names, constant = [], [], []
    for name, column in sheet.features.items():
        encoded = _column_features(name, column)
        if not encoded:
            constant.append(name)
        for feature, values in encoded:
            names.append(feature)
            features.append(values)
    if not features:
        raise BadInput(f"data: none of {len(sheet.features)} columns varies; a model needs features")
    return np.column_stack(features), tuple(names), tuple(constant)


def _column_features(name: str, column: TableColumn) -> list[tuple[str, FeatureRows]]:
    if not isinstance(column, CategoricalColumn):
        low, high = column.min(), column.max()
        if not high > low:
            return []
        with np.errstate(over="ignore"):
            width = high - low
        if not np.isfinite(width):
            raise BadInput(f"data: {name!r} ranges from {low:g} to {high:g}, too wide to be scaled; drop it")
        return [(name, ((column - low) / width).astype(np.float32))]
    present = np.unique(column.codes)
    if present.size < 2:
        return []
    if present.size > MAX_CATEGORIES:
        raise BadInput(
            f"data: {name!r} has {present.size:,} different texts, more than {MAX_CATEGORIES:,}; if it "
            "identifies the rows, drop it"
        )
    shown = present[1:] if present.size == 2 else present
    return [(f"{name}={column.values[code]}", (column.codes == code).astype(np.float32)) for code in shown]


@dataclass(frozen=True)
class DataSource:
    """Where a table came from: a name for reports, and a digest of the files and reading options."""

    name: str
    digest: str


def data_source(name: str, paths: Sequence[Path], options: str) -> DataSource:
    """A source made of files; their folder does not matter."""
    digested = [options]
    for path in paths:
        with path.open("rb") as content:
            digested.append(file_digest(content, "sha256").hexdigest())
    return DataSource(name, sha256("\n".join(digested).encode()).hexdigest())


def prepare_table(
    sheet: RawTable, origin: DataSource, duplicates: DuplicatePolicy, seed: int
) -> EncodedTable:
    """Encode, scale, and remove duplicate rows; the seed decides which copy stays."""
    if not len(sheet):
        raise BadInput(f"data.source: {origin.name} has no rows; an audit needs members and others")
    _require_values("the label", sheet.label)
    for name, group in sheet.groups.items():
        _require_values(f"group {name!r}", group)
    if len(sheet.label.values) < 2:
        raise BadInput(
            f"data: all {len(sheet)} rows of {origin.name} have the label {sheet.label.values[0]!r}; a "
            "classifier needs two classes: bring rows of another class, or name another column"
        )
    require_complete(sheet, "fix or remove them; check that it is complete")
    rows, names, constant = encode_features(sheet)
    labels, groups, digest = sheet.label.codes, dict(sheet.groups), origin.digest
    notes = [f"{origin.name}: {len(rows):,} rows, {len(names)} features, {len(sheet.label.values)} classes"]
    notes += sheet.notes
    if constant:
        notes.append(f"left out, for all rows are the same in them: {', '.join(map(repr, constant))}")
    if duplicates == "remove":
        kept = deduplicated_rows(rows, labels, stream(seed, Role.DATA, DUPLICATES_STREAM))
        if lost := len(rows) - kept.size:
            notes.append(f"left out: {lost:,} of {len(rows):,} rows, which occur more than once")
            rows, labels = rows[kept], labels[kept]
            groups = {name: group.where(kept) for name, group in groups.items()}
            digest = sha256(f"{digest} {seed}".encode()).hexdigest()
    rows.setflags(write=False)
    return EncodedTable(
        rows=rows,
        labels=labels,
        classes=sheet.label.values,
        names=names,
        digest=digest,
        groups=groups,
        notes=(*notes, *leakage_warnings(sheet)),
    )


def _require_values(what: str, column: CategoricalColumn) -> None:
    if n := int(column.missing.sum()):
        raise BadInput(f"data: {what} has no value in {n} of {len(column)} rows; fix or remove them")
