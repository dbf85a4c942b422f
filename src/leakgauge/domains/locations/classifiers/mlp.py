"""Networks with one layer of sigmoid units: their training on shadows, and their distance to threshold rules.

Training stops early on shadows that were set aside.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.special import expit

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.shadows.simulator import LabelledShadows, ShadowRows, TrainCheckShadows

_LARGEST_BATCH = 200
_RATE = 1e-3  # of Adam (Kingma and Ba 2015)


@dataclass(frozen=True, eq=False)
class SigmoidNetwork:
    """Scores rows by the input of the last sigmoid; at zero, member and non-member are equally likely."""

    inner: Reals  # inputs x units
    inner_bias: Reals  # units
    outer: Reals  # units
    outer_bias: float

    @property
    def n_inputs(self) -> int:
        return len(self.inner)

    def __call__(self, rows: npt.ArrayLike) -> Reals:
        units = expit(np.asarray(rows, dtype=np.float64) @ self.inner + self.inner_bias)
        return np.asarray(units @ self.outer + self.outer_bias)

    def chance(self, rows: npt.ArrayLike) -> Reals:
        """The output of the last sigmoid: the estimated probability of a member."""
        return np.asarray(expit(self(rows)))


def sum_network(n_inputs: int, threshold: float, *, a: float, b: float) -> SigmoidNetwork:
    """Return a one-unit network that tests whether the sum reaches a threshold (Liu et al. 2024, theorem 4).

    ``a`` scales the inner unit and ``b`` the output; larger values are closer to a step function. The printed
    theorem has no inner sigmoid, and adds ``a threshold`` where it must be subtracted; this is corrected.

    >>> sum_network(2, 1.0, a=50, b=50).chance([[0.6, 0.6], [0.4, 0.4]]).round(3).tolist()
    [1.0, 0.0]
    """
    _require_scales(a, b)
    return SigmoidNetwork(np.full((n_inputs, 1), a), np.array([-a * threshold]), np.array([b]), -b / 2)


def vote_network(thresholds: Reals, votes: float, *, a: float, b: float) -> SigmoidNetwork:
    """Return a network with one unit per input that tests its threshold, and counts the votes (theorem 5).

    ``votes`` are needed for "member". Liu et al. (2024) print an outer bias of ``b n / 2`` with the wrong
    sign; it is ``-b votes``. With a whole number of votes, the sigmoids' small errors break ties; half
    a vote less gives the same rule without ties.

    >>> network = vote_network(np.full(3, 0.5), 1.5, a=50, b=50)
    >>> network.chance([[1.0, 1.0, -9.0], [9.0, 0.0, 0.0]]).round(3).tolist()
    [1.0, 0.0]
    """
    _require_scales(a, b)
    n = thresholds.size
    return SigmoidNetwork(a * np.eye(n), -a * thresholds, np.full(n, b), -b * votes)


def _require_scales(a: float, b: float) -> None:
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise BadInput(f"the scales of a network must be > 0 and finite, got a = {a}, b = {b}")


@dataclass(frozen=True, kw_only=True)
class RuleIndex:
    """How close a network is to the one-threshold and two-threshold rules.

    ``diagonal``: the share of the inner weights, by size, on their permuted diagonal: 1 where each unit reads
    an input of its own, as a vote does; about 1 / n where every unit reads all n inputs alike, as a sum
    does. ``one_threshold`` and ``two_threshold``: the correlation of the network's score with the sum of its
    inputs, and with the number of inputs above their thresholds.
    """

    diagonal: float
    one_threshold: float
    two_threshold: float


def rule_index(inner: Reals, scores: Reals, sums: Reals, votes: Reals) -> RuleIndex:
    """Compare a network's inner weights, and its scores of some rows, with both rules."""
    return RuleIndex(
        diagonal=diagonal_share(inner),
        one_threshold=_correlation(scores, sums),
        two_threshold=_correlation(scores, votes),
    )


def diagonal_share(weights: Reals) -> float:
    """Return the largest share of the absolute weights on a matching of inputs and units (Kuhn 1955).

    >>> diagonal_share(np.array([[0.0, -3.0], [3.0, 0.0]])), diagonal_share(np.ones((4, 4)))
    (1.0, 0.25)
    """
    from scipy.optimize import linear_sum_assignment

    sizes = np.abs(weights)
    if not sizes.any():
        return 0.0
    matched = linear_sum_assignment(sizes, maximize=True)
    return float(sizes[matched].sum() / sizes.sum())


def _correlation(first: Reals, second: Reals) -> float:
    a, b = first - first.mean(), second - second.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ScaledNetwork:
    """A network whose inputs are standardised first."""

    network: SigmoidNetwork
    centre: Reals
    size: Reals

    def __call__(self, rows: ShadowRows) -> Reals:
        return self.network((rows - self.centre) / self.size)


def fit_mlp(
    shadows: TrainCheckShadows,
    n_units: int,
    rng: Generator,
    *,
    patience: int = 10,
    max_epochs: int = 300,
) -> ScaledNetwork:
    """Train until the check loss stops falling, and take the best weights.

    Adam minimises the log loss in small batches. Training ends when the loss on the check shadows has not
    fallen for ``patience`` epochs. Inputs are scaled to mean 0 and variance 1 on the training rows.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums must not depend on the number of threads
        model = _model(n_units, shadows, rng)
        centre, size = _scales(shadows.train.rows)
        _fit(model, _scaled(shadows, centre, size), patience, max_epochs)
    return ScaledNetwork(_network(model), centre, size)


def _model(n_units: int, shadows: TrainCheckShadows, rng: Generator) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        hidden_layer_sizes=(n_units,),
        activation="logistic",
        alpha=0.0,
        learning_rate_init=_RATE,
        batch_size=int(np.clip(shadows.train.members.size // 20, 1, _LARGEST_BATCH)),
        random_state=np.random.RandomState(
            int(rng.integers(2**32))
        ),  # an integer seed would repeat every shuffle
    )


def _fit(model: Any, shadows: TrainCheckShadows, patience: int, max_epochs: int) -> None:
    """Train until the check loss stops falling; leave the model at its best weights."""
    best: tuple[float, list[Reals]] = (np.inf, [])
    waited = 0
    for _ in range(max_epochs):
        model.partial_fit(shadows.train.rows, shadows.train.members, classes=[False, True])
        loss = _loss(model, shadows.check)
        if loss < best[0]:
            best, waited = (loss, _copy(model)), 0
        else:
            waited += 1
        if waited >= patience:
            break
    for weights, kept in zip(model.coefs_ + model.intercepts_, best[1], strict=True):
        weights[...] = kept


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


def _scaled(shadows: TrainCheckShadows, centre: Reals, size: Reals) -> TrainCheckShadows:
    parts = [
        LabelledShadows(((part.rows - centre) / size).astype(np.float32), part.members)
        for part in (shadows.train, shadows.check)
    ]
    return TrainCheckShadows(*parts)
