"""Columns in another order are recognised, and weak models are not taken for them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.user_model.accuracy_check import (
    compare_orders,
    doubtful_accuracy,
    require_class_order,
)
from leakgauge.domains.models.user_model.model_query import ModelAnswers
from leakgauge.domains.models.user_model.records import FileMembership, UserModelRecords


def answers(labels, n_classes, strength, rng, bias=0.0):
    """Log-probabilities whose true class stands out by ``strength``; ``bias`` prefers some classes."""
    logits = rng.normal(size=(labels.size, n_classes)) + strength * np.eye(n_classes)[labels] + bias
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def records_of(logs, labels):
    """All of them members; nobody else."""
    n = labels.size
    return UserModelRecords(
        membership=FileMembership(np.ones(n, dtype=bool), np.zeros(n, dtype=bool)),
        labels=labels,
        answers=ModelAnswers(logs, "probabilities"),
        features=None,
        classes_known=True,
        digest="",
    )


def refused(logs, labels):
    try:
        require_class_order(records_of(logs, labels), "model")
    except BadInput:
        return True
    return False


def derangement(n, rng):
    """An order in which no column keeps its place."""
    while ((order := rng.permutation(n)) == np.arange(n)).any():
        pass
    return order


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fit_is_that_of_the_area_under_the_curve(n_classes):
    rng = np.random.default_rng(1)
    labels = rng.choice(n_classes, 400, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    shifted = np.roll(answers(labels, n_classes, 2.0, rng), 1, axis=1)
    found = compare_orders(shifted, labels, rng)
    weights = [(labels == k).mean() * (labels != k).mean() for k in range(n_classes)]

    def mean_fit(move):
        areas = [roc_auc_score(labels == k, shifted[:, (k + move) % n_classes]) for k in range(n_classes)]
        return np.average([2 * area - 1 for area in areas], weights=weights)

    assert found.other == pytest.approx(mean_fit(1), abs=1e-9)
    assert found.given == pytest.approx(mean_fit(0), abs=1e-9)


@pytest.mark.parametrize(("n_classes", "strength"), [(8, 0.35), (10, 0.35), (10, 0.0), (30, 0.5), (3, 0.2)])
def test_weak_models_are_audited(n_classes, strength):
    """Of 10 classes right about 17 %: 94 % of such audits were refused when the share alone decided."""
    rng = np.random.default_rng(2)
    wrong, right = 0, []
    for _ in range(60):
        labels = rng.integers(n_classes, size=500)
        logs = answers(labels, n_classes, strength, rng)
        right.append((logs.argmax(axis=1) == labels).mean())
        wrong += refused(logs, labels)
    assert wrong <= 1
    assert np.mean(right) < 0.5
    if (n_classes, strength) == (10, 0.35):
        assert 0.15 < np.mean(right) < 0.19


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=1e-3),
        LogisticRegression(C=1e-2, class_weight="balanced"),
        DecisionTreeClassifier(max_depth=1),
    ],
    ids=["logistic", "balanced", "stump"],
)
def test_weak_models_that_were_trained_are_audited(n_classes, model):
    rng = np.random.default_rng(3)
    for _ in range(5):
        labels = rng.choice(n_classes, 300, p=rng.dirichlet(np.full(n_classes, 3.0)))
        rows = rng.normal(size=(300, 8)) + 0.3 * rng.normal(size=(n_classes, 8))[labels]
        fitted = model.fit(rows, labels)
        whole = np.full((300, n_classes), 1e-45)
        whole[:, fitted.classes_] = np.maximum(fitted.predict_proba(rows), 1e-45)
        assert not refused(np.log(whole), labels)


@pytest.mark.parametrize(
    ("n_classes", "strength"), [(2, 0.5), (2, 3.0), (3, 3.0), (10, 2.0), (10, 5.0), (50, 5.0)]
)
def test_good_models_in_another_order_are_refused(n_classes, strength):
    rng = np.random.default_rng(4)
    for _ in range(20):
        labels = rng.integers(n_classes, size=500)
        logs = answers(labels, n_classes, strength, rng)
        assert not refused(logs, labels)
        assert refused(logs[:, derangement(n_classes, rng)], labels)


def test_two_classes_of_ten_that_changed_places_are_found():
    """The model is still right about 80 % of the rows."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        labels = rng.integers(10, size=500)
        order = np.arange(10)
        order[[3, 7]] = 7, 3
        logs = answers(labels, 10, 6.0, rng)[:, order]
        assert (logs.argmax(axis=1) == labels).mean() > 0.7
        with pytest.raises(BadInput, match=r"an AUC of (0\.9\d|1\.00) instead of 0\.[34]\d"):
            require_class_order(records_of(logs, labels), "model")


def test_preference_for_a_class_is_no_other_order():
    """A rare class that is said too often: interchanged, the two classes would be right about more rows."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        labels = (rng.random(500) < 0.2).astype(int)
        logs = answers(labels, 2, 0.3, rng, bias=np.array([0.0, 3.0]))
        assert (logs.argmax(axis=1) == labels).mean() < 0.35
        assert not refused(logs, labels)


@pytest.mark.parametrize("said", ["one class", "the same"])
def test_answers_without_information_are_audited_with_a_doubt(said):
    labels = np.arange(40) % 4
    logs = np.log(np.full((40, 4), 0.25))
    if said == "one class":
        labels = np.zeros(40, dtype=np.int64)
        logs = np.log(np.tile([0.1, 0.7, 0.1, 0.1], (40, 1)))
    assert not refused(logs, labels)
    assert "features are in another order" in (doubtful_accuracy(records_of(logs, labels)) or "")


def test_weak_model_in_another_order_is_doubted():
    """Too weak to be sure, as noise alone may fit another order a little."""
    rng = np.random.default_rng(7)
    labels = rng.integers(5, size=4000)
    logs = answers(labels, 5, 0.4, rng)[:, derangement(5, rng)]
    assert not refused(logs, labels)
    assert doubtful_accuracy(records_of(logs, labels)) is not None
