import numpy as np
import pytest
from sklearn.decomposition import PCA

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data.dataset import (
    FederatedDataset,
    IdentityFeaturizer,
    PcaFeaturizer,
    RandomReluFeaturizer,
)


def rng():
    return np.random.default_rng(1)


def rows_of(n, d):
    """Rows with an uneven spectrum, far from the origin."""
    return (rng().normal(size=(n, d)) * np.arange(d, 0, -1) + 50).astype(np.float32)


@pytest.mark.parametrize("shape", [(200, 30), (20, 300)], ids=["tall", "wide"])
def test_components_match_another_library(shape):
    rows, others = rows_of(*shape), rows_of(7, shape[1])[::-1]
    theirs = PCA(10, svd_solver="full").fit(rows.astype(np.float64))
    made = PcaFeaturizer(10).fit(rows, rng())(others)
    expected = theirs.transform(others) * 8 / np.sqrt(theirs.explained_variance_[0])
    np.testing.assert_allclose(made * np.sign(made[0] * expected[0]), expected, rtol=1e-3, atol=1e-3)


def test_first_component_has_standard_deviation_eight():
    rows = rows_of(300, 40)
    deviations = PcaFeaturizer().fit(rows, rng())(rows).std(axis=0, ddof=1)
    assert deviations[0] == pytest.approx(8, rel=1e-4)
    assert (np.diff(deviations) < 0).all()


def test_n_rows_span_n_minus_one_dimensions():
    rows = rows_of(20, 300)
    made = PcaFeaturizer().fit(rows, rng())(rows)
    assert made.shape == (20, 19)
    assert "19 principal components (not 512" in PcaFeaturizer().note(19)
    assert "not" not in PcaFeaturizer(19).note(19)


def test_duplicate_rows_add_no_dimension():
    rows = np.repeat(rows_of(6, 50), 4, axis=0)
    assert PcaFeaturizer().fit(rows, rng())(rows).shape == (24, 5)


@pytest.mark.parametrize(
    ("rows", "dimensions", "word"),
    [
        (rows_of(20, 300), 20, "20 reference rows of 300 values span only 19"),
        (np.repeat(rows_of(6, 50), 4, axis=0), 6, "span only 5"),
        (rows_of(20, 5), 6, "span only 5"),
        (np.ones((8, 5), np.float32), None, "span only 0"),
    ],
)
def test_rejects_more_dimensions_than_rows_span(rows, dimensions, word):
    with pytest.raises(BadInput, match=word):
        PcaFeaturizer(dimensions).fit(rows, rng())


def test_large_reference_is_subsampled_but_not_below_dimensions():
    rows = rng().normal(size=(4_300, 40)).astype(np.float32)
    np.testing.assert_array_equal(
        PcaFeaturizer(5).fit(rows, rng())(rows), PcaFeaturizer(5).fit(rows[::3], rng())(rows)
    )
    wide = rng().normal(size=(2_201, 1_150)).astype(np.float32)  # every second row: 1,101, which span 1,100
    assert PcaFeaturizer(1_100).fit(wide, rng())(wide[:5]).shape == (5, 1_100)


def test_random_units_follow_their_formula():
    rows, others = rows_of(60, 8), rows_of(5, 8)[::-1]
    weights = rng().standard_normal((8, 3), dtype=np.float32)
    standard = (others - rows.mean(axis=0)) / rows.std(axis=0)
    expected = np.maximum(standard @ weights * 4 / np.sqrt(8), 0)
    np.testing.assert_allclose(
        RandomReluFeaturizer(3).fit(rows, rng())(others), expected, rtol=1e-4, atol=1e-4
    )


def test_random_features_have_scale_of_embeddings():
    rows = rng().normal(3, 7, (400, 200)).astype(np.float32)
    made = RandomReluFeaturizer().fit(rows, rng())(rows)
    assert made.shape == (400, 512)
    assert made.dtype == np.float32
    assert np.mean(made == 0) == pytest.approx(0.5, abs=0.02)
    assert np.mean(made**2) == pytest.approx(4**2 / 2, rel=0.05)


def test_nearly_constant_pixel_does_not_dominate():
    rows = rng().integers(0, 256, (500, 100)).astype(np.uint8)
    rows[:, 0] = 0
    rows[3, 0] = 1
    bright = rows[:1].copy()
    bright[0, 0] = 255
    made = RandomReluFeaturizer().fit(rows, rng())(bright)
    assert made.max() < 31.94 * 2  # a weight of 255 / (74 / 10) / sqrt(100) = 3.4 standard units, times 4


def test_equal_rows_have_no_random_features():
    with pytest.raises(BadInput, match="all reference rows are equal"):
        RandomReluFeaturizer().fit(np.ones((4, 3), np.uint8), rng())


def test_feature_rows_are_unchanged():
    rows = rows_of(4, 3)
    made = IdentityFeaturizer().fit(rows[:2], rng())(rows)
    np.testing.assert_array_equal(made, rows)
    assert made is not rows


def test_transforming_in_chunks_makes_no_difference():
    rows = rows_of(2_500, 6)
    transform = PcaFeaturizer(3).fit(rows[:50], rng())
    one_by_one = np.vstack([transform(rows[i : i + 1]) for i in (0, 1_023, 1_024, 2_499)])
    np.testing.assert_allclose(transform(rows)[[0, 1_023, 1_024, 2_499]], one_by_one, rtol=1e-4, atol=1e-4)


def loaded(rows=None, **changes):
    rows = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32) if rows is None else rows
    said = {"labels": np.arange(len(rows)) % 2, "classes": ("0", "1"), "digest": "", "seed": 1}
    return FederatedDataset(rows=rows, **(said | changes))


REFERENCE = np.arange(20)


@pytest.mark.parametrize("featurizer", [PcaFeaturizer(4), RandomReluFeaturizer(4)])
def test_features_depend_on_no_row_outside_of_reference(featurizer):
    rows = loaded().rows.copy()
    rows[21:] *= 100
    one, other = loaded(featurizer=featurizer), loaded(rows, featurizer=featurizer)
    np.testing.assert_array_equal(one.features(REFERENCE)[:21], other.features(REFERENCE)[:21])
    assert not np.array_equal(one.features(REFERENCE)[21:], other.features(REFERENCE)[21:])


@pytest.mark.parametrize("featurizer", [PcaFeaturizer(4), RandomReluFeaturizer(4)])
def test_features_depend_on_reference(featurizer):
    one = loaded(featurizer=featurizer)
    assert not np.allclose(one.features(REFERENCE), one.features(REFERENCE + 20))


def test_seed_decides_random_features():
    made = [loaded(featurizer=RandomReluFeaturizer(4), seed=seed).features(REFERENCE) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(made[0], made[1])
    assert not np.allclose(made[0], made[2])


def test_values_are_scaled_and_clipped_at_zero():
    given = np.array([[1.0, -2.0], [-0.5, 3.0]], np.float32)
    made = loaded(given, scale=2.0, non_negative=True).features(np.array([0, 1]))
    assert made.tolist() == [[2.0, 0.0], [0.0, 6.0]]
    assert made.dtype == np.float32
    assert given.tolist() == [[1.0, -2.0], [-0.5, 3.0]]


def test_features_are_computed_once_and_read_only():
    one = loaded()
    assert one.features(REFERENCE) is one.features(REFERENCE.copy())
    with pytest.raises(ValueError, match="read-only"):
        one.features(REFERENCE)[0, 0] = 1


def test_notes_describe_feature_computation():
    one = loaded(featurizer=PcaFeaturizer(), notes=("a file",))
    file, made = one.notes_on(one.features(REFERENCE))
    assert file == "a file"
    assert made.startswith("features: 6 principal components (not 512: the reference rows span no more), fit")
    assert loaded(notes=("a file",)).notes_on(one.features(REFERENCE)) == ("a file",)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rows": np.array([[1, 2], [3, np.nan]], np.float32)}, r"row 1 .*nan in feature 1"),
        ({"rows": np.array([[1, 2], [-np.inf, 3]], np.float32)}, r"row 1 .*-inf in feature 0"),
        ({"rows": np.ones((2, 0), np.float32)}, "at least one row of one value"),
        ({"labels": np.zeros(3, np.int64)}, "40 rows but 3 labels"),
        ({"classes": ("a",)}, "the same label"),
        ({"is_train": np.ones(3, bool)}, "3 training flags"),
    ],
)
def test_rejects_unusable_rows(changes, word):
    with pytest.raises(BadInput, match=word):
        loaded(**changes)


def test_rejects_scale_beyond_single_precision():
    with pytest.raises(BadInput, match="inf in feature"):
        loaded(scale=1e39).features(REFERENCE)


def test_features_are_not_fitted_on_single_row():
    with pytest.raises(BadInput, match="1 reference rows; 2 are needed"):
        loaded(featurizer=PcaFeaturizer()).features(np.array([3]))
