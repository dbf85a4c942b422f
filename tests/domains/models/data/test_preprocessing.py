import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from leakgauge.domains.models.data.dataset import CategoricalColumn, RawTable, categorical
from leakgauge.domains.models.data.preprocessing import column_aucs, leakage_warnings


def sheet(features, label, **groups):
    return RawTable(features=features, label=label, groups=groups)


def some(n=2_000, classes=2, seed=1):
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    return rng, CategoricalColumn(codes, tuple(f"c{i}" for i in range(classes)))


def test_column_revealing_label_is_named():
    rng, label = some()
    noise = rng.standard_normal(len(label))
    notes = leakage_warnings(sheet({"age": noise, "result": label.codes + 0.1 * noise}, label))
    assert len(notes) == 1
    assert notes[0].startswith("WARNING: 'result' alone predicts the label (AUC 1.000)")


def test_class_in_middle_range_of_column_is_found():
    rng, label = some(classes=3)
    notes = leakage_warnings(sheet({"x": label.codes + rng.uniform(-0.4, 0.4, len(label))}, label))
    assert "'x' alone predicts the label" in notes[0]


def test_column_revealing_group_is_named_with_value():
    rng, label = some()
    hospital = CategoricalColumn(rng.integers(3, size=len(label)), ("a", "b", "c"))
    machine = categorical(["old" if code == 1 else "new" for code in hospital.codes])
    (note,) = leakage_warnings(sheet({"machine": machine}, label, hospital=hospital))
    assert "'machine' alone predicts hospital = 'b' (AUC 1.000)" in note


def test_unique_text_column_is_named():
    _, label = some()
    names = categorical(f"p{i}" for i in range(len(label)))
    (note,) = leakage_warnings(sheet({"name": names}, label))
    assert note.startswith("WARNING: 'name' has a different text in every row")
    assert note.endswith("drop it")


def test_rare_class_is_not_checked():
    label = categorical(["a"] * 19 + ["b"] * 500)
    assert leakage_warnings(sheet({"x": label.codes.astype(float)}, label)) == ()


def test_alternating_classes_are_found():
    label = categorical(["a", "b"] * 300)
    assert len(leakage_warnings(sheet({"x": label.codes.astype(float)}, label))) == 1


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
def test_auc_of_rising_column_matches_its_values(shift):
    rng, label = some(n=40_000)
    values = np.round(rng.standard_normal(len(label)) + shift * label.codes, 0)
    bins = np.unique(values, return_inverse=True)[1]
    found = column_aucs(bins, label)["c1"][0]
    assert found == pytest.approx(roc_auc_score(label.codes, values), abs=0.01)
