"""Which component a record is of, judged by the record alone: the second step of property inference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.models.kinds.component_ratios import odds
from leakgauge.domains.models.kinds.softmax import Softmax, fit
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.training.learning import Examples, together

_STRENGTH = 100.0
_MOST_ROWS = 20_000
_MOST_COLUMNS = 2_000
HELD = 4  # every fourth row is kept to measure accuracy


@dataclass(frozen=True, eq=False)
class RecordKinds:
    """Log chances of each component given a record; ``accuracy`` is that on rows kept for it."""

    softmax: Softmax
    accuracy: float

    def __call__(self, records: Examples) -> Reals:
        return self.softmax.log_chances(columns_of(records))


class Shown(Protocol):
    """Whatever else is seen, the records in question are."""

    @property
    def shown(self) -> Sequence[Examples]: ...


@dataclass(frozen=True, eq=False)
class ByRecord:
    """Scores records by the log odds of the first of two kinds; nothing else is looked at."""

    records: RecordKinds

    def __call__(self, seen: Shown, rng: Generator) -> Reals:
        return np.array([odds(self.records(shown), 0) for shown in seen.shown])


def learn(kinds: Sequence[Examples], rng: Generator) -> RecordKinds:
    """Learn from the adversary's own rows of each component; components are as likely as one another."""
    everything = together(*kinds)
    codes: Ints = np.repeat(np.arange(len(kinds)), [len(rows) for rows in kinds])
    shuffled = [rng.permutation(np.flatnonzero(codes == kind)) for kind in range(len(kinds))]
    held = _mixed([rows[::HELD] for rows in shuffled])
    used = _mixed([np.delete(rows, np.s_[::HELD]) for rows in shuffled])[:_MOST_ROWS]
    softmax = fit(columns_of(everything.take(used)), codes[used], _STRENGTH)
    held = held[:_MOST_ROWS]
    return RecordKinds(softmax, softmax.accuracy(columns_of(everything.take(held)), codes[held]))


def one_against_rest(kinds: Sequence[Examples], one: int) -> tuple[Examples, Examples]:
    """A component, and the rows of all others together."""
    rest = [rows for kind, rows in enumerate(kinds) if kind != one]
    return kinds[one], together(*rest)


def columns_of(records: Examples) -> Reals:
    """Features, the class, and, unless they are many, the features once for each class.

    What tells components apart may differ by class: clusters are found in each of them.
    """
    classes = np.eye(records.classes)[records.labels]
    rows = records.rows.astype(np.float64)
    if rows.shape[1] * records.classes > _MOST_COLUMNS:
        return np.column_stack([rows, classes])
    by_class = (rows[:, :, None] * classes[:, None, :]).reshape(len(rows), -1)
    return np.column_stack([rows, classes, by_class])


def _mixed(kinds: Sequence[Ints]) -> Ints:
    """Rows of all kinds in one order, such that the first of them are of all kinds, in the same shares."""
    places = np.concatenate([(np.arange(rows.size) + 0.5) / rows.size for rows in kinds])
    return np.concatenate(kinds)[np.argsort(places, kind="stable")]
