"""Which component a record is of, judged by the record alone, and what that says about its membership."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.property_inference.softmax_regression import SoftmaxRegression, fit_softmax
from leakgauge.domains.models.training.trainer import Examples, concatenate_examples


def mixture_ratio(of_model: Reals, of_record: Reals, with_record: Reals | None = None) -> Reals:
    """Log-likelihood ratio of being a member, in the game of a mixture; the last axis is that of components.

    With pi the chances of each component given the model, and rho those given the record (all components
    being as likely beforehand), a member is of the model's component and another record of any other one:
    the ratio is sum_k pi_k rho_k over sum_k pi_k (1 - rho_k) / (K - 1), Bayes' rule in the experiment of
    Humphries et al. (2023, algorithm 3). Arrays hold logarithms, up to a constant each. A member also is one
    of the rows behind the model; where that is known to matter, ``with_record`` is ``of_model`` with the
    record among them.

    >>> round(float(np.exp(mixture_ratio(np.log([0.75, 0.25]), np.log([0.75, 0.25])))), 6)  # 5/8 : 3/8
    1.666667
    """
    of_members = of_model if with_record is None else with_record
    same = np.logaddexp.reduce(of_members + of_record, axis=-1)
    kinds = of_record.shape[-1]
    apart = [
        of_model[..., kind] + np.logaddexp.reduce(np.delete(of_record, kind, axis=-1), axis=-1)
        for kind in range(kinds)
    ]
    return same - np.logaddexp.reduce(apart, axis=0) + np.log(kinds - 1)


def component_log_odds(of_record: Reals, kind: int) -> Reals:
    """Log ratio of a record of this component against one of any other, where the model's is known."""
    rest = np.logaddexp.reduce(np.delete(of_record, kind, axis=-1), axis=-1)
    return of_record[..., kind] - rest + np.log(of_record.shape[-1] - 1)


_STRENGTH = 100.0
_MAX_ROWS = 20_000
_MAX_COLUMNS = 2_000
HELD_OUT_EVERY = 4  # every fourth row is kept to measure accuracy


@dataclass(frozen=True, eq=False)
class RecordComponentClassifier:
    """Log chances of each component given a record; ``accuracy`` is that on rows kept for it."""

    softmax: SoftmaxRegression
    accuracy: float

    def __call__(self, records: Examples) -> Reals:
        return self.softmax.log_chances(record_features(records))


class HasShownRecords(Protocol):
    """Whatever else is seen, the records in question are."""

    @property
    def shown(self) -> Sequence[Examples]: ...


@dataclass(frozen=True, eq=False)
class RecordScorer:
    """Scores records by the log odds of the first of two kinds; nothing else is looked at."""

    records: RecordComponentClassifier

    def __call__(self, view: HasShownRecords, rng: Generator) -> Reals:
        return np.array([component_log_odds(self.records(shown), 0) for shown in view.shown])


def fit_record_classifier(kinds: Sequence[Examples], rng: Generator) -> RecordComponentClassifier:
    """Learn from the adversary's own rows of each component; components are as likely as one another."""
    everything = concatenate_examples(*kinds)
    codes: Ints = np.repeat(np.arange(len(kinds)), [len(rows) for rows in kinds])
    shuffled = [rng.permutation(np.flatnonzero(codes == kind)) for kind in range(len(kinds))]
    held = _interleaved([rows[::HELD_OUT_EVERY] for rows in shuffled])
    used = _interleaved([np.delete(rows, np.s_[::HELD_OUT_EVERY]) for rows in shuffled])[:_MAX_ROWS]
    softmax = fit_softmax(record_features(everything.take(used)), codes[used], _STRENGTH)
    held = held[:_MAX_ROWS]
    return RecordComponentClassifier(
        softmax, softmax.accuracy(record_features(everything.take(held)), codes[held])
    )


def one_against_rest(kinds: Sequence[Examples], one: int) -> tuple[Examples, Examples]:
    """A component, and the rows of all others together."""
    rest = [rows for kind, rows in enumerate(kinds) if kind != one]
    return kinds[one], concatenate_examples(*rest)


def record_features(records: Examples) -> Reals:
    """Features, the class, and, unless they are many, the features once for each class.

    What tells components apart may differ by class: clusters are found in each of them.
    """
    classes = np.eye(records.classes)[records.labels]
    rows = records.rows.astype(np.float64)
    if rows.shape[1] * records.classes > _MAX_COLUMNS:
        return np.column_stack([rows, classes])
    by_class = (rows[:, :, None] * classes[:, None, :]).reshape(len(rows), -1)
    return np.column_stack([rows, classes, by_class])


def _interleaved(kinds: Sequence[Ints]) -> Ints:
    """Rows of all kinds in one order, such that the first of them are of all kinds, in the same shares."""
    places = np.concatenate([(np.arange(rows.size) + 0.5) / rows.size for rows in kinds])
    return np.concatenate(kinds)[np.argsort(places, kind="stable")]
