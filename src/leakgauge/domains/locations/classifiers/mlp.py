"""Training of networks on shadows, with early stopping and optional pretraining."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.classifiers.sigmoid_network import SigmoidNetwork
from leakgauge.domains.locations.shadows.shadow_releases import LabelledShadows, ShadowRows, TrainCheckShadows

_LARGEST_BATCH = 200
_RATE = 1e-3  # of Adam (Kingma and Ba 2015)


@dataclass(frozen=True, eq=False)
class ScaledNetwork:
    """A network whose inputs are standardised first."""

    network: SigmoidNetwork
    centre: Reals
    size: Reals

    def __call__(self, rows: ShadowRows) -> Reals:
        return self.network((rows - self.centre) / self.size)


def fit_mlp(
    stages: Sequence[TrainCheckShadows],
    n_units: int,
    rng: Generator,
    *,
    patience: int = 10,
    max_epochs: int = 300,
) -> ScaledNetwork:
    """Train in stages; all stages before the last one are pretraining.

    Adam minimises the log loss in small batches. A stage ends when the loss on its check shadows has not
    fallen for ``patience`` epochs, and the best weights are restored; a later stage never ends with a higher
    check loss than it began with. Inputs are scaled to mean 0 and variance 1 on each stage's training rows.
    """
    if not stages:
        raise BadInput("fit_mlp needs at least one stage of shadows, got none")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums must not depend on the number of threads
        model = _model(n_units, stages[0], rng)
        for stage in stages:
            centre, size = _scales(stage.train.rows)
            _fit_stage(model, _scaled(stage, centre, size), patience, max_epochs)
    return ScaledNetwork(_network(model), centre, size)


def _model(n_units: int, stage: TrainCheckShadows, rng: Generator) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        hidden_layer_sizes=(n_units,),
        activation="logistic",
        alpha=0.0,
        learning_rate_init=_RATE,
        batch_size=_batch(stage.train.members.size),
        random_state=np.random.RandomState(
            int(rng.integers(2**32))
        ),  # an integer seed would repeat every shuffle
    )


def _fit_stage(model: Any, stage: TrainCheckShadows, patience: int, max_epochs: int) -> None:
    """Train until the check loss stops falling; leave the model at its best weights."""
    model.set_params(batch_size=_batch(stage.train.members.size))
    best = (_loss(model, stage.check), _copy(model)) if hasattr(model, "coefs_") else (np.inf, [])
    waited = 0
    for _ in range(max_epochs):
        model.partial_fit(stage.train.rows, stage.train.members, classes=[False, True])
        loss = _loss(model, stage.check)
        if loss < best[0]:
            best, waited = (loss, _copy(model)), 0
        else:
            waited += 1
        if waited >= patience:
            break
    for weights, kept in zip(model.coefs_ + model.intercepts_, best[1], strict=True):
        weights[...] = kept


def _batch(n: int) -> int:
    return int(np.clip(n // 20, 1, _LARGEST_BATCH))


def _copy(model: Any) -> list[Reals]:
    return [weights.copy() for weights in model.coefs_ + model.intercepts_]


def _loss(model: Any, check: LabelledShadows) -> float:
    logits = _network(model)(check.rows)
    return float(np.mean(np.logaddexp(0.0, np.where(check.members, -logits, logits))))


def _network(model: Any) -> SigmoidNetwork:
    (inner, outer), (inner_bias, outer_bias) = model.coefs_, model.intercepts_
    weights = [np.array(part, dtype=np.float64) for part in (inner, inner_bias, outer[:, 0])]
    return SigmoidNetwork(weights[0], weights[1], weights[2], float(outer_bias[0]))


def _scales(rows: ShadowRows) -> tuple[Reals, Reals]:
    size = rows.std(axis=0, dtype=np.float64)
    return rows.mean(axis=0, dtype=np.float64), np.where(size > 0, size, 1.0)


def _scaled(stage: TrainCheckShadows, centre: Reals, size: Reals) -> TrainCheckShadows:
    parts = [
        LabelledShadows(((part.rows - centre) / size).astype(np.float32), part.members)
        for part in (stage.train, stage.check)
    ]
    return TrainCheckShadows(*parts)
