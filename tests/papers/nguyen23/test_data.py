import pytest

from leakgauge.papers import data_sets
from leakgauge.papers.nguyen23.data import COLUMNS, GENERATED, FeatureForm, data_note
from leakgauge.papers.paper import Scale, Scope

QUICK = Scope(scale=Scale.QUICK)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@pytest.mark.parametrize("form", list(FeatureForm))
def test_file_is_used_if_present(column, form, files):
    table = column.data(Scope(scale=Scale.QUICK, data=files), form).table
    assert table["source"].startswith(str(files))
    assert column.data(QUICK, form) is GENERATED[form]
    assert "generated" in column.description(QUICK, form)


def test_keys_match_files(files):
    scope = Scope(scale=Scale.QUICK, data=files)
    faces, imagenette = (
        of(scope, {"features": "pca"}).table for of in (data_sets.faces, data_sets.imagenette)
    )
    assert faces["keys"] == {"rows": "images", "labels": "target"}
    assert imagenette["keys"] == {"rows": "jpeg", "labels": "wnid"}
    assert faces["features"] == imagenette["features"] == "pca"


def test_missing_files_are_named(files):
    (files / "olivetti_faces.npz").unlink()
    note = data_note(Scope(scale=Scale.QUICK, data=files))
    assert "generated rows for CelebA, whose substitutes were not given" in note
    assert "Imagenette for ImageNet" in note
