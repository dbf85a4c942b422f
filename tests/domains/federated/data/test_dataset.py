import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data.dataset import FederatedDataset
from leakgauge.domains.federated.data.featurizers import PcaFeaturizer, RandomReluFeaturizer


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
