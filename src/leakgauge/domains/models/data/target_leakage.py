"""Columns that alone tell the class of a row, or the group it belongs to."""

from collections.abc import Mapping

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import CategoricalColumn, Ints, RawTable, TableColumn

WARNING_AUC = 0.95  # an AUC from which a report names the column
MIN_ROWS = 20  # rows of a class or group, for its AUC to mean anything
MAX_BINS = 64  # of numbers that have more values
GOLDEN = (5**0.5 - 1) / 2


def leakage_warnings(sheet: RawTable) -> tuple[str, ...]:
    """Warnings for reports, one for each column that tells the class, or one of the groups, nearly always."""
    notes = []
    for name, column in sheet.features.items():
        if isinstance(column, CategoricalColumn) and len(column.values) == len(column) >= MIN_ROWS:
            notes.append(
                f"WARNING: {name!r} has a text of its own in every row, which a model learns by heart; if it "
                "names the rows, drop it"
            )
        bins = _binned(column)
        auc = _mean_auc(column_aucs(bins, sheet.label))
        if auc >= WARNING_AUC:
            notes.append(
                f"WARNING: {name!r} alone predicts the label (AUC {auc:.3f}); does it hold what is to be "
                "predicted? drop it, if so"
            )
        notes.extend(_group_warnings(name, bins, sheet.groups))
    return tuple(notes)


def _group_warnings(name: str, bins: Ints, groups: Mapping[str, CategoricalColumn]) -> list[str]:
    notes = []
    for of, group in groups.items():
        found = column_aucs(bins, group)
        auc, value = max(((auc, value) for value, (auc, _) in found.items()), default=(0.0, ""))
        if auc >= WARNING_AUC:
            notes.append(
                f"WARNING: {name!r} alone tells {of} = {value!r} from all others (AUC {auc:.3f}); members "
                f"are known without the model where {of} decides who is one; drop it"
            )
    return notes


def column_aucs(bins: Ints, of: CategoricalColumn) -> dict[str, tuple[float, int]]:
    """How well a binned column tells each value from all others: its AUC, and how many rows have the value.

    One half of the rows says how frequent the value is in each bin; the other half is then ordered by that,
    and counted. So a column of names, all different, tells nothing. The halves follow no period of the file.
    """
    halves = (np.arange(bins.size) * GOLDEN % 1 < 0.5).astype(np.int64)
    shape = (2, int(bins.max()) + 1, len(of.values))
    flat = np.ravel_multi_index((halves, bins, of.codes), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    learnt, counted = counts
    totals = learnt.sum(axis=1, keepdims=True)
    overall = learnt.sum(axis=0) / max(learnt.sum(), 1)
    shares = np.where(totals > 0, learnt / np.maximum(totals, 1), overall)
    rows = counts.sum(axis=(0, 1)).astype(int).tolist()
    aucs = _aucs(shares, counted, counted.sum(axis=1, keepdims=True) - counted).tolist()
    return {
        value: (aucs[i], rows[i])
        for i, value in enumerate(of.values)
        if rows[i] >= MIN_ROWS and sum(rows) - rows[i] >= MIN_ROWS
    }


def _mean_auc(found: dict[str, tuple[float, int]]) -> float:
    """The AUC of one class against all others, averaged over rows."""
    total = sum(rows for _, rows in found.values())
    return sum(auc * rows for auc, rows in found.values()) / total if total else 0.0


def _aucs(scores: Reals, hits: Reals, others: Reals) -> Reals:
    """AUC of each column: bins (rows) have scores, so many rows in question and so many others.

    Bins of equal score count one half: the mean of both orders in which they can come.
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
