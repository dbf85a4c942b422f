"""Which column of a model's answer belongs to the label of a record."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.own.columns import Labels
from leakgauge.domains.models.table.sheet import SHOWN, Ints


def positions(labels: Labels, n_classes: int, classes: Sequence[Any] | None) -> Ints:
    """The number of each record's class; a model may say what its ``classes`` are.

    Otherwise whole numbers from 0 count the columns, and other labels stand for them in their order, if there
    are as many.
    """
    if classes is None:
        classes = _classes(labels, n_classes)
    elif len(classes) < 2:
        raise BadInput(f"challenger.model: it knows one class alone, {classes[0]}; a classifier has two")
    elif len(classes) != n_classes:
        raise BadInput(
            f"challenger.model: it names {len(classes)} classes, but returns {n_classes} columns; mend it"
        )
    place = {_plain(name): number for number, name in enumerate(classes)}
    found = np.array([place.get(_plain(label), -1) for label in labels.tolist()], dtype=np.int64)
    if (strange := np.flatnonzero(found < 0)).size:
        known = ", ".join(map(str, list(classes)[:SHOWN])) + ", ..." * (len(classes) > SHOWN)
        raise BadInput(
            f"data.label: {labels[strange[0]]!r} in row {strange[0]} (counted from 0) is no class of the "
            f"model; known: {known}"
        )
    return found


def _classes(labels: Labels, n_classes: int) -> Sequence[Any]:
    present = sorted(set(labels.tolist()))
    if all(label in range(n_classes) for label in present):  # no text is
        return range(n_classes)
    if len(present) != n_classes:
        raise BadInput(
            f"data.label: {len(present)} different labels, but {n_classes} columns of answers; number the "
            f"classes 0 to {n_classes - 1}, in the order of the columns"
        )
    return present


def _plain(name: Any) -> float | str:
    """A class as files write it: numbers by their value, truth values and texts by their words."""
    if isinstance(name, (bool, np.bool_)):
        return str(bool(name)).lower()
    if isinstance(name, (int, float, np.integer, np.floating)):
        return float(name)
    return str(name)
