"""Infer the component of a record from the record alone, and what that means for its membership.

An attacker fits a multinomial logistic regression to rows of known component. The same inference is a
control: it shows what a fixed group of members reveals before anything is released.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.models.training.trainer import Examples, concatenate_examples
from leakgauge.support.cache import RecentCache

_MAX_STEPS = 300
_STRENGTH = 100.0
_MAX_ROWS = 20_000
_MAX_COLUMNS = 2_000
HELD_OUT_EVERY = 4  # every fourth row measures accuracy
_MIN_RECORDS = 20  # members, and others, to train on and to evaluate on


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """Log-probabilities of components by a linear model with a softmax."""

    centre: Reals
    scale: float
    weights: Reals  # columns x kinds
    offsets: Reals

    def log_probabilities(self, columns: Reals) -> Reals:
        """Rows x components, which are equally likely beforehand."""
        logits = (columns - self.centre) / self.scale @ self.weights + self.offsets
        return logits - np.logaddexp.reduce(logits, axis=1)[:, None]

    def accuracy(self, columns: Reals, kinds: Ints) -> float:
        """The share of rows whose most probable component is the right one, averaged over components."""
        right = self.log_probabilities(columns).argmax(axis=1) == kinds
        return float(np.mean([right[kinds == kind].mean() for kind in np.unique(kinds)]))


def fit_softmax(columns: Reals, kinds: Ints, strength: float) -> SoftmaxRegression:
    """Fit to rows of components 0..K-1, which weigh the same, however many rows they have.

    Columns are centred and scaled to a mean squared row length of one, so that ``strength`` (the inverse of
    the ridge penalty) has the same meaning for few and for many columns.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    centre = columns.mean(axis=0)
    away = columns - centre
    scale = float(np.sqrt((away**2).sum(axis=1).mean())) or 1.0
    model = LogisticRegression(C=strength, class_weight="balanced", max_iter=_MAX_STEPS)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(away / scale, kinds)
    weights, offsets = model.coef_.T.astype(np.float64), model.intercept_.astype(np.float64)
    if weights.shape[1] == 1:  # for two components the library returns only the weights of the second
        weights, offsets = np.column_stack([0 * weights, weights]), np.append(0.0, offsets)
    return SoftmaxRegression(centre, scale, weights, offsets)


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


_control_cache: RecentCache["BlindControl"] = RecentCache(16)


@dataclass(frozen=True, kw_only=True)
class BlindControl:
    """The advantage of an attacker who sees records but no model, evaluated on rows not used for training."""

    advantage: float
    error: float  # standard error of it

    @property
    def note(self) -> str:
        """The note for reports."""
        low, high = (self.advantage + 2 * sign * self.error for sign in (-1, 1))
        return (
            "Blind control: the group of members is fixed, so a record alone may reveal its membership. An "
            "attacker who knows rows of both kinds and sees no model has an advantage (TPR - FPR) of about "
            f"{self.advantage:.3f} ({max(low, -1.0):.3f} to {min(high, 1.0):.3f}); compare attacks on the "
            "model with that"
        )


def blind_control(
    table: Examples, split: tuple[Ints, Ints], identity: object, rng: Generator
) -> BlindControl | None:
    """Train a classifier of members against others by the record alone; None where there are too few.

    ``split`` are the rows of members and of others, ``identity`` identifies it: the result for the same one
    is reused.
    """
    members, others = split
    few = min(members.size, others.size)
    if few < 2 * _MIN_RECORDS:
        return None

    def measure() -> BlindControl:
        classifier = fit_record_classifier((table.take(members), table.take(others)), rng)
        held = few / HELD_OUT_EVERY  # of the scarcer kind
        error = 2 * sqrt(max(classifier.accuracy * (1 - classifier.accuracy), 1 / held) / held)
        return BlindControl(advantage=2 * classifier.accuracy - 1, error=error)

    return _control_cache.once(identity, measure)
