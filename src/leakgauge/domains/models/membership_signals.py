"""What a model says about a record: the numbers that attacks compare."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from leakgauge.core.game import Bits, Reals
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.trainer import Classifier, Examples

Found = TypeVar("Found")
Signal: TypeAlias = Callable[[Classifier, Examples], Reals]  # one number for each record

_MIN_LOG = -700.0  # a logarithm whose exponential is not 0 yet: keeps every score finite


def log_true_probability(model: Classifier, records: Examples) -> Reals:
    """The logarithm of the probability that a model gives to each record's class: the loss, negated."""
    return _of_label(_log_probabilities(model, records), records)


def log_odds(model: Classifier, records: Examples) -> Reals:
    """The logarithm of that probability over the one of all other classes together.

    In logarithms throughout, so that a sure model is no exception (Carlini et al. 2022). Over
    models trained alike it is nearly Gaussian.
    """
    logs = _log_probabilities(model, records)
    others = logs.copy()
    np.put_along_axis(others, records.labels[:, None], -np.inf, axis=1)
    return _of_label(logs, records) - np.maximum(np.logaddexp.reduce(others, axis=1), _MIN_LOG)


def signal_matrix(models: Sequence[Classifier], records: Examples, signal: Signal) -> Reals:
    """Models x records."""
    return np.array([signal(model, records) for model in models]).reshape(len(models), len(records))


def log_mean(logs: Reals, where: Bits) -> Reals:
    """For each column the logarithm of the mean of what is given in logarithms, over the rows that count.

    >>> float(np.exp(log_mean(np.log([[0.2], [0.4], [0.9]]), np.array([[1], [1], [0]], bool)))[0].round(6))
    0.3
    """
    return np.logaddexp.reduce(np.where(where, logs, -np.inf), axis=0) - np.log(where.sum(axis=0))


def per_round(
    view: ModelsView, work_out: Callable[[Examples], Found]
) -> Iterator[tuple[Classifier, Examples, Found]]:
    """Each round with what follows from its records alone, which is worked out again when they change."""
    last: tuple[Examples, Found] | None = None
    for model, shown in zip(view.models, view.shown, strict=True):
        if last is None or not _same_records(last[0], shown):
            last = shown, work_out(shown)
        yield model, shown, last[1]


def _same_records(one: Examples, other: Examples) -> bool:
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.rows, other.rows)


def _log_probabilities(model: Classifier, records: Examples) -> Reals:
    return np.maximum(model.log_probabilities(records.rows), _MIN_LOG)


def _of_label(logs: Reals, records: Examples) -> Reals:
    return np.take_along_axis(logs, records.labels[:, None], axis=1)[:, 0]
