import sys

import numpy as np
import pytest

from domains.federated.tiny_files import encoded, write_csv, write_npz, write_parquet
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data import data_loader
from leakgauge.domains.federated.data.data_loader import generate_rows, load_rows
from leakgauge.domains.federated.data.dataset import IdentityFeaturizer, PcaFeaturizer, RandomReluFeaturizer
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


BOTH = np.array([0, 1])
VALUES = [[1.5, -2.0], [0.25, 3.0]]


@pytest.fixture(autouse=True)
def _forget():
    data_loader._loaded.clear()


def test_numbers_of_csv_file_are_features(tmp_path):
    found = load_rows(write_csv(tmp_path), tmp_path, 1)
    assert found.features(BOTH).tolist() == VALUES  # not the id, not the day
    assert found.labels.tolist() == [0, 1]
    assert found.classes == ("cat", "dog")
    assert found.is_train.tolist() == [True, False]
    assert found.notes == ("rows.csv: 2 rows of 2 numbers ('x' to 'y'), 2 classes",)


def test_named_columns_are_features_in_their_order(tmp_path):
    table = write_csv(tmp_path) | {"features": ["y", "id"], "keys": {"labels": "when"}}
    assert load_rows(table, tmp_path, 1).features(BOTH).tolist() == [[-2, 7], [3, 8]]


@pytest.mark.parametrize(
    ("mark", "word", "decimal", "problem"),
    [
        (",", "NA", ".", "'x' are written with decimal commas; write decimal = \",\""),
        (",", "n/a", ",", "'x' of rows.csv holds numbers in 40 rows and other texts in 1; fix or remove"),
        (".", "?", ".", "'x' of rows.csv holds numbers in 40 rows and other texts in 1; fix or remove"),
        (".", "7", ",", "'x' are written with decimal points, and the plan says decimal = \",\""),
    ],
)
def test_numbers_that_would_be_left_out_as_texts_are_refused(tmp_path, mark, word, decimal, problem):
    rows = [f"{i % 2};{i}{mark}{i % 7};{i}\n" for i in range(40)]
    (tmp_path / "rows.csv").write_text("label;x;y\n" + "".join(rows) + f"0;{word};40\n")
    table = {"source": "rows.csv", "decimal": decimal}
    with pytest.raises(BadInput) as told:
        load_rows(table, tmp_path, 1)
    assert problem in str(told.value)
    assert load_rows(table | {"features": ["y"]}, tmp_path, 1).features(BOTH)[:2].tolist() == [[0], [1]]
    (tmp_path / "rows.csv").write_text("label;x;y\n" + "".join(rows))
    found = load_rows({"source": "rows.csv", "decimal": mark}, tmp_path, 1)
    assert found.features(BOTH)[:2].tolist() == [[0, 0], [pytest.approx(1.1), 1]]


def test_parquet_file_holds_same(tmp_path):
    rows = "('cat', 1.5::DECIMAL(4, 2), -2::TINYINT), ('dog', 0.25, 3)"
    query = f"SELECT * FROM (VALUES {rows}) AS t(label, x, y)"
    found = load_rows(write_parquet(tmp_path, query), tmp_path, 1)
    assert found.features(BOTH).tolist() == VALUES
    assert found.is_train is None


@pytest.mark.parametrize("kind", ["FLOAT[]", "DOUBLE[2]", "DECIMAL(4, 2)[]"])
def test_column_may_hold_whole_rows(tmp_path, kind):
    query = f"SELECT * FROM (VALUES (5, [1.5, -2]::{kind}), (3, [0.25, 3]::{kind})) AS t(label, e)"
    found = load_rows(write_parquet(tmp_path, query) | {"keys": {"rows": "e"}}, tmp_path, 1)
    assert found.features(BOTH).tolist() == VALUES
    assert found.labels.tolist() == [1, 0]
    assert found.classes == ("3", "5")


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.float32])
def test_arrays_are_read(tmp_path, kind):
    table = write_npz(
        tmp_path, embedding=np.array(VALUES, kind), label=np.array([4, 2], np.int8), is_train=[1, 0]
    )
    found = load_rows(table, tmp_path, 1)
    assert found.features(BOTH).tolist() == VALUES
    assert found.features(BOTH).dtype == np.float32
    assert found.classes == ("2", "4")
    assert found.is_train.tolist() == [True, False]


def test_arrays_may_have_other_names(tmp_path):
    table = write_npz(tmp_path, e=np.array(VALUES), y=np.array(["b", "a"]), t=np.array([True, True]))
    found = load_rows(table | {"keys": {"rows": "e", "labels": "y", "train": "t"}}, tmp_path, 1)
    assert found.classes == ("a", "b")
    assert found.is_train.all()


def test_images_in_an_array_become_rows_of_pixels(tmp_path):
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    found = load_rows(write_npz(tmp_path, embedding=images, label=[0, 1]), tmp_path, 1)
    np.testing.assert_array_equal(found.rows, images.reshape(2, 12))
    assert found.featurizer == PcaFeaturizer()
    assert found.notes == ("rows.npz: 2 images of 12 pixel values, 2 classes",)


@pytest.mark.parametrize("colours", [(), (1,), (3,)])
def test_large_images_are_reduced_by_averaging(tmp_path, colours):
    images = np.zeros((2, 8, 8, *colours), np.uint8)
    images[1, :, :4] = 200  # the left half is bright
    table = write_npz(tmp_path, embedding=images, label=[0, 1]) | {"size": 4, "features": "random_relu"}
    found = load_rows(table, tmp_path, 1)
    row = found.rows[1].reshape(4, 4, *colours)
    assert (row[:, 0] == 200).all()
    assert (row[:, 3] == 0).all()
    assert row.mean() == pytest.approx(100, abs=1)
    assert found.featurizer == RandomReluFeaturizer(512)


@pytest.mark.parametrize(("kind", "slack"), [("PNG", 0), ("JPEG", 3)])
def test_encoded_images_become_rows_of_colours(tmp_path, kind, slack):
    red, grey = np.zeros((16, 16, 3)), np.full((32, 24), 90)  # the second of another size, without colours
    red[..., 0] = 200
    blobs = [encoded(red, kind), encoded(grey, kind, "L")]
    query = "SELECT unnest(?) AS jpeg, unnest(['r', 'g']) AS wnid"
    table = write_parquet(tmp_path, query, parameters=[blobs]) | {"keys": {"labels": "wnid"}, "size": 8}
    found = load_rows(table | {"dimensions": 1}, tmp_path, 1)
    assert found.rows.shape == (2, 8 * 8 * 3)
    pixels = found.rows.reshape(2, 64, 3).astype(int)
    assert np.abs(pixels[0] - [200, 0, 0]).max() <= slack
    assert np.abs(pixels[1] - 90).max() <= slack
    assert found.featurizer == PcaFeaturizer(1)


def test_small_encoded_images_keep_their_size(tmp_path):
    blobs = [encoded(np.zeros((5, 7)))] * 2
    table = write_parquet(tmp_path, "SELECT unnest(?) AS i, unnest([0, 1]) AS label", parameters=[blobs])
    assert load_rows(table, tmp_path, 1).rows.shape == (2, 5 * 7 * 3)


def test_images_without_pillow_say_what_to_install(tmp_path, monkeypatch):
    table = write_parquet(tmp_path, "SELECT unnest(?) AS i, 0 AS label", parameters=[[encoded([[0]])]])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(BadInput, match=r"pip install 'leakgauge\[federated\]'"):
        load_rows(table, tmp_path, 1)


def test_embeddings_may_get_other_features(tmp_path):
    table = write_csv(tmp_path) | {"features": "random_relu", "dimensions": 7, "scale": 2}
    assert load_rows(table, tmp_path, 1).features(BOTH).shape == (2, 7)


def test_without_file_embeddings_are_generated(tmp_path):
    found = load_rows({"rows": 30, "features": 5, "classes": 3, "non_negative": True}, tmp_path, 1)
    made = found.features(BOTH)
    assert made.shape == (30, 5)
    assert made.min() == 0
    assert found.featurizer == IdentityFeaturizer()


def test_digest_covers_file_and_table_but_not_location(tmp_path):
    (tmp_path / "below").mkdir()
    first = load_rows(write_csv(tmp_path), tmp_path, 1).digest
    assert load_rows(write_csv(tmp_path / "below", name="b.csv"), tmp_path / "below", 2).digest == first
    assert load_rows(write_csv(tmp_path) | {"scale": 2}, tmp_path, 1).digest != first
    text = (tmp_path / "rows.csv").read_text().replace("1.5", "1.25")
    assert load_rows(write_csv(tmp_path, text), tmp_path, 1).digest != first


def test_file_is_read_once_for_all_points_of_sweep(tmp_path):
    table = write_csv(tmp_path)
    assert load_rows(table, tmp_path, 1) is load_rows(dict(table), tmp_path, 1)
    assert load_rows(table, tmp_path, 1) is not load_rows(table, tmp_path, 2)


PLAIN = {"embedding": VALUES, "label": [0, 1]}


@pytest.mark.parametrize(
    ("arrays", "table", "word"),
    [
        (PLAIN | {"embedding": [[1, np.nan], [2, 3]]}, {}, "row 0 .*nan in feature 1"),
        (PLAIN | {"embedding": [[1, 1e39], [2, 3]]}, {}, "row 0 .*inf in feature 1"),
        (PLAIN | {"label": [0, 0]}, {}, "the same label"),
        (PLAIN | {"label": [0.5, 1]}, {}, "row 0 .*'label' must be a class"),
        (PLAIN | {"label": [0, np.nan]}, {}, "row 1 .*'label' must be a class"),
        (PLAIN | {"label": [[0], [1]]}, {}, r"shape \(2, 1\)"),
        (PLAIN | {"label": [0, 1, 2]}, {}, "2 rows but 3 labels"),
        (PLAIN | {"is_train": [0, 2]}, {}, "row 1 .*'is_train' must be true or false"),
        (PLAIN | {"embedding": ["a", "b"]}, {}, "holds <U1 of shape"),
        (PLAIN | {"embedding": [1.0, 2.0]}, {}, r"of shape \(2,\)"),
        (PLAIN | {"embedding": np.ones((2, 3, 3))}, {}, "images are uint8"),
        (PLAIN | {"embedding": np.ones((2, 3, 8, 8), np.uint8)}, {}, "colours as the last dimension"),
        (PLAIN | {"embedding": np.ones((0, 3)), "label": []}, {}, "has no rows"),
        ({"embeddings": VALUES, "label": [0, 1]}, {}, "did you mean 'embeddings'"),
        ({"embedding": VALUES, "target": [0, 1]}, {}, "no array of rows.npz is called 'label'"),
        ({"embedding": np.array([None, 1]), "label": [0, 1]}, {}, "cannot be read"),
        (PLAIN, {"keys": {"train": "is_train"}}, "keys.train: no array"),
        (PLAIN, {"keys": {"row": "a"}}, "did you mean 'rows'"),
        (PLAIN, {"features": ["a"]}, "an .npz file has no columns"),
        (PLAIN, {"features": "pcaa"}, "did you mean 'pca'"),
        (PLAIN, {"features": 512}, "data.features"),
        (PLAIN, {"dimensions": 3}, "own columns are the features"),
        (PLAIN, {"features": "pca", "dimensions": 0}, "dimensions must be >= 1"),
        (PLAIN, {"size": 0}, "size must be >= 1"),
        (PLAIN, {"scale": -1}, "scale must be > 0"),
        (PLAIN, {"rows": 5}, "'rows'"),
    ],
)
def test_rejects_arrays_that_cannot_be_used(tmp_path, arrays, table, word):
    with pytest.raises(BadInput, match=word):
        load_rows(write_npz(tmp_path, **{k: np.array(v) for k, v in arrays.items()}) | table, tmp_path, 1)


@pytest.mark.parametrize(
    ("text", "table", "word"),
    [
        ("label,x\na,1\nb,\n", {}, "row 1 .*nan in feature 0"),
        ("label,x\na,1\nb,inf\n", {}, "row 1 .*inf in feature 0"),
        ("label,x\na,1\n,2\n", {}, "row 1 .*'label' must be a class"),
        ("label,x\na,1\nb,z\n", {}, "no column of numbers"),
        ("label,x\na,1\nb,z\n", {"features": ["x"]}, "'x' holds VARCHAR"),
        ("label,x\na,1\nb,2\n", {"features": ["x", "x"]}, "named twice"),
        ("label,x\na,1\nb,2\n", {"features": ["y"]}, "rows.csv has no column 'y'; it has label, x"),
        ("label,x\na,1\nb,2\n", {"features": []}, "the list is empty"),
        ("label,x\na,1\nb,2\n", {"keys": {"rows": "x"}}, "'x' holds BIGINT; a row is a list"),
        ("label,x\na,1\nb,2\n", {"keys": {"rows": "x"}, "features": ["x"]}, "leave one out"),
        ("labels,x\na,1\nb,2\n", {}, 'Map it: keys = { labels = "labels" }'),
        ("", {}, "data"),
    ],
)
def test_rejects_columns_that_cannot_be_used(tmp_path, text, table, word):
    with pytest.raises(BadInput, match=word):
        load_rows(write_csv(tmp_path, text) | table, tmp_path, 1)


@pytest.mark.parametrize(
    ("query", "table", "word"),
    [
        ("SELECT unnest([[1, 2], [3]]) AS e, 1 AS label", {"keys": {"rows": "e"}}, "row 1 .*has 1 numbers"),
        ("SELECT unnest([[1, 2], NULL]) AS e, 1 AS label", {"keys": {"rows": "e"}}, "row 1 .*has nothing"),
        ("SELECT unnest([NULL, [1, 2]]) AS e, 1 AS label", {"keys": {"rows": "e"}}, "row 0|row 1"),
        ("SELECT [1, NULL] AS e, unnest([1, 2]) AS label", {"keys": {"rows": "e"}}, "row 0 .*nan"),
        ("SELECT ['a'] AS e, unnest([1, 2]) AS label", {"keys": {"rows": "e"}}, r"holds VARCHAR\[\]"),
        ("SELECT 'x'::BLOB AS e, unnest([1, 2]) AS label", {}, "row 0 .*cannot be decoded"),
        ("SELECT NULL::BLOB AS e, unnest([1, 2]) AS label", {}, "row 0 .*holds no image"),
    ],
)
def test_rejects_rows_that_cannot_be_used(tmp_path, query, table, word):
    with pytest.raises(BadInput, match=word):
        load_rows(write_parquet(tmp_path, query) | table, tmp_path, 1)


@pytest.mark.parametrize("name", ["rows.npz", "rows.parquet"])
def test_rejects_broken_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(BadInput, match=f"{name} cannot be read"):
        load_rows({"source": name}, tmp_path, 1)


def test_unreadable_npz_message_does_not_suggest_pickle(tmp_path):
    (tmp_path / "rows.npz").write_text("hello")
    with pytest.raises(BadInput, match=r"rows\.npz cannot be read: it holds no arrays; it must be"):
        load_rows({"source": "rows.npz"}, tmp_path, 1)


def test_rejects_single_array_file(tmp_path):
    with (tmp_path / "rows.npz").open("wb") as file:
        np.save(file, np.array(VALUES))
    with pytest.raises(BadInput, match="holds one array without a name"):
        load_rows({"source": "rows.npz"}, tmp_path, 1)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"source": "absent.npz"}, "there is no file 'absent.npz'"),
        ({"source": 3}, "must be a file"),
        ({"source": "synthetic", "keys": {}}, "keys"),
        ({"source": "rows.xlsx"}, "unknown ending"),
    ],
)
def test_rejects_other_sources(tmp_path, table, word):
    (tmp_path / "rows.xlsx").write_text("x")
    with pytest.raises(BadInput, match=word):
        load_rows(table, tmp_path, 1)
