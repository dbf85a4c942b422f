from dataclasses import replace

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import CategoricalColumn, EncodedTable
from leakgauge.domains.models.data.sources import generate_mixture
from leakgauge.domains.models.games.member_split import (
    BiasDependence,
    ClusterDependence,
    NoDependence,
    SourceDependence,
    SplitSizes,
    read_dependence,
)
from leakgauge.domains.models.plan_tables import ModelsSyntheticDataTable

SEX = np.array([0] * 300 + [1] * 700)


@pytest.fixture(scope="module")
def loaded():
    """A thousand rows: 300 women and 700 men; four hospitals of 250."""
    rng = np.random.default_rng(1)
    return EncodedTable(
        rows=rng.random((1_000, 3), dtype=np.float32),
        labels=rng.integers(2, size=1_000),
        classes=("no", "yes"),
        names=("a", "b", "c"),
        digest="",
        groups={
            "sex": CategoricalColumn(SEX, ("Female", "Male")),
            "hospital": CategoricalColumn(np.arange(1_000) % 4, ("a", "b", "c", "d")),
        },
    )


def draw(dependence, loaded, seed=1, **sizes):
    return dependence.split(loaded, SplitSizes(**sizes), np.random.default_rng(seed))


def require_apart(split, n=1_000):
    """No row is in two of the parts, and none is left."""
    rows = np.concatenate([split.members, split.others, split.rest])
    assert np.unique(rows).size == rows.size <= n
    assert not np.isin(split.validation, split.members).any()


def test_source_members_are_one_group(loaded):
    split = draw(SourceDependence(group="hospital", members="b"), loaded)
    require_apart(split)
    assert sorted(split.members) == list(range(1, 1_000, 4))
    assert split.others.size == 750
    assert split.rest.size == 0
    assert split.description == "members of hospital = b, others from outside"


def test_source_may_take_some_members(loaded):
    split = draw(SourceDependence(group="sex", members="Male"), loaded, members=200, validation=50)
    require_apart(split)
    assert (SEX[split.members] == 1).all()
    assert (SEX[split.others] == 0).all()
    assert (split.members.size, split.others.size) == (200, 200)
    assert np.bincount(SEX[split.rest]).tolist() == [100, 500]
    assert np.bincount(SEX[split.validation]).tolist() == [0, 50]
    capped = draw(SourceDependence(group="sex", members="Male"), loaded, members=200, most_rest=200)
    assert np.bincount(SEX[capped.rest]).tolist() == [100, 200]
    uneven = draw(SourceDependence(group="sex", members="Male"), loaded, members=200, others=50)
    assert (uneven.members.size, uneven.others.size) == (200, 50)


@pytest.mark.parametrize("share", [0.0, 0.29, 0.5, 1.0])
def test_biased_members_have_requested_share(loaded, share):
    bias = BiasDependence(group="sex", value="Male", share=share)
    split = draw(bias, loaded, members=100, validation=40)
    require_apart(split)
    assert SEX[split.members].sum() == round(100 * share)
    assert SEX[split.others].sum() == 50
    assert SEX[split.validation].sum() == round(40 * share)
    assert split.members.size == split.others.size == 100
    assert split.rest.size == 800


def test_control_shuffles_the_same_rows(loaded):
    split = draw(SourceDependence(group="hospital", members="b"), loaded, members=200, others=100)
    control = split.control(np.random.default_rng(3))
    assert (control.members.size, control.others.size) == (200, 100)
    pooled = sorted([*split.members, *split.others])
    assert sorted([*control.members, *control.others]) == pooled
    assert np.array_equal(control.rest, split.rest)
    share = np.isin(control.members, split.members).mean()
    assert abs(share - 2 / 3) < 0.12  # 4 standard deviations of a draw without putting back
    assert "reshuffled" in control.description


def test_independent_members_are_half_by_default(loaded):
    split = draw(NoDependence(), loaded)
    require_apart(split)
    assert (split.members.size, split.others.size, split.rest.size) == (500, 500, 0)
    assert abs(SEX[split.members].mean() - 0.7) < 0.06
    small = draw(NoDependence(), loaded, members=10, others=20, validation=5)
    assert (small.members.size, small.others.size, small.rest.size) == (10, 20, 970)
    assert small.validation.size == 5


def test_generator_determines_rows(loaded):
    bias = BiasDependence(group="sex", value="Male", share=0.4)
    one, same, other = (draw(bias, loaded, seed, members=50) for seed in (1, 1, 2))
    assert np.array_equal(one.members, same.members)
    assert not np.array_equal(np.sort(one.members), np.sort(other.members))


def test_either_cluster_may_be_members():
    found = generate_mixture(
        ModelsSyntheticDataTable(rows=400, distance=30.0, flip=0.0), 1
    )  # far apart: k-means finds components
    component = found.groups["component"].codes
    splits = [draw(ClusterDependence(members=which, seed=5), found) for which in (0, 1)]
    assert sorted(splits[0].members) == sorted(splits[1].others)
    assert sorted(splits[0].others) == sorted(splits[1].members)
    for label in (0, 1):
        own = splits[0].members[found.labels[splits[0].members] == label]
        assert np.unique(component[own]).size == 1  # one component in each class
    assert splits[0].description == "members of cluster 0 of 2, others from outside"


@pytest.mark.parametrize(
    ("dependence", "sizes", "message"),
    [
        (
            SourceDependence(group="hospital", members="b"),
            {"members": 251},
            "251 members and 0 others wanted of hospital = b, which has 250 rows",
        ),
        (
            SourceDependence(group="sex", members="Male"),
            {"members": 301},
            "rows outside sex = Male, which has 300 rows",
        ),
        (
            SourceDependence(group="sex", members="male"),
            {},
            "= 'male': no row has that value; known: Female, Male",
        ),
        (SourceDependence(group="hospitl", members="b"), {}, "did you mean 'hospital'?"),
        (
            SourceDependence(group="hospital", members="b"),
            {"validation": 1},
            "1 validation rows wanted of hospital = b",
        ),
        (
            BiasDependence(group="sex", value="Female", share=1.0),
            {"members": 250},
            "250 members and 125 others wanted",
        ),
        (BiasDependence(group="sex", value="Female", share=1.0), {}, "give the number of members"),
        (BiasDependence(group="sex", value="F", share=1.0), {"members": 2}, "known: Female, Male"),
        (
            NoDependence(),
            {"members": 1_001},
            "1001 members and 1 others wanted of all rows, which has 1000 rows",
        ),
        (
            NoDependence(),
            {"members": 1_000},
            "1000 members and 1 others wanted of all rows, which has 1000 rows",
        ),
    ],
)
def test_rejects_unavailable_sizes_and_groups(loaded, dependence, sizes, message):
    with pytest.raises(BadInput) as error:
        draw(dependence, loaded, **sizes)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: BiasDependence(group="sex", value="Male", share=float("nan")),
            r"share must be in \[0, 1\], got nan",
        ),
        (lambda: BiasDependence(group="sex", value="Male", share=1.1), r"share must be in \[0, 1\], got 1.1"),
        (lambda: ClusterDependence(k=1), "k must be >= 2"),
        (lambda: ClusterDependence(members=2), "members must be a cluster from 0 to 1, got 2"),
        (lambda: SplitSizes(members=0), "members must be >= 1, got 0"),
        (lambda: SplitSizes(validation=-1), "validation must be >= 0"),
    ],
)
def test_rejects_invalid_settings(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_data_without_groups_give_advice():
    found = EncodedTable(
        rows=np.eye(2, dtype=np.float32), labels=np.arange(2), classes=("a", "b"), names=("x", "y"), digest=""
    )
    with pytest.raises(BadInput, match="the data have no groups; add group = 'sex' to data"):
        draw(SourceDependence(group="sex", members="Male"), found)


def test_rejects_group_of_all_rows(loaded):
    all_alike = replace(loaded, groups={"sex": CategoricalColumn(np.zeros(1_000, dtype=np.int64), ("Male",))})
    with pytest.raises(BadInput, match="no row is left for others"):
        draw(SourceDependence(group="sex", members="Male"), all_alike)


def test_rejects_clusters_of_equal_rows():
    rows = np.array([[0, 0], [0, 0], [0, 1], [1, 0]], dtype=np.float32)
    found = EncodedTable(
        rows=rows, labels=np.array([0, 0, 1, 1]), classes=("a", "b"), names=("x", "y"), digest=""
    )
    with pytest.raises(BadInput, match="class 'a' has too few different rows for 2 clusters"):
        draw(ClusterDependence(), found)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ({}, NoDependence()),
        ({"name": "clusters", "members": 1, "seed": 2}, ClusterDependence(members=1, seed=2)),
        (
            {"name": "source", "group": "hospital", "members": "va"},
            SourceDependence(group="hospital", members="va"),
        ),
        (
            {"name": "bias", "group": "sex", "value": "Male", "share": 1},
            BiasDependence(group="sex", value="Male", share=1.0),
        ),
    ],
)
def test_plan_names_dependence(table, kind):
    assert read_dependence(table) == kind


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "cluster"}, "did you mean 'clusters'?"),
        ({"name": "bias", "group": "a", "value": "b", "share": 2}, "share must be in [0, 1], got 2.0"),
    ],
)
def test_rejects_unknown_settings_in_plan(table, message):
    with pytest.raises(BadInput) as error:
        read_dependence(table)
    assert message in str(error.value)


def test_rejects_source_without_member_group(loaded):
    source = read_dependence({"name": "source", "group": "hospital"})
    with pytest.raises(BadInput, match="name the hospital that members are from"):
        source.split(loaded, SplitSizes(), np.random.default_rng(0))
