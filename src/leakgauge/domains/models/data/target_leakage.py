"""Target leakage: columns that alone predict the class of a row, or its group."""

from collections.abc import Mapping

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import CategoricalColumn, Ints, RawTable, TableColumn

WARNING_AUC = 0.95  # from which a report warns about the column
MIN_ROWS = 20  # of a class or group, for a meaningful AUC
MAX_BINS = 64  # of a numeric column
GOLDEN_RATIO = (5**0.5 - 1) / 2


def leakage_warnings(sheet: RawTable) -> tuple[str, ...]:
    """Warnings for reports: columns that almost always predict the class or a group."""
    notes = []
    for name, column in sheet.features.items():
        if isinstance(column, CategoricalColumn) and len(column.values) == len(column) >= MIN_ROWS:
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


def _group_warnings(name: str, bins: Ints, groups: Mapping[str, CategoricalColumn]) -> list[str]:
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


def column_aucs(bins: Ints, of: CategoricalColumn) -> dict[str, tuple[float, int]]:
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


def _binned(column: TableColumn) -> Ints:
    if isinstance(column, CategoricalColumn):
        return column.codes
    values, bins = np.unique(column, return_inverse=True)
    if values.size <= MAX_BINS:
        return bins
    edges = np.unique(np.quantile(column, np.linspace(0, 1, MAX_BINS + 1)[1:-1]))
    return np.searchsorted(edges, column, side="right").astype(np.int64)
