"""What perturbed rows are still good for: an honest classifier trained on them."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.domains.federated.clients import Pool

TEST = 0.25  # of the clients' rows, to test on
MOST_ROWS = 5_000


@dataclass(frozen=True)
class Utility:
    """Right answers on rows that were held back, of models trained with the noise and without."""

    noisy: float  # trained and tested on perturbed rows
    on_clean: float  # trained on perturbed rows, tested on clean ones
    clean: float

    @property
    def words(self) -> tuple[str, ...]:
        told = (
            f"utility: an honest classifier of perturbed rows is right {self.noisy:.1%} of the time, "
            f"{self.on_clean:.1%} if it is tested on clean rows; without noise it would be {self.clean:.1%}"
        )
        return (told,)


def utility(pool: Pool, mechanism: Mechanism | None, rng: Generator) -> Utility:
    """Train a logistic classifier on the clients' rows, as they are and as they are perturbed."""
    order = rng.permutation(len(pool.rows))[:MOST_ROWS]
    n_test = max(1, round(TEST * order.size))
    test, train = order[:n_test], order[n_test:]
    if np.unique(pool.labels[train]).size < 2:
        raise BadInput(
            f"challenger.utility: the {train.size} rows of clients to train a classifier on do not have two "
            "classes; leave out utility, or bring more rows"
        )
    clean = _right(pool.rows[train], pool.labels[train], [pool.rows[test]], pool.labels[test])[0]
    if mechanism is None:
        return Utility(clean, clean, clean)
    perturbed = mechanism.sample(pool.rows[order].astype(np.float64), rng).astype(np.float32)
    noisy, on_clean = _right(
        perturbed[n_test:], pool.labels[train], [perturbed[:n_test], pool.rows[test]], pool.labels[test]
    )
    return Utility(noisy, on_clean, clean)


def _right(rows, labels, tests, truth) -> list[float]:  # type: ignore[no-untyped-def]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=100))
    model.fit(rows, labels)
    return [float(np.mean(model.predict(test) == truth)) for test in tests]
