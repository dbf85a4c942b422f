import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data.synthetic import generate_rows
from leakgauge.domains.federated.plan_tables import FederatedSyntheticTable

ALL = np.arange(8_000)


@pytest.fixture(scope="module")
def many():
    return generate_rows(FederatedSyntheticTable(rows=8_000), 1)


def test_standard_deviations_decay_like_real_embeddings(many):
    deviations = many.features(ALL).std(axis=0)
    # measured on 512 principal components of a network's features of 12,000 CIFAR-10 images
    real = {0: 8.42, 1: 6.89, 5: 5.51, 10: 4.09, 50: 2.21, 100: 1.56, 200: 1.02, 511: 0.60}
    assert [deviations[j] for j in real] == pytest.approx(list(real.values()), rel=0.15)


def test_classes_differ_like_real_embeddings(many):
    rows = many.features(ALL)
    means = np.array([rows[many.labels == label].mean(axis=0) for label in range(10)])
    share = means.var(axis=0) / rows.var(axis=0)
    assert share[0] == pytest.approx(0.55, abs=0.03)  # measured: 0.546
    assert share[9:20].mean() == pytest.approx(0.064, rel=0.4)
    assert share[100:].mean() < 0.01


def test_values_fit_into_five_whole_bits(many):
    values = np.abs(many.features(ALL))
    assert np.mean(values <= 8) > 0.99
    assert np.mean(values > 31.94) < 1e-6


def test_classes_are_equally_frequent(many):
    assert np.bincount(many.labels).tolist() == [800] * 10
    assert many.n_classes == 10


def test_either_form_comes_from_same_rows():
    signed, cut = (
        generate_rows(FederatedSyntheticTable(rows=50, non_negative=cut), 3) for cut in (False, True)
    )
    np.testing.assert_array_equal(cut.features(ALL[:9]), np.maximum(signed.features(ALL[:9]), 0))
    assert signed.digest != cut.digest


def test_seed_decides_rows():
    one, same, other = (
        generate_rows(FederatedSyntheticTable(rows=20, features=3, classes=2), seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.rows, same.rows)
    np.testing.assert_array_equal(one.labels, same.labels)
    assert one.digest == same.digest != other.digest
    assert not np.allclose(one.rows, other.rows)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"rows": 3}, "rows must be >= 4"),
        ({"features": 0}, "features must be >= 1"),
        ({"classes": 1}, "classes must be >= 2"),
        ({"rows": 5, "classes": 6}, "exceeds rows = 5"),
        ({"scale": 0.0}, "scale must be > 0"),
        ({"scale": np.nan}, "scale must be > 0"),
        ({"scale": np.inf}, "scale must be > 0"),
    ],
)
def test_rejects_impossible_embeddings(table, word):
    with pytest.raises(BadInput, match=word):
        FederatedSyntheticTable(**table)
