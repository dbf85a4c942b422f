import numpy as np
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression

from leakgauge.strategies import discriminant_analysis

RNG = np.random.default_rng(1)
MEMBERS = np.arange(4000) % 2 == 0


def test_logistic_regression_matches_scikit_learn():
    columns = RNG.normal(size=(4000, 3)) + MEMBERS[:, None] * [0.5, 0, -0.2]
    ours = discriminant_analysis.fit_logistic(columns, MEMBERS)
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(columns, MEMBERS)
    np.testing.assert_allclose(ours.weights, theirs.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(ours.offset, theirs.intercept_[0], atol=1e-4)


def test_fisher_direction_is_log_ratio_of_normals():
    spread = np.array([[2.0, 0.6], [0.6, 1.0]])
    shift = np.array([0.5, -0.3])
    columns = RNG.multivariate_normal([0, 0], spread, size=40_000)
    members = np.arange(40_000) % 2 == 0
    ours = discriminant_analysis.fit_fisher(columns + members[:, None] * shift, members)
    np.testing.assert_allclose(ours.weights, np.linalg.solve(spread, shift), atol=0.03)


def test_fisher_direction_uses_correlated_noise():
    noise = RNG.laplace(scale=10, size=(4000, 2))
    columns = np.column_stack([noise.sum(axis=1) + MEMBERS, noise])
    framed = discriminant_analysis.fit_scaler(columns)(columns)
    scores = discriminant_analysis.fit_fisher(framed, MEMBERS)(framed)
    assert scores[MEMBERS].min() > scores[~MEMBERS].max()


def test_quadratic_score_is_log_ratio_of_normals():
    laws = (
        multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]),
        multivariate_normal([0.2, 0], [[2, -0.3], [-0.3, 1]]),
    )
    rows = np.concatenate([law.rvs(100_000, random_state=seed) for seed, law in enumerate(laws)])
    score = discriminant_analysis.fit_quadratic(rows, np.arange(200_000) >= 100_000)
    some = rows[::5000]
    np.testing.assert_allclose(score(some), laws[1].logpdf(some) - laws[0].logpdf(some), atol=0.15)


def test_scaling_handles_gaps_and_outliers():
    columns = RNG.normal(size=(100, 3))
    columns[::7, 0] = np.nan
    columns[3, 1], columns[4, 1], columns[:, 2] = np.inf, 1e308, 5.0
    frame = discriminant_analysis.fit_scaler(columns)
    framed = frame(columns)
    assert np.isfinite(framed).all()
    assert framed.shape == (100, 5)
    assert np.isfinite(frame(np.full((1, 3), np.nan))).all()
