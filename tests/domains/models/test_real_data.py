"""Real files: table II of Humphries et al. (2023), and the sizes of the errata."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from leakgauge.domains.models.data.sources import load_table
from leakgauge.domains.models.games.member_split import (
    BiasDependence,
    ClusterDependence,
    SourceDependence,
    SplitSizes,
    kmeans_clusters,
)
from night import others_at_night

FOLDER = os.environ.get("LEAKGAUGE_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names their folder"
)

ADULT = {"source": "adult", "folder": "adult", "duplicates": "keep"}
COMPAS = {"source": "compas", "folder": "compas", "duplicates": "keep", "is_recid": True}
HEART = {"source": "heart", "folder": "heart_disease", "duplicates": "keep"}
STUDENT = {"source": "student", "folder": "student"}
CENSUS = {"source": "census", "folder": "census_income_kdd", "adult": "adult"}
LOCATION = {"source": "location30", "folder": "location30"}


@lru_cache
def read_once(words):
    return load_table(dict(words), Path(FOLDER), 1)


def read(table):
    return read_once(tuple(table.items()))


def drawn(dependence, table, **sizes):
    """How many members, others and shadow rows there are."""
    split = dependence.split(read(table), SplitSizes(**sizes), np.random.default_rng(1))
    return split.members.size, split.others.size, split.rest.size


@pytest.mark.parametrize(
    ("table", "rows", "features", "classes"),
    [
        (ADULT, 48_842, 104, 2),
        (ADULT | {"group": "sex"}, 48_842, 103, 2),
        (ADULT | {"group": "education"}, 48_842, 87, 2),
        (COMPAS, 6_172, 15, 2),
        (COMPAS | {"is_recid": False}, 6_172, 14, 2),
        (HEART, 920, 22, 2),
        (STUDENT, 649, 42, 2),
        (LOCATION, 5_010, 446, 30),
    ],
)
def test_features_and_classes_match_paper(table, rows, features, classes):
    found = read(table)
    assert found.rows.shape == (rows, features)
    assert found.n_classes == classes
    assert found.rows.min() == 0
    assert found.rows.max() == 1


def test_adult_clusters_leave_published_number_of_shadow_rows():
    sizes = np.bincount(kmeans_clusters(read(ADULT), 2, seed=0).codes)
    assert sorted(sizes.tolist()) == [15_135, 33_707]  # the paper implies 15,132 and 33,710
    for members in (0, 1):
        counts = drawn(ClusterDependence(members=members), ADULT, members=10_000, most_rest=10_000)
        assert counts == (10_000, 10_000, 15_135)


def test_compas_clusters_have_2000_members():
    for members in (0, 1):
        assert drawn(ClusterDependence(members=members, seed=2), COMPAS, members=2_000)[:2] == (2_000, 2_000)


@pytest.mark.parametrize(
    ("group", "value", "has", "rest"), [("sex", "Male", 32_650, 11_192), ("education", "low", 33_070, 10_772)]
)
def test_bias_leaves_published_number_of_shadow_rows(group, value, has, rest):
    table = ADULT | {"group": group}
    assert read(table).groups[group].rows_of(value, "").sum() == has
    bias = BiasDependence(group=group, value=value, share=0.0)
    counts = drawn(bias, table, members=10_000, most_rest=10_000, validation=2_500)
    assert counts == (10_000, 10_000, rest)


@pytest.mark.parametrize(
    ("table", "group", "value", "members", "others"),
    [
        (HEART, "hospital", "cleveland", 303, 617),
        (HEART, "hospital", "hungarian", 294, 626),
        (HEART, "hospital", "switzerland", 123, 797),
        (HEART, "hospital", "va", 200, 720),
        (STUDENT, "school", "GP", 423, 226),
    ],
)
def test_source_has_published_number_of_members(table, group, value, members, others):
    assert drawn(SourceDependence(group=group, members=value), table) == (members, others, 0)


@pytest.mark.parametrize(
    ("mapping", "features"), others_at_night([("paper", 100), ("shared", 99)], ("shared", 99))
)
def test_census_and_adult_are_disjoint_and_large_enough(mapping, features):
    table = CENSUS | {"mapping": mapping}
    found = read(table)
    assert found.rows.shape[1] == features
    assert found.notes[0].startswith("census and Adult: 148,669 rows")  # 99,827 of 1994 and 48,842
    whole = np.column_stack([found.rows, found.labels])
    assert len({row.tobytes() for row in whole}) == len(found)
    split = drawn(
        SourceDependence(group="data_set", members="census"), table, members=10_000, most_rest=10_000
    )
    assert split == (10_000, 10_000, 20_000)


def test_leaking_columns_are_reported():
    assert any("'is_recid' alone predicts the label (AUC 0.97" in note for note in read(COMPAS).notes)
    notes = read(HEART | {"impute": "hospital"}).notes
    assert any("'ca' alone predicts hospital = 'switzerland'" in note for note in notes)
    assert not any("'ca'" in note for note in read(HEART).notes)
    assert not any("WARNING" in note for note in read(ADULT).notes)


@pytest.mark.parametrize(
    ("table", "lost"),
    [
        pytest.param(ADULT, "53 of 48,842"),
        (COMPAS, "1,810 of 6,172"),
        (HEART, "2 of 920"),
        (STUDENT, None),
    ],
)
def test_duplicates_are_counted(table, lost):
    notes = [note for note in read(table | {"duplicates": "remove"}).notes if note.startswith("left out")]
    assert notes == ([] if lost is None else [f"left out: {lost} rows, which occur more than once"])
