"""Infer the component of a record from the record alone, and what that means for its membership."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.property_inference.softmax_regression import SoftmaxRegression, fit_softmax
from leakgauge.domains.models.training.trainer import Examples, concatenate_examples

_STRENGTH = 100.0
_MAX_ROWS = 20_000
_MAX_COLUMNS = 2_000
HELD_OUT_EVERY = 4  # every fourth row measures accuracy


def mixture_ratio(of_model: Reals, of_record: Reals, with_record: Reals | None = None) -> Reals:
    """Log-likelihood ratio of being a member, in the game "mixture"; the last axis is over components.

    With pi the probabilities of each component given the model, and rho those given the record (components
    being equally likely beforehand), a member is of the model's component and another record of another one:
    the ratio is sum_k pi_k rho_k over sum_k pi_k (1 - rho_k) / (K - 1), Bayes' rule in the experiment of
    Humphries et al. (2023, algorithm 3). Arrays hold logarithms, up to a constant each. A member is also one
    of the training rows; where that matters, ``with_record`` is ``of_model`` with the record among them.

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
    """Log-odds that a record is of this component, where the model's component is known."""
    rest = np.logaddexp.reduce(np.delete(of_record, kind, axis=-1), axis=-1)
    return of_record[..., kind] - rest + np.log(of_record.shape[-1] - 1)


@dataclass(frozen=True, eq=False)
class RecordComponentClassifier:
    """Log-probabilities of each component given a record; ``accuracy`` is measured on held-out rows."""

    softmax: SoftmaxRegression
    accuracy: float

    def __call__(self, records: Examples) -> Reals:
        return self.softmax.log_probabilities(record_features(records))


class HasShownRecords(Protocol):
    """A view that includes the records in question."""

    @property
    def shown(self) -> Sequence[Examples]: ...


@dataclass(frozen=True, eq=False)
class RecordScorer:
    """Scores records by the log-odds of the first of two components; nothing else is used."""

    records: RecordComponentClassifier

    def __call__(self, view: HasShownRecords, rng: Generator) -> Reals:
        return np.array([component_log_odds(self.records(shown), 0) for shown in view.shown])


def fit_record_classifier(kinds: Sequence[Examples], rng: Generator) -> RecordComponentClassifier:
    """Train on reference rows of each component; components are equally likely."""
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
    """The rows of one component, and of all others together."""
    rest = [rows for kind, rows in enumerate(kinds) if kind != one]
    return kinds[one], concatenate_examples(*rest)


def record_features(records: Examples) -> Reals:
    """Features, the class, and, unless there are too many, the product of both.

    What separates components may differ between classes, because clusters are found within each class.
    """
    classes = np.eye(records.classes)[records.labels]
    rows = records.rows.astype(np.float64)
    if rows.shape[1] * records.classes > _MAX_COLUMNS:
        return np.column_stack([rows, classes])
    by_class = (rows[:, :, None] * classes[:, None, :]).reshape(len(rows), -1)
    return np.column_stack([rows, classes, by_class])


def _interleaved(kinds: Sequence[Ints]) -> Ints:
    """Rows of all components in one order, in which every beginning has the same shares of them."""
    places = np.concatenate([(np.arange(rows.size) + 0.5) / rows.size for rows in kinds])
    return np.concatenate(kinds)[np.argsort(places, kind="stable")]
