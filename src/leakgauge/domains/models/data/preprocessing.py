"""Prepare the columns of a file for a game: no missing values, no duplicates, one-hot encoded and scaled.

Missing values are imputed. Columns that alone predict the class of a row, or its group, are target leakage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data import dataset

DuplicatePolicy: TypeAlias = Literal["remove", "keep"]

WARNING_AUC = 0.95  # from which a report warns about the column
MIN_ROWS = 20  # of a class or group, for a meaningful AUC
MAX_BINS = 64  # of a numeric column
GOLDEN_RATIO = (5**0.5 - 1) / 2
MAX_CATEGORIES = 1_000  # in a column of texts; more are likely names or identifiers


def missing_mask(column: dataset.TableColumn) -> Bits:
    """The rows in which a column has a missing value."""
    return column.missing if isinstance(column, dataset.CategoricalColumn) else np.isnan(column)


def impute_column(column: dataset.TableColumn, name: str, *, by_mode: bool = False) -> dataset.TableColumn:
    """Impute a column: numbers by the mean of all rows, texts (and ``by_mode``) by the most frequent value.

    Among equally frequent values the first in sorted order is taken.
    """
    lost = missing_mask(column)
    if not lost.any():
        return column
    if lost.all():
        raise BadInput(f"data: {name!r} has no value in any of {lost.size} rows; drop the column")
    if isinstance(column, dataset.CategoricalColumn):
        usual = np.bincount(column.codes[~lost]).argmax()
        return dataset.CategoricalColumn(np.where(lost, usual, column.codes), column.values)
    if not by_mode:
        return np.where(lost, column[~lost].mean(), column)
    values, counts = np.unique(column[~lost], return_counts=True)
    return np.where(lost, values[counts.argmax()], column)


def impute_table(sheet: dataset.RawTable, by_mode: tuple[str, ...] = ()) -> dataset.RawTable:
    """Impute all columns from all rows together, so that imputed values do not reveal a group."""
    gaps = {name: int(missing_mask(column).sum()) for name, column in sheet.features.items()}
    total, columns = sum(gaps.values()), sum(n > 0 for n in gaps.values())
    if not total:
        return sheet
    features: Mapping[str, dataset.TableColumn] = {
        name: impute_column(column, name, by_mode=name in by_mode) for name, column in sheet.features.items()
    }
    note = (
        f"{total:,} missing values in {columns} column{'s' * (columns > 1)} were imputed by the mean or the "
        "most frequent value of all rows"
    )
    return replace(sheet, features=features, notes=(*sheet.notes, note))


def require_complete(sheet: dataset.RawTable, way_out: str) -> None:
    """Refuse a table with missing values or infinite numbers."""
    for name, column in sheet.features.items():
        if n := int(missing_mask(column).sum()):
            raise BadInput(
                f"data: {name!r} has no value (or NaN) in {n} of {len(sheet)} rows; a model needs one in "
                f"each: {way_out}"
            )
        if not isinstance(column, dataset.CategoricalColumn) and not np.isfinite(column).all():
            row = int(np.flatnonzero(~np.isfinite(column))[0])
            raise BadInput(
                f"data: {name!r} holds an infinity in row {row} (the first is 0); fix or remove the row"
            )


def leakage_warnings(sheet: dataset.RawTable) -> tuple[str, ...]:
    """Warnings for reports: columns that almost always predict the class or a group."""
    notes = []
    for name, column in sheet.features.items():
        if isinstance(column, dataset.CategoricalColumn) and len(column.values) == len(column) >= MIN_ROWS:
            notes.append(
                f"WARNING: {name!r} has a different text in every row, which a model memorises; if it "
                "identifies the rows, drop it"
            )
        bins = _binned(column)
        auc = _mean_auc(column_aucs(bins, sheet.label))
        if auc >= WARNING_AUC:
            notes.append(
                f"WARNING: {name!r} alone predicts the label (AUC {auc:.3f}); if it was "
                "derived from the label, drop it"
            )
        notes.extend(_group_warnings(name, bins, sheet.groups))
    return tuple(notes)


def _group_warnings(name: str, bins: Ints, groups: Mapping[str, dataset.CategoricalColumn]) -> list[str]:
    notes = []
    for of, group in groups.items():
        aucs = column_aucs(bins, group)
        auc, value = max(((auc, value) for value, (auc, _) in aucs.items()), default=(0.0, ""))
        if auc >= WARNING_AUC:
            notes.append(
                f"WARNING: {name!r} alone predicts {of} = {value!r} (AUC {auc:.3f}); where {of} decides "
                "who is a member, members are known without the model: drop it"
            )
    return notes


def column_aucs(bins: Ints, of: dataset.CategoricalColumn) -> dict[str, tuple[float, int]]:
    """How well a binned column predicts each value: the AUC, and the number of rows with the value.

    The share of the value in each bin is estimated on one half of the rows, and the AUC computed on the other
    half, so that a column of different names predicts nothing. The halves follow no period of the file.
    """
    halves = (np.arange(bins.size) * GOLDEN_RATIO % 1 < 0.5).astype(np.int64)
    shape = (2, int(bins.max()) + 1, len(of.values))
    flat = np.ravel_multi_index((halves, bins, of.codes), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    estimated, counted = counts
    totals = estimated.sum(axis=1, keepdims=True)
    overall = estimated.sum(axis=0) / max(estimated.sum(), 1)
    shares = np.where(totals > 0, estimated / np.maximum(totals, 1), overall)
    rows = counts.sum(axis=(0, 1)).astype(int).tolist()
    aucs = _aucs(shares, counted, counted.sum(axis=1, keepdims=True) - counted).tolist()
    return {
        value: (aucs[i], rows[i])
        for i, value in enumerate(of.values)
        if rows[i] >= MIN_ROWS and sum(rows) - rows[i] >= MIN_ROWS
    }


def _mean_auc(aucs: dict[str, tuple[float, int]]) -> float:
    """The AUC of one class against the others, averaged over rows."""
    total = sum(rows for _, rows in aucs.values())
    return sum(auc * rows for auc, rows in aucs.values()) / total if total else 0.0


def _aucs(scores: Reals, hits: Reals, others: Reals) -> Reals:
    """The AUC of each column, from the scores of bins and how many positives and others are in each.

    Bins of equal score count one half: the mean over both orders of tied bins.
    """
    before = np.zeros(scores.shape[1])
    for turn in (slice(None), slice(None, None, -1)):
        order = np.argsort(scores[turn], axis=0, kind="stable")
        ours, theirs = (np.take_along_axis(counts[turn], order, axis=0) for counts in (hits, others))
        before += (ours * (np.cumsum(theirs, axis=0) - theirs / 2)).sum(axis=0) / 2
    pairs = hits.sum(axis=0) * others.sum(axis=0)
    return np.where(pairs > 0, before / np.maximum(pairs, 1), 0.5)


def _binned(column: dataset.TableColumn) -> Ints:
    if isinstance(column, dataset.CategoricalColumn):
        return column.codes
    values, bins = np.unique(column, return_inverse=True)
    if values.size <= MAX_BINS:
        return bins
    edges = np.unique(np.quantile(column, np.linspace(0, 1, MAX_BINS + 1)[1:-1]))
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def deduplicated_rows(rows: dataset.FeatureRows, labels: Ints, rng: Generator) -> Ints:
    """Of rows with equal features and label keep one, drawn at random; the order of the table stays.

    A row that occurs in two groups is kept in the group of the copy that was drawn.
    """
    whole = np.ascontiguousarray(np.column_stack([rows, labels.astype(np.float32)])) + np.float32(0)  # no -0
    as_one = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    order = rng.permutation(len(rows))
    _, first = np.unique(as_one[order], return_index=True)
    return np.sort(order[first])


def encode_features(sheet: dataset.RawTable) -> tuple[dataset.FeatureRows, tuple[str, ...], tuple[str, ...]]:
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


def _column_features(name: str, column: dataset.TableColumn) -> list[tuple[str, dataset.FeatureRows]]:
    if not isinstance(column, dataset.CategoricalColumn):
        low, high = column.min(), column.max()
        if not high > low:
            return []
        with np.errstate(over="ignore"):
            width = high - low
        if not np.isfinite(width):
            raise BadInput(f"data: the values of {name!r} are too far apart to be scaled; drop it")
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
    sheet: dataset.RawTable, origin: DataSource, duplicates: DuplicatePolicy, seed: int
) -> dataset.EncodedTable:
    """Encode, scale, and remove duplicate rows; the seed decides which copy stays."""
    if not len(sheet):
        raise BadInput(f"data.source: {origin.name} has no rows; an audit needs members and others")
    _require_values("the label", sheet.label)
    for name, group in sheet.groups.items():
        _require_values(f"group {name!r}", group)
    if len(sheet.label.values) < 2:
        raise BadInput(
            f"data: all {len(sheet)} rows of {origin.name} have the same label; a "
            "classifier needs two classes: bring rows of another class, or name another column"
        )
    require_complete(sheet, "fix or remove them; check that it is complete")
    called = _record_names(sheet.names)
    rows, names, constant = encode_features(sheet)
    labels, groups, digest = sheet.label.codes, dict(sheet.groups), origin.digest
    notes = [f"{origin.name}: {len(rows):,} rows, {len(names)} features, {len(sheet.label.values)} classes"]
    notes += sheet.notes
    if constant:
        notes.append(f"left out, for all rows are the same in them: {', '.join(map(repr, constant))}")
    if duplicates == "remove":
        kept = deduplicated_rows(rows, labels, stream(seed, Role.DATA, dataset.DUPLICATES_STREAM))
        if lost := len(rows) - kept.size:
            notes.append(f"left out: {lost:,} of {len(rows):,} rows, which occur more than once")
            rows, labels = rows[kept], labels[kept]
            groups = {name: group.where(kept) for name, group in groups.items()}
            called = None if called is None else tuple(called[row] for row in kept.tolist())
            digest = sha256(f"{digest} {seed}".encode()).hexdigest()
    rows.setflags(write=False)
    return dataset.EncodedTable(
        rows=rows,
        labels=labels,
        classes=sheet.label.values,
        names=names,
        digest=digest,
        groups=groups,
        notes=(*notes, *leakage_warnings(sheet)),
        record_names=called,
    )


def _record_names(column: dataset.CategoricalColumn | None) -> tuple[str, ...] | None:
    """The name of each record, all of them different."""
    if column is None:
        return None
    _require_values("name", column)
    if len(column.values) < len(column):
        raise BadInput(
            f"data.name: {len(column) - len(column.values)} of {len(column)} rows have the name of another "
            "one; name a column that identifies records, or leave it out"
        )
    return tuple(column.values[code] for code in column.codes.tolist())


def _require_values(what: str, column: dataset.CategoricalColumn) -> None:
    if n := int(column.missing.sum()):
        raise BadInput(f"data: {what} has no value in {n} of {len(column)} rows; fix or remove them")
