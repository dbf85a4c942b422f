"""What a fixed member group gives away without any model."""

import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.domains.models.property_inference import (
    blind_control,
    component_log_odds,
    fit_record_classifier,
    fit_softmax,
    mixture_ratio,
    one_against_rest,
)
from leakgauge.domains.models.training.trainer import Examples


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


MODELS = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]
)  # chance of a model, a row per component
RECORDS = np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])


def enumerated(model: int, record: int) -> float:
    """Bayes' rule by going through the game: a component, a coin, a record of it or of another component."""
    chance = {True: 0.0, False: 0.0}
    for members in range(3):
        for coin in (True, False):
            sources = [members] if coin else [kind for kind in range(3) if kind != members]
            for source in sources:
                drawn = 1 / 3 * 1 / 2 / len(sources)
                chance[coin] += drawn * MODELS[members, model] * RECORDS[source, record]
    return chance[True] / chance[False]


@pytest.mark.parametrize("model", range(3))
@pytest.mark.parametrize("record", range(3))
def test_ratio_matches_enumerated_game(model, record):
    found = mixture_ratio(np.log(MODELS[:, model]), np.log(RECORDS[:, record]))
    assert np.exp(found) == pytest.approx(enumerated(model, record))


def test_known_member_component_uses_record_only():
    sure = np.array([-np.inf, 0.0, -np.inf])
    of_record = np.log(RECORDS[:, 2])
    assert component_log_odds(of_record, 1) == pytest.approx(np.log(0.6 / ((0.1 + 0.1) / 2)))
    assert mixture_ratio(sure, of_record) == pytest.approx(component_log_odds(of_record, 1))


def test_tiny_probabilities_are_compared_in_logs():
    far = np.array([0.0, -2000.0])
    assert mixture_ratio(far, far) == pytest.approx(2000 - np.log(2))


APART = 2.0


def normal(n, rng, *, shift=0.0, flipped=False) -> Examples:
    """Normal rows; shifted in the first feature, in the other direction for the second class if flipped."""
    rows, labels = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    rows[:, 0] += shift * np.where(flipped & (labels == 1), -1, 1)
    return Examples(rows.astype(np.float32), labels, 2)


@pytest.mark.parametrize("flipped", [False, True])
def test_normal_components_are_separated_optimally(flipped):
    """Two normal laws 2 apart: the best rule is right with chance Phi(1), and the log odds are 2 x."""
    rng = np.random.default_rng(4)
    kinds = [normal(n, rng, shift=sign * APART / 2, flipped=flipped) for n, sign in ((6_000, 1), (1_500, -1))]
    found = fit_record_classifier(kinds, rng)
    assert found.accuracy == pytest.approx(norm.cdf(APART / 2), abs=0.03)
    records = normal(500, rng)
    logs = found(records)
    direction = np.where(flipped & (records.labels == 1), -1, 1)
    np.testing.assert_allclose(logs[:, 0] - logs[:, 1], APART * records.rows[:, 0] * direction, atol=0.6)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)


def test_identical_components_are_guessed():
    rng = np.random.default_rng(4)
    assert fit_record_classifier([normal(2_000, rng) for _ in range(4)], rng).accuracy == pytest.approx(
        0.25, abs=0.04
    )


def test_component_is_compared_with_all_others():
    rng = np.random.default_rng(4)
    kinds = [normal(n, rng) for n in (3, 4, 5)]
    one, rest = one_against_rest(kinds, 1)
    assert one is kinds[1]
    np.testing.assert_array_equal(rest.rows, np.concatenate([kinds[0].rows, kinds[2].rows]))


def test_wide_tables_need_no_pairwise_columns():
    rng = np.random.default_rng(4)
    kinds = [
        Examples(rng.random((60, 300), dtype=np.float32) + shift, rng.integers(30, size=60), 30)
        for shift in (np.float32(0), np.float32(0.5))
    ]
    found = fit_record_classifier(kinds, rng)
    assert found.softmax.weights.shape == (330, 2)
    assert found.accuracy > 0.9


def split(n):
    rows = np.arange(2 * n)
    return rows[:n], rows[n:]


def table(shift, n, rng):
    """Members are shifted in one feature: the best advantage is 2 Phi(shift / 2) - 1."""
    rows = rng.normal(size=(2 * n, 3))
    rows[:n, 1] += shift
    return Examples(rows.astype(np.float32), rng.integers(2, size=2 * n), 2)


@pytest.mark.parametrize(("shift", "best"), [(0.0, 0.0), (1.0, 0.3829), (3.0, 0.8664)])
def test_advantage_is_near_optimum(shift, best):
    found = blind_control(
        table(shift, 8_000, np.random.default_rng(1)), split(8_000), shift, np.random.default_rng(2)
    )
    assert found.advantage == pytest.approx(best, abs=4 * found.error)
    assert found.error < 0.03
    assert f"{found.advantage:.3f}" in found.note


def test_too_few_rows_have_no_control():
    assert (
        blind_control(table(1.0, 30, np.random.default_rng(1)), split(30), "few", np.random.default_rng(2))
        is None
    )


@pytest.mark.parametrize(("shift", "best"), [(0.0, 0.0), (2.0, 0.6827)])
def test_advantage_is_measured_on_held_out_rows(shift, best):
    """Of 60 rows each; twice the error is to cover what was aimed at, or less for want of rows to learn."""
    found = []
    for number in range(200):
        made = table(shift, 60, np.random.default_rng([1, number]))
        found.append(blind_control(made, split(60), (shift, number), np.random.default_rng([2, number])))
    advantages, errors = (np.array([getattr(one, name) for one in found]) for name in ("advantage", "error"))
    assert (
        best - 0.1 < advantages.mean() < best + 0.03
    )  # standard error 0.013; on learned rows 0.2 at shift 0
    around = np.abs(advantages - advantages.mean()) <= 2 * errors
    assert around.mean() > 0.95
