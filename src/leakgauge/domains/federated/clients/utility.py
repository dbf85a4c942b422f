"""What the noise on rows costs: values cut at its range, and the accuracy of an honest classifier."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.neurons.network import Floats
from leakgauge.domains.federated.release import ClientPool

TEST_SHARE = 0.25  # of the clients' rows, to test on
MAX_ROWS = 5_000


@runtime_checkable
class RangedNoise(Protocol):
    """Noise that clips values to a range."""

    def require_range(self, values: Reals) -> float:
        """Return the share of values beyond the range; raise BadInput if it is too large."""
        ...


def saturation_notes(rows: Floats, mechanism: Mechanism | None) -> tuple[str, ...]:
    """Return a note on values beyond the range of the noise; more than 1 % of them are refused."""
    if not isinstance(mechanism, RangedNoise):
        return ()
    share = mechanism.require_range(rows.astype(float))
    return (
        (f"{share:.2%} of the values are beyond the range of the noise, and are cut to it",) if share else ()
    )


@dataclass(frozen=True)
class ClassifierUtility:
    """Accuracies on held-out rows of classifiers trained with the noise and without."""

    noisy: float  # trained and tested on perturbed rows
    on_clean: float  # trained on perturbed rows, tested on clean ones
    clean: float

    @property
    def notes(self) -> tuple[str, ...]:
        note = (
            f"utility: an honest classifier of perturbed rows is right {self.noisy:.1%} of the time, "
            f"{self.on_clean:.1%} if it is tested on clean rows; without noise it would be {self.clean:.1%}"
        )
        return (note,)


def classifier_utility(pool: ClientPool, mechanism: Mechanism | None, rng: Generator) -> ClassifierUtility:
    """Train a logistic classifier on the clients' rows, with noise and without."""
    order = rng.permutation(len(pool.rows))[:MAX_ROWS]
    n_test = max(1, round(TEST_SHARE * order.size))
    test, train = order[:n_test], order[n_test:]
    if np.unique(pool.labels[train]).size < 2:
        raise BadInput(
            f"challenger.utility: the {train.size} rows of clients to train a classifier on do not have two "
            "classes; leave out utility, or add rows"
        )
    clean = _accuracies(pool.rows[train], pool.labels[train], [pool.rows[test]], pool.labels[test])[0]
    if mechanism is None:
        return ClassifierUtility(clean, clean, clean)
    perturbed = mechanism.sample(pool.rows[order].astype(np.float64), rng).astype(np.float32)
    noisy, on_clean = _accuracies(
        perturbed[n_test:], pool.labels[train], [perturbed[:n_test], pool.rows[test]], pool.labels[test]
    )
    return ClassifierUtility(noisy, on_clean, clean)


def _accuracies(rows, labels, tests, truth) -> list[float]:  # type: ignore[no-untyped-def]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=100))
    model.fit(rows, labels)
    return [float(np.mean(model.predict(test) == truth)) for test in tests]
