"""Membership signals: numbers computed from a model's answer about a record, which attacks compare."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Classifier, Examples
from leakgauge.domains.models.user_model.model_query import IMPOSSIBLE, log_of_others

Found = TypeVar("Found")
Signal: TypeAlias = Callable[[Classifier, Examples], Reals]  # one number for each record

_CERTAIN = 30.0  # log-odds of a probability that is 1 but for rounding
_MIN_LOG = -700.0  # its exponential is not 0 yet: keeps every score finite


def log_true_probability(model: Classifier, records: Examples) -> Reals:
    """The log-probability of each record's true class: its loss, negated."""
    return _of_label(_log_probabilities(model, records), records)


def log_odds(model: Classifier, records: Examples) -> Reals:
    """The log-odds of each record's true class against all other classes together.

    Computed from logarithms, so that probabilities near 1 stay exact (Carlini et al. 2022). Over models that
    are trained in the same way it is nearly Gaussian.
    """
    logs = _log_probabilities(model, records)
    if records.classes == 1:  # negated losses, which have no other class
        return logs[:, 0]
    return _of_label(logs, records) - np.maximum(log_of_others(logs, records.labels), _MIN_LOG)


def largest_log_odds(odds: Reals) -> float:
    """Where to clip log-odds: a little beyond the largest of an answer that is not certain.

    Forests and nearest neighbours answer with probabilities of exactly 0 and 1, whose log-odds are infinite;
    a Gaussian with a few such values would fit none of them.

    >>> largest_log_odds(np.array([[-2.0, 3.5, 700.0]]))
    4.5
    """
    uncertain = np.abs(odds[np.abs(odds) < _CERTAIN])
    return float(uncertain.max()) + 1.0 if uncertain.size else _CERTAIN


def limit_of_certain(odds: Reals, records: Examples) -> float:
    """Where to put the log-odds of certain answers: infinity where no answer is exactly 0 or 1."""
    exact = records.classes > 1 and bool((np.abs(odds) > -IMPOSSIBLE).any())
    return largest_log_odds(odds) if exact else np.inf


def bound_certain(odds: Reals, limit: float) -> Reals:
    """Log-odds of answers that are certain, put at the limit; all others stay as they are.

    >>> bound_certain(np.array([-2.0, 3.5, 700.0]), 4.5).tolist()
    [-2.0, 3.5, 4.5]
    """
    return np.where(np.abs(odds) < _CERTAIN, odds, np.clip(odds, -limit, limit))


def signal_matrix(models: Sequence[Classifier], records: Examples, signal: Signal) -> Reals:
    """The signal of each model (row) for each record (column)."""
    return np.array([signal(model, records) for model in models]).reshape(len(models), len(records))


def log_mean(logs: Reals, where: Bits) -> Reals:
    """The logarithm of the mean of each column, over the rows that ``where`` marks; values are logarithms.

    >>> float(np.exp(log_mean(np.log([[0.2], [0.4], [0.9]]), np.array([[1], [1], [0]], bool)))[0].round(6))
    0.3
    """
    return np.logaddexp.reduce(np.where(where, logs, -np.inf), axis=0) - np.log(where.sum(axis=0))


def per_round(
    view: ModelsView, compute: Callable[[Examples], Found]
) -> Iterator[tuple[Classifier, Examples, Found]]:
    """Each round with a value computed from its records; it is reused while the records stay the same."""
    last: tuple[Examples, Found] | None = None
    for model, shown in zip(view.models, view.shown, strict=True):
        if last is None or not _same_records(last[0], shown):
            last = shown, compute(shown)
        yield model, shown, last[1]


def _same_records(first: Examples, other: Examples) -> bool:
    return np.array_equal(first.labels, other.labels) and np.array_equal(first.rows, other.rows)


def _log_probabilities(model: Classifier, records: Examples) -> Reals:
    logs = model.log_probabilities(records.rows)
    return logs if records.classes == 1 else np.maximum(logs, _MIN_LOG)


def _of_label(logs: Reals, records: Examples) -> Reals:
    return np.take_along_axis(logs, records.labels[:, None], axis=1)[:, 0]
