import numpy as np
import pytest

from leakgauge.domains.models.property_inference.softmax_regression import fit_softmax


@pytest.mark.parametrize("n_kinds", [2, 3])
def test_probabilities_match_sklearn_logistic_regression(n_kinds):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    kinds = rng.integers(n_kinds, size=200)
    columns = rng.standard_normal((200, 4)) + kinds[:, None] * [1, 0, -1, 0]
    away = columns - columns.mean(axis=0)
    length = np.sqrt((away**2).sum() / 200)
    known = LogisticRegression(C=5.0, class_weight="balanced", max_iter=300).fit(away / length, kinds)
    found = fit_softmax(columns, kinds, 5.0)
    np.testing.assert_allclose(
        np.exp(found.log_probabilities(columns)), known.predict_proba(away / length), atol=1e-9
    )


def test_classes_are_weighted_equally():
    columns = np.repeat([[0.0], [1.0], [0.0]], [90, 5, 5], axis=0)
    kinds = np.repeat([0, 1, 1], [90, 5, 5])
    assert fit_softmax(columns, kinds, 1000.0).accuracy(columns, kinds) == pytest.approx((1 + 0.5) / 2)


def test_constant_columns_give_uniform_probabilities():
    found = fit_softmax(np.ones((10, 2)), np.repeat([0, 1], 5), 1.0)
    np.testing.assert_allclose(found.log_probabilities(np.ones((1, 2))), np.log(0.5))
