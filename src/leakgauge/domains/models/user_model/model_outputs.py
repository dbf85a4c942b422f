"""Convert what a model returned, or what a file holds, to log-probabilities of every class."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.models.user_model.plan_tables import OutputKind

MIN_LOG_PROBABILITY = float(np.log(np.finfo(np.float64).tiny))  # -708.4, for a probability of 0
SUM_TOLERANCE = 1e-3  # how far the sum of a record's probabilities may be from 1: files hold rounded ones
_PROBABILITY_RULE = "a probability must be in [0, 1]"


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """Records x classes of log-probabilities, and a description of what they were computed from."""

    log_probabilities: Reals
    description: str


def from_losses(losses: Reals, where: str) -> ModelAnswers:
    """From the loss of each record, taken as its cross-entropy; class 0 stands for the true class."""
    _refuse_rows(losses < 0, losses, where, "a loss must be >= 0")
    with np.errstate(divide="ignore"):
        others = np.log(-np.expm1(-losses))
    return ModelAnswers(np.column_stack([-losses, np.maximum(others, MIN_LOG_PROBABILITY)]), "losses")


def from_true_probabilities(probabilities: Reals, where: str) -> ModelAnswers:
    """From the probability of each record's true class; class 0 stands for the true class."""
    _refuse_rows(~((probabilities >= 0) & (probabilities <= 1)), probabilities, where, _PROBABILITY_RULE)
    both = np.column_stack([probabilities, 1 - probabilities])
    return ModelAnswers(_logarithms(both), "probabilities of the true class")


def from_outputs(
    outputs: Any, n_rows: int, where: str, output: OutputKind | None = None, usual: OutputKind | None = None
) -> ModelAnswers:
    """From probabilities or logits, rows x classes; a single column is about class 1 of two.

    Without ``output``, values that look like probabilities are taken as such; others are taken as what is
    ``usual``, or refused. Logits go through a softmax (a single column through a sigmoid).
    """
    matrix = _matrix(outputs, n_rows, where)
    kind: OutputKind = output or ("probabilities" if usual is None or _like_probabilities(matrix) else usual)
    if kind == "logits":
        logits = np.column_stack([np.zeros(n_rows), matrix]) if matrix.shape[1] == 1 else matrix
        logits = logits - logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return ModelAnswers(np.maximum(logs, MIN_LOG_PROBABILITY), "logits")
    hint = "" if output else '; if these are logits, add output = "logits"'
    _refuse_rows(~((matrix >= 0) & (matrix <= 1)).all(axis=1), matrix, where, _PROBABILITY_RULE + hint)
    if matrix.shape[1] == 1:
        matrix = np.column_stack([1 - matrix, matrix])
    total = matrix.sum(axis=1)
    _refuse_rows(
        ~(np.abs(total - 1) <= SUM_TOLERANCE), total, where, f"the sum over the classes must be 1{hint}"
    )
    return ModelAnswers(_logarithms(matrix), "probabilities")


def _matrix(outputs: Any, n_rows: int, where: str) -> Reals:
    try:
        matrix = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(
            f"{where}: returned {type(outputs).__name__}, not a table of numbers; it must have one row "
            "for each record and one column for each class"
        ) from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[0] != n_rows or not matrix.shape[1]:
        raise BadInput(
            f"{where}: returned shape {np.shape(outputs)} for {n_rows} rows; it must have one row for each "
            "record and one column for each class"
        )
    _refuse_rows(~np.isfinite(matrix).all(axis=1), matrix, where, "outputs must be finite numbers")
    return matrix


def _like_probabilities(matrix: Reals) -> bool:
    inside = bool(((matrix >= 0) & (matrix <= 1)).all())
    return inside and (matrix.shape[1] == 1 or bool((np.abs(matrix.sum(axis=1) - 1) <= SUM_TOLERANCE).all()))


def _refuse_rows(wrong: Any, values: Reals, where: str, rule: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = np.array2string(values[row], precision=6, threshold=4, edgeitems=2, max_line_width=200)
        raise BadInput(f"{where}: {shown} in row {row} (counted from 0); {rule}")


def _logarithms(probabilities: Reals) -> Reals:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), MIN_LOG_PROBABILITY)
