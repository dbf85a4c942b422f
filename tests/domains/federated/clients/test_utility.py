"""What perturbed rows are good for, where it is known what is right."""

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.clients.utility import classifier_utility
from leakgauge.domains.federated.release import ClientPool
from leakgauge.mechanisms import bitrand, feature_laplace

NOBODY = np.zeros((0, 4), dtype=np.float32), np.zeros(0, dtype=np.int64)


def two_classes(n: int = 4_000) -> ClientPool:
    """Rows at +-2 in each of four features, with a standard deviation of 2: right at best Phi(2) = .9772."""
    rng = np.random.default_rng(1)
    labels = np.arange(n) % 2
    rows = rng.normal(4.0 * labels[:, None] - 2, 2.0, (n, 4)).astype(np.float32)
    return ClientPool(rows, labels, *NOBODY)


def test_classifier_reaches_best_accuracy():
    """Means of four features are N(+-2, 1); with Laplace noise of scale 4 on each, nearly N(+-2, 9)."""
    noise = feature_laplace.Mechanism(scale=4.0, features=4, bound=30.0)
    found = classifier_utility(two_classes(), noise, np.random.default_rng(2))
    assert found.clean == pytest.approx(0.9772, abs=0.02)
    assert found.noisy == pytest.approx(0.75, abs=0.06)  # Phi(2 / 3) = .7475
    assert found.on_clean == pytest.approx(0.9772, abs=0.03)


def test_noise_at_exact_epsilon_destroys_utility():
    noise = bitrand.Mechanism(epsilon=0.1, features=4, calibrate=bitrand.BitCalibration.EXACT)
    found = classifier_utility(two_classes(), noise, np.random.default_rng(2))
    assert found.noisy == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 1_000))


def test_without_noise_all_three_accuracies_are_equal():
    found = classifier_utility(two_classes(), None, np.random.default_rng(2))
    assert found.noisy == found.on_clean == found.clean > 0.9


def test_accuracy_is_measured_on_held_out_rows():
    """Labels by coin: who had seen them would be right more often than not."""
    rng = np.random.default_rng(3)
    pool = ClientPool(rng.normal(size=(200, 180)).astype(np.float32), rng.integers(2, size=200), *NOBODY)
    many = [classifier_utility(pool, None, np.random.default_rng(seed)).clean for seed in range(20)]
    assert np.mean(many) < 0.62


def test_rejects_rows_of_one_class():
    pool = two_classes(40)
    with pytest.raises(
        BadInput, match=r"challenger.utility: the 30 rows of clients .* do not have two classes"
    ):
        classifier_utility(ClientPool(pool.rows, 0 * pool.labels, *NOBODY), None, np.random.default_rng(2))
