import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.synthetic import generate_mixture
from leakgauge.domains.models.plan_tables import ModelsSyntheticDataTable


def test_seed_determines_rows():
    one, same, other = (generate_mixture(ModelsSyntheticDataTable(), seed) for seed in (1, 1, 2))
    assert np.array_equal(one.rows, same.rows)
    assert one.digest == same.digest
    assert not np.array_equal(one.rows, other.rows)
    assert one.digest != other.digest


def test_rows_are_scaled_and_grouped_by_component():
    found = generate_mixture(ModelsSyntheticDataTable(rows=301, features=7, components=3, classes=4), 1)
    assert found.rows.shape == (301, 7)
    assert found.rows.min(axis=0).tolist() == [0] * 7
    assert found.rows.max(axis=0).tolist() == [1] * 7
    assert np.bincount(found.groups["component"].codes).tolist() == [101, 100, 100]
    assert found.n_classes == 4


def accuracies(found):
    """Of a model of component 0, on rows of it that it has not seen, and on those of another component."""
    own = np.flatnonzero(found.groups["component"].codes == 0)
    model = LogisticRegression(C=100, max_iter=1_000).fit(found.rows[own[::2]], found.labels[own[::2]])
    other = np.flatnonzero(found.groups["component"].codes == 1)
    return tuple(model.score(found.rows[rows], found.labels[rows]) for rows in (own[1::2], other))


def test_model_of_one_component_fails_on_another():
    own, other = accuracies(generate_mixture(ModelsSyntheticDataTable(distance=0.0), 1))
    assert own > 0.9  # a tenth of the labels is drawn, and half of those are right by chance
    assert other < 0.1  # two components have opposite rules


def test_random_labels_cannot_be_learned():
    own, _ = accuracies(generate_mixture(ModelsSyntheticDataTable(flip=1.0), 1))
    assert 0.4 < own < 0.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"components": 0}, "components must be >= 1, got 0"),
        ({"classes": 1}, "classes must be >= 2, got 1"),
        ({"flip": float("nan")}, "flip must be in"),
        ({"distance": float("nan")}, "distance must be >= 0"),
        ({"rows": 20, "components": 11}, "rows = 20 are too few"),
    ],
)
def test_rejects_invalid_mixtures(words, message):
    with pytest.raises(BadInput, match=message):
        ModelsSyntheticDataTable(**words)
