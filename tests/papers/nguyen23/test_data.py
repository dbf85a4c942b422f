import tomllib

import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.nguyen23.data import COLUMNS, GENERATED, FeatureForm, data_note
from leakgauge.papers.paper import Scale, Scope

QUICK = Scope(scale=Scale.QUICK)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@pytest.mark.parametrize("form", list(FeatureForm))
def test_a_file_is_used_where_it_is(column, form, files):
    table = tomllib.loads(f"data = {column.data(Scope(scale=Scale.QUICK, data=files), form).table}")["data"]
    assert table["source"].startswith(str(files))
    assert column.data(QUICK, form) is GENERATED[form]
    assert "generated" in column.words(QUICK, form)


def test_keys_are_those_of_the_files(files):
    scope = Scope(scale=Scale.QUICK, data=files)
    features = 'features = "pca"'
    found = {"faces": data_sets.faces, "imagenette": data_sets.imagenette}
    tables = {
        name: tomllib.loads(f"data = {of(scope, features).table}")["data"] for name, of in found.items()
    }
    assert tables["faces"]["keys"] == {"rows": "images", "labels": "target"}
    assert tables["imagenette"]["keys"] == {"rows": "jpeg", "labels": "wnid"}


def test_what_is_missing_is_named(files):
    (files / "olivetti_faces.npz").unlink()
    note = data_note(Scope(scale=Scale.QUICK, data=files))
    assert "generated rows for CelebA, whose substitutes were not given" in note
    assert "Imagenette for ImageNet" in note
