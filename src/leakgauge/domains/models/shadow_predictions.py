"""Shadow models: those that an attack trained, or the predictions of models that were trained elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.recorded_model import RecordedModel, RowIndex
from leakgauge.domains.models.training.checkpoints import CheckpointedModel
from leakgauge.domains.models.training.trainer import Classifier, Examples
from leakgauge.domains.models.user_model import model_query

WHERE = "challenger.shadows"
INCLUDED = "included"
KINDS = ("probabilities", "logits", "true_probabilities", "losses", "trajectories")
_SHAPES = {
    "probabilities": "models x rows x classes",
    "logits": "models x rows x classes",
    "true_probabilities": "models x rows",
    "losses": "models x rows",
    "trajectories": "models x rows x checkpoints",
}


@dataclass(frozen=True, eq=False)
class ShadowModels:
    """Shadow models, and the rows that each was trained on."""

    models: Sequence[Classifier]
    rows: Bits  # shadows x rows of the reference
    targets: Bits  # shadows x targets; no column where targets were left out

    @property
    def studied(self) -> dict[str, float]:
        """Their number and size, for reports: there may be fewer rows than the released model has."""
        sizes = self.rows.sum(axis=1) + self.targets.sum(axis=1)
        return {"shadows": float(len(self.models)), "rows_per_shadow": float(sizes.mean())}

    def without(self, shown: Examples) -> Bits:
        """Shadows x records in question: whether a shadow was trained without a record."""
        if not self.targets.shape[1]:
            return np.ones((len(self.models), len(shown)), dtype=np.bool_)
        return ~self.targets


@dataclass(frozen=True, eq=False)
class ShadowPredictions:
    """What models that were trained elsewhere say about all rows, and which rows each was trained on."""

    kind: str
    values: Reals  # models x rows, or models x rows x classes
    included: Bits  # models x rows

    @property
    def about_true_class(self) -> bool:
        """Whether only the true class of each record is known."""
        return self.values.ndim == 2 or self.kind == "trajectories"

    @property
    def are_losses(self) -> bool:
        return self.kind in ("losses", "trajectories")


def read_shadow_predictions(source: Path | Mapping[str, Any], n_rows: int) -> ShadowPredictions:
    """Read an .npz file or a table of arrays: ``included``, and one of the kinds of predictions."""
    arrays = _load(source) if isinstance(source, Path) else dict(source)
    kinds = [name for name in KINDS if name in arrays]
    if len(kinds) != 1 or sorted(arrays) != sorted([*kinds, INCLUDED]):
        raise BadInput(
            f"{WHERE}: needs the arrays {INCLUDED} and one of {', '.join(KINDS)}; got {sorted(arrays)}"
        )
    (kind,) = kinds
    try:
        values = np.asarray(arrays[kind], dtype=np.float64)
        included = np.asarray(arrays[INCLUDED])
    except (TypeError, ValueError):
        raise BadInput(f"{WHERE}: {kind} must hold numbers, {_SHAPES[kind]}") from None
    _require_shapes(kind, values, included, n_rows)
    return ShadowPredictions(kind, values, included.astype(np.bool_))


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.suffix != ".npz":
        raise BadInput(
            f"{WHERE}: there is no .npz file {path.name!r} in {path.parent}; write it by numpy.savez"
        )
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{WHERE}: {path.name} cannot be read: {error}; write it by numpy.savez") from None


def _require_shapes(kind: str, values: Reals, included: Any, n_rows: int) -> None:
    dimensions = _SHAPES[kind].count("x") + 1
    if values.ndim != dimensions or values.shape[1] != n_rows:
        raise BadInput(
            f"{WHERE}: {kind} must be {_SHAPES[kind]}, with a column for each of the {n_rows} rows of the "
            f"data in their order; got the shape {values.shape}"
        )
    if included.shape != values.shape[:2] or not np.isin(included, (0, 1)).all():
        raise BadInput(
            f"{WHERE}: {INCLUDED} must say for each model and row whether the row was trained on, as 0 or 1; "
            f"got the shape {included.shape} for {values.shape[:2]}"
        )
    if len(values) < 2:
        raise BadInput(f"{WHERE}: predictions of {len(values)} model; at least 2 are needed, 16 are usual")
    if not np.isfinite(values).all():
        raise BadInput(
            f"{WHERE}: {kind} holds values that are not finite numbers; fix or remove these models"
        )


def recorded_shadows(
    predictions: ShadowPredictions, index: RowIndex, n_classes: int, loss_kind: str
) -> tuple[Classifier, ...]:
    """The predictions as models that answer about the rows of an index."""
    if predictions.kind == "trajectories":
        return tuple(_checkpointed(one, index, loss_kind) for one in predictions.values)
    answers = [_log_probabilities(predictions.kind, one, loss_kind) for one in predictions.values]
    if answers[0].shape[1] != n_classes:
        raise BadInput(
            f"{WHERE}: {predictions.kind} of {answers[0].shape[1]} classes, but the model has {n_classes}"
        )
    return tuple(RecordedModel(index, one[index.first]) for one in answers)


def _checkpointed(losses: Reals, index: RowIndex, loss_kind: str) -> CheckpointedModel:
    """A model whose losses at each checkpoint are columns."""
    answers = [_log_probabilities("losses", one, loss_kind) for one in losses.T]
    return CheckpointedModel(tuple(RecordedModel(index, one[index.first]) for one in answers))


def _log_probabilities(kind: str, values: Reals, loss_kind: str) -> Reals:
    where = f"{WHERE}: {kind}"
    match kind:
        case "losses":
            return model_query.from_losses(values, where, loss_kind).log_probabilities
        case "true_probabilities":
            return model_query.from_true_probabilities(values, where).log_probabilities
        case "logits":
            return model_query.from_outputs(values, len(values), where, "logits").log_probabilities
    return model_query.from_outputs(values, len(values), where, "probabilities").log_probabilities


def true_class_answers(logs: Reals, labels: Ints) -> Reals:
    """Log-probabilities of the true class and of all others together: two columns, the true class first."""
    true = np.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
    rest = np.maximum(model_query.log_of_others(logs, labels), model_query.MIN_LOG_PROBABILITY)
    return np.column_stack([true, rest])
