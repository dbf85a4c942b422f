import duckdb
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import sources
from leakgauge.domains.models.data.sources import generate_mixture, load_table, published_names
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


TEXT = """id,age,colour,smokes,hospital,outcome
a,20,red,true,north,ill
b,40,green,false,north,well
c,30,blue,false,south,ill
d,20,red,true,south,well
"""
PATIENTS = {"source": "rows.csv", "label": "outcome", "group": "hospital", "drop": ["id"]}


@pytest.fixture(autouse=True)
def _forget():
    sources._table_cache.clear()


def write(folder, text=TEXT):
    (folder / "rows.csv").write_text(text)
    return folder


def refusal(table, folder):
    with pytest.raises(BadInput) as error:
        load_table(table, folder, 1)
    return str(error.value)


def test_texts_become_features_and_numbers_are_scaled(tmp_path):
    found = load_table(PATIENTS, write(tmp_path), 1)
    assert found.names == ("age", "colour=blue", "colour=green", "colour=red", "smokes=true")
    assert found.rows.dtype == np.float32
    assert found.rows.tolist() == [[0, 0, 0, 1, 1], [1, 0, 1, 0, 0], [0.5, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert found.classes == ("ill", "well")
    assert found.labels.tolist() == [0, 1, 0, 1]
    assert found.groups["hospital"].values == ("north", "south")
    assert found.groups["hospital"].codes.tolist() == [0, 0, 1, 1]
    assert found.notes == ("rows.csv: 4 rows, 5 features, 2 classes",)


def test_reads_parquet(tmp_path):
    write(tmp_path)
    with duckdb.connect(":memory:") as database:
        database.execute(f"COPY (FROM '{tmp_path / 'rows.csv'}') TO '{tmp_path / 'rows.parquet'}'")
    same = load_table(PATIENTS | {"source": "rows.parquet"}, tmp_path, 1)
    assert same.rows.tolist() == load_table(PATIENTS, tmp_path, 1).rows.tolist()


def test_plan_declares_categorical_codes(tmp_path):
    found = load_table(PATIENTS | {"categories": ["age"]}, write(tmp_path), 1)
    assert found.names[:3] == ("age=20", "age=30", "age=40")


def test_integer_classes_keep_their_order(tmp_path):
    (tmp_path / "rows.csv").write_text("x,label\n1,10\n2,9\n3,10\n")
    found = load_table({"source": "rows.csv"}, tmp_path, 1)
    assert found.classes == ("9", "10")
    assert found.labels.tolist() == [1, 0, 1]


def test_duplicate_rows_are_dropped_across_groups(tmp_path):
    twice = write(tmp_path, TEXT + "e,20,red,true,south,ill\n")  # as a, which is of the other hospital
    found = [load_table(PATIENTS, twice, seed) for seed in range(10)]
    assert {len(one) for one in found} == {4}
    assert {tuple(np.bincount(one.groups["hospital"].codes)) for one in found} == {(2, 2), (1, 3)}
    assert found[0].notes[-1] == "left out: 1 of 5 rows, which occur more than once"
    assert len(load_table(PATIENTS | {"duplicates": "keep"}, twice, 1)) == 5


def test_constant_columns_are_dropped(tmp_path):
    text = "".join(f"{line},{'same' if i else 'x'}\n" for i, line in enumerate(TEXT.splitlines()))
    found = load_table(PATIENTS, write(tmp_path, text), 1)
    assert "x" not in found.names
    assert found.notes[1] == "left out, for all rows are the same in them: 'x'"


def test_gaps_are_rejected_or_filled_over_all_rows(tmp_path):
    write(tmp_path, TEXT.replace("b,40,green", "b,,"))
    message = refusal(PATIENTS, tmp_path)
    assert "'age' has no value (or NaN) in 1 of 4 rows" in message
    assert "impute = true" in message
    found = load_table(PATIENTS | {"impute": True}, tmp_path, 1)
    assert found.rows[1].tolist() == pytest.approx(
        [1 / 3, 1, 1 / 3 * 0]
    )  # 23.33 years, between 20 and 30; red
    assert found.names == ("age", "colour=red", "smokes=true")
    assert found.notes[1].startswith("2 missing values in 2 columns were imputed")


def test_plan_names_missing_values(tmp_path):
    write(tmp_path, TEXT.replace("b,40", "b,?"))
    assert "'age' of rows.csv holds numbers in 3 rows and other texts in 1" in refusal(PATIENTS, tmp_path)
    found = load_table(PATIENTS | {"missing": ["?"], "impute": True}, tmp_path, 1)
    assert found.rows[:, 0].tolist() == pytest.approx([0, 1 / 3, 1, 0])


def test_numbers_with_decimal_commas_stay_numbers_where_a_word_means_a_missing_value(tmp_path):
    weights = [f"{20 + i},{i:02d}" for i in range(40)]
    text = "w;age;label\n" + "".join(f"{w};{20 + i % 30};{i % 2}\n" for i, w in enumerate(weights))
    write(tmp_path, text.replace("50,30", " NA"))
    table = {"source": "rows.csv", "label": "label"}
    commas, named = {"decimal": ","}, {"missing": ["NA"], "impute": True}
    for more in ({}, named):
        message = refusal(table | more, tmp_path)
        assert "'w' are written with decimal commas; write decimal = \",\"; if they are codes" in message
    assert "holds numbers in 39 rows and other texts in 1" in refusal(table | commas, tmp_path)
    found = load_table(table | commas | named, tmp_path, 1)
    assert found.names == ("w", "age")
    kept = np.delete(np.arange(40), 30)  # 20 and 59.39 become 0 and 1
    assert found.rows[kept, 0] == pytest.approx((kept * 1.01) / 39.39)


def test_numbers_with_decimal_points_are_refused_where_the_plan_says_commas(tmp_path):
    text = "w;age;label\n" + "".join(f"{20 + i}.{i:02d};{20 + i % 30};{i % 2}\n" for i in range(40))
    table = {"source": "rows.csv", "label": "label", "decimal": ","}
    for one in (text, text.replace("50.30", "NA")):
        message = refusal(table, write(tmp_path, one))
        assert (
            "'w' are written with decimal points, and the plan says decimal = \",\"; leave decimal out"
            in message
        )
    assert load_table(table | {"decimal": "."}, write(tmp_path, text), 1).names == ("w", "age")
    assert len(load_table(table | {"categories": ["w"]}, tmp_path, 1).names) == 41


def test_codes_with_commas_are_read_as_the_message_says(tmp_path):
    text = "cell;age;label\n" + "".join(f"{i % 5},{i % 6};{20 + i};{i % 2}\n" for i in range(60))
    table = {"source": "rows.csv", "label": "label"}
    assert 'write categories = ["cell"]' in refusal(table, write(tmp_path, text))
    assert load_table(table | {"categories": ["cell"]}, tmp_path, 1).names[0] == "cell=0,0"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (TEXT, {"group": "hospitl"}, 'Map it: group = "hospital"'),
        (TEXT, {"label": "outcom"}, 'Map it: label = "outcome"'),
        (TEXT, {"drop": ["idd"]}, "data: rows.csv has no column 'idd'; it has "),
        (TEXT, {"group": "outcome"}, "'outcome' is the label"),
        (TEXT, {"drop": ["hospital"]}, "'hospital' is the label or a group"),
        (TEXT, {"duplicates": "yes"}, "data.duplicates: no choice is called 'yes'"),
        (TEXT.replace("well", "ill"), {}, "all 4 rows of rows.csv have the same label"),
        (TEXT.replace(",well", ","), {}, "the label has no value in 2 of 4 rows"),
        (TEXT.replace("north", ""), {}, "group 'hospital' has no value in 2 of 4 rows"),
        (TEXT.replace("40", "inf"), {}, "'age' holds an infinity in row 1"),
        (TEXT.replace("40", "nan"), {}, "'age' has no value (or NaN) in 1 of 4 rows"),
        (TEXT, {"label": "age", "drop": ["id", "outcome"]}, None),
        (TEXT.replace("40", "40.5"), {"label": "age"}, "'age' holds fractions"),
        (TEXT.splitlines()[0] + "\n", {}, "rows.csv has no rows"),
        (TEXT, {"drop": ["id", "age", "colour", "smokes"]}, "none of 0 columns varies"),
        (
            TEXT.replace("20", "2020-01-02").replace("40", "2020-01-03").replace("30", "2020-01-04"),
            {},
            "DATE",
        ),
    ],
)
def test_rejects_unusable_data(tmp_path, text, more, message):
    write(tmp_path, text)
    if message is None:
        assert load_table(PATIENTS | more, tmp_path, 1).classes == ("20", "30", "40")
    else:
        assert message in refusal(PATIENTS | more, tmp_path)


def test_rejects_identifier_column(tmp_path):
    rows = "".join(f"p{i},{i % 7},{'ab'[i % 2]}\n" for i in range(1_001))
    (tmp_path / "rows.csv").write_text("who,x,label\n" + rows)
    assert "'who' has 1,001 different texts" in refusal({"source": "rows.csv"}, tmp_path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"source": "none.csv"}, "there is no file 'none.csv'"),
        ({"source": 7}, "must be a file or one of synthetic, adult, census, compas, heart, location30"),
        ({"source": "adult", "grup": "sex"}, "did you mean 'group'?"),
        ({"rows": 2}, "rows must be >= 20, got 2"),
    ],
)
def test_rejects_unknown_keys(tmp_path, table, message):
    assert message in refusal(table, tmp_path)


def test_data_are_cached_until_file_changes(tmp_path):
    first = load_table(PATIENTS, write(tmp_path), 1)
    assert load_table(PATIENTS, tmp_path, 1) is first
    write(tmp_path, TEXT + "e,90,red,true,south,ill\n")
    assert len(load_table(PATIENTS, tmp_path, 1)) == 5


def test_rows_are_read_only(tmp_path):
    with pytest.raises(ValueError, match="read-only"):
        load_table(PATIENTS, write(tmp_path), 1).rows[0] = 1


@pytest.mark.parametrize("name", published_names())
def test_published_data_set_names_missing_files(name, tmp_path):
    """A new file in ``published/`` is found, and needs no edit here."""
    with pytest.raises(BadInput, match=rf"^data\.\w+: there is no file .* in {tmp_path}") as refusal:
        load_table({"source": name}, tmp_path, 1)
    assert "\n" not in str(refusal.value)
    with pytest.raises(BadInput, match=r"^data: no key is called 'no_such_key'"):
        load_table({"source": name, "no_such_key": 1}, tmp_path, 1)
