import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.classifiers import l1_logistic
from leakgauge.domains.locations.classifiers.l1_logistic import SparseLinearModel
from leakgauge.domains.locations.shadows.simulator import LabelledShadows


def learn(rows, members, **strength):
    return l1_logistic.fit_l1_logistic(LabelledShadows(rows, members), **strength)


def shadows(n, d, k, rng, paired=False):
    """Floored noisy counts; the target adds one to the first k columns."""
    half = n // 2
    counts = rng.poisson(0.2, (half if paired else n, d)) + rng.laplace(size=(half if paired else n, d))
    rows = np.concatenate([counts, counts]) if paired else counts
    rows[:half, :k] += 1
    return np.floor(rows), np.repeat([True, False], half)


def objective(rows, members, weights, offset, strength=1.0):
    """Log loss and penalty on scaled columns, the intercept among the weights."""
    size = rows.std(axis=0)
    logits = rows @ weights + offset
    intercept = offset + weights @ rows.mean(axis=0)
    loss = np.logaddexp(0, np.where(members, -logits, logits)).sum()
    return strength * loss + np.abs(weights * size).sum() + abs(intercept)


def spread_out(line, d):
    weights = np.zeros(d)
    weights[line.columns] = line.weights
    return weights


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_optimum_on_active_columns_is_global(paired, strength):
    from sklearn.linear_model import LogisticRegression

    rows, members = shadows(200, 3000, 10, np.random.default_rng(1), paired)
    line = learn(rows.astype(np.float32), members, strength=strength)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    whole = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=strength, tol=1e-7, max_iter=10_000)
    whole.fit(scaled, members)
    weights = whole.coef_[0] / rows.std(axis=0)
    best = objective(rows, members, weights, whole.intercept_[0] - weights @ rows.mean(axis=0), strength)
    own = objective(rows, members, spread_out(line, 3000), line.offset, strength)
    assert own == pytest.approx(best, rel=1e-4)
    assert line.columns.size < 200


def test_optimum_matches_general_solver():
    rows, members = shadows(60, 4, 2, np.random.default_rng(2))
    line = learn(rows, members)

    def split(parts):  # positive and negative parts make the penalty smooth
        weights = parts[:4] - parts[5:9]
        return objective(rows, members, weights, parts[4] - parts[9])

    found = min(
        minimize(split, np.full(10, start), bounds=[(0, None)] * 10, tol=1e-12).fun for start in (0.1, 0.5)
    )
    assert objective(rows, members, spread_out(line, 4), line.offset) <= found * (1 + 1e-6)


def test_constant_columns_are_ignored():
    rows, members = shadows(100, 5, 2, np.random.default_rng(3))
    rows[:, [0, 4]] = 7.0
    assert not np.isin([0, 4], learn(rows, members).columns).any()


def test_uninformative_data_score_zero():
    line = learn(np.ones((10, 3)), np.arange(10) % 2 == 0)
    assert line.columns.size == 0
    assert line(np.ones((2, 3))[:, line.columns]).tolist() == [0.0, 0.0]


def test_rejects_single_class():
    with pytest.raises(BadInput, match="with the target and without"):
        learn(np.ones((3, 2)), np.ones(3, bool))


def test_can_be_pickled_and_is_reproducible():
    rows, members = shadows(100, 50, 5, np.random.default_rng(4))
    first, again = learn(rows, members), learn(rows, members)
    np.testing.assert_array_equal(first.weights, again.weights)
    sent = pickle.loads(pickle.dumps(first))
    assert isinstance(sent, SparseLinearModel)
    np.testing.assert_array_equal(sent(rows[:, sent.columns]), first(rows[:, first.columns]))


def test_memory_stays_small_for_many_columns():
    rng = np.random.default_rng(5)
    rows = np.floor(rng.standard_normal((200, 100_000), dtype=np.float32) * 1.5)
    rows[:100, :40] += 1
    members = np.repeat([True, False], 100)
    tracemalloc.start()
    learn(rows, members)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * rows.nbytes  # blocks of float64, never all of them
