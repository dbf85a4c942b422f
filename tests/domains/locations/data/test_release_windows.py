"""Several releases about the same people: their epochs, caps, noise, promise and exposure."""

from itertools import product

import numpy as np
import pytest

from domains.locations.tiny_files import loaded, spelled, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.data.data_summary import data_summary
from leakgauge.domains.locations.exposure import expose

CITY = {"source": "synthetic", "users": 60, "sites": 4, "epochs": 48, "visits": 8}
VISITS = (
    "user,time,place",
    "a,2024-05-06T01:00:00,p",
    "a,2024-05-08T02:00:00,q",
    "b,2024-05-07T03:00:00,p",
    "b,2024-05-10T03:00:00,p",
    "c,2024-05-09T04:00:00,q",
)
WEEK = {"source": "v.csv", "epoch": "1d"}


def built(folder, data=None, mechanism=None, **challenger):
    return build(
        data={**CITY, "releases": 3, **(data or {})},
        challenger={"group_size": "everyone", "splits": 1, "targets": 2, **challenger},
        mechanism=mechanism or {"name": "laplace", "epsilon": 1.0},
        folder=folder,
        seed=1,
    )


def test_window_is_divided_into_equal_parts(tmp_path):
    one, three = loaded(tmp_path, **CITY), loaded(tmp_path, **CITY, releases=3)
    assert three.traces.map.releases.tolist() == np.repeat([0, 1, 2], 16).tolist()
    np.testing.assert_array_equal(three.traces.visits.toarray(), one.traces.visits.toarray())
    assert three.digest != one.digest
    table = one.traces.visits.toarray().reshape(60, 4, 3, 16)
    np.testing.assert_array_equal(three.traces.visits_per_release, table.sum(axis=(1, 3)))
    assert "no dates, 3 releases" in data_summary(three, three.traces)


def test_windows_choose_epochs_and_may_overlap(tmp_path):
    written(tmp_path, "v.csv", *VISITS)
    windows = [["2024-05-06", "2024-05-08"], ["2024-05-07", "2024-05-09"]]
    read = loaded(tmp_path, **WEEK, releases=windows)
    assert read.traces.map.releases.tolist() == [0, 0, 1, 1]
    # Monday, Tuesday; Tuesday, Wednesday: the visit of b on Tuesday is published twice
    assert spelled(read) == {"a": [(0, 0), (1, 3)], "b": [(0, 1), (0, 2)]}
    assert read.traces.map.days.tolist() == [0, 1, 4, 5]
    times = "2 releases (2024-05-06T00:00 to 2024-05-08T00:00; 2024-05-07T00:00 to 2024-05-09T00:00"
    assert times in data_summary(read, read.traces)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"releases": 0}, "must be >= 1"),
        ({"releases": "four"}, "must be a number of releases, or windows"),
        ({"releases": [["2024-05-06"]]}, "every window needs a start and an end"),
        ({"releases": 4}, "5 epochs cannot be divided into 4 equal parts"),
        ({"releases": [["2024-05-08", "2024-05-06"]]}, "ends"),
        ({"releases": [["2024-05-06", "2024-05-07T12:00"]]}, "whole number of epochs"),
        (
            {"releases": [["2024-05-06", "2024-05-09"]], "window": ["2024-05-06", "2024-05-08"]},
            "not within data.window",
        ),
        ({"releases": 2, "fold": True}, "fold puts all weeks onto one"),
        ({"releases": [["2024-05-06", "2024-05-07"], ["yesterday", "2024-05-08"]]}, "not a date or time"),
    ],
)
def test_refuses_in_one_line(tmp_path, table, message):
    written(tmp_path, "v.csv", *VISITS)
    with pytest.raises(BadInput, match=message) as refused:
        loaded(tmp_path, **WEEK, **table)
    assert "\n" not in str(refused.value)


def test_rows_between_windows_are_counted_as_left_out(tmp_path):
    """Monday and Thursday: b on Tuesday, a on Wednesday and b on Friday are in neither."""
    written(tmp_path, "v.csv", *VISITS)
    windows = [["2024-05-06", "2024-05-07"], ["2024-05-09", "2024-05-10"]]
    read = loaded(tmp_path, **WEEK, releases=windows)
    assert read.tally.summary == "5 rows read: 2 kept, 3 outside the window"
    assert spelled(read) == {"a": [(0, 0)], "c": [(1, 1)]}
    with_few = loaded(tmp_path, **WEEK, releases=[*windows, ["2024-05-10", "2024-05-11"]], min_visits=1)
    assert with_few.tally.summary == "5 rows read: 3 kept, 2 outside the window"
    assert with_few.traces.n_people == 3


def test_min_visits_counts_visits_inside_the_windows(tmp_path):
    written(tmp_path, "v.csv", *VISITS, "c,2024-05-06T04:00:00,q")
    windows = [["2024-05-06", "2024-05-07"], ["2024-05-09", "2024-05-10"]]
    read = loaded(tmp_path, **WEEK, releases=windows, min_visits=2)
    assert spelled(read) == {"c": [(1, 0), (1, 1)]}
    assert read.tally.few_visits == 1


def test_refuses_a_window_without_visits(tmp_path):
    written(tmp_path, "v.csv", *VISITS)
    windows = [["2024-05-06", "2024-05-07"], ["2024-05-11", "2024-05-12"]]
    with pytest.raises(BadInput, match="lies in 2024-05-11T00:00 to 2024-05-12T00:00; move this"):
        loaded(tmp_path, **WEEK, releases=windows, window=["2024-05-06", "2024-05-13"])


def test_windows_without_any_visit_are_named(tmp_path):
    written(
        tmp_path, "v.csv", "user,time,place", *[f"u{i % 9},2024-05-08T0{i % 9}:00:00,p" for i in range(60)]
    )
    windows = [["2024-05-06", "2024-05-07"], ["2024-05-10", "2024-05-11"]]
    with pytest.raises(BadInput) as refused:
        loaded(tmp_path, **WEEK, releases=windows, accept=["one_day"])
    assert str(refused.value) == (
        "data.releases: no visit of v.csv lies in 2024-05-06T00:00 to 2024-05-07T00:00 or in "
        "2024-05-10T00:00 to 2024-05-11T00:00; in local time they run from 2024-05-08 "
        "to 2024-05-08; move the windows"
    )


def test_refuses_windows_of_a_city_and_releases_of_cells(tmp_path):
    with pytest.raises(BadInput, match="a generated city has no dates"):
        loaded(tmp_path, **CITY, releases=[["2024-05-06", "2024-05-07"]])
    with pytest.raises(BadInput, match="has no times to divide"):
        loaded(tmp_path, source="synthetic-genotypes", users=5, snps=4, releases=2)


def test_caps_hold_in_each_release(tmp_path):
    whole, capped = built(tmp_path).traces, built(tmp_path, per_user=2).traces
    np.testing.assert_array_equal(capped.visits_per_release, np.minimum(whole.visits_per_release, 2))
    assert capped.visits_per_release.max() == 2


def test_promise_adds_up_over_releases(tmp_path):
    """Noise of epsilon 1 for a person in one release: scale 2, and one half for every visit."""
    noise = {"name": "laplace", "epsilon": 1.0, "unit": "user"}
    challenger = built(tmp_path, mechanism=noise, per_user=2, targets={"n": 4, "choose": "most"})
    assert challenger.chain.noise.noise_scale == 2.0
    visits = challenger.traces.visits_per_release[challenger.people.targets]
    assert visits.sum(axis=1).max() == 6
    assert challenger.guarantee.epsilon == pytest.approx(3.0)
    (note,) = (note for note in challenger.notes if "fresh noise; all" in note)
    assert "ε = 1 for one person in one release, ε = 3 in all together" in note


PIPELINE = """
def publish(counts, rng):
    assert counts.shape == (4, 16)
    return counts - counts.sum()
"""


def test_own_pipeline_is_called_for_each_release(tmp_path):
    (tmp_path / "mine.py").write_text(PIPELINE)
    own = {"name": "own", "release": "mine:publish", "epsilon": 1.0, "unit": "user"}
    challenger = built(tmp_path, mechanism=own)
    table = challenger.whole_tables(1)[0].reshape(4, 48)
    counts = challenger.traces.visitors().reshape(4, 48)
    for epochs in (slice(0, 16), slice(16, 32), slice(32, 48)):
        np.testing.assert_array_equal(table[:, epochs], counts[:, epochs] - counts[:, epochs].sum())
    present = np.count_nonzero(challenger.traces.visits_per_release[challenger.people.targets], axis=1)
    assert challenger.guarantee.epsilon == pytest.approx(present.max())  # one for each release they are in


def test_exposure_is_that_of_all_releases_together(tmp_path):
    """By brute force: every output of every cell of a person in both releases, from the true counts."""
    written(tmp_path, "v.csv", *VISITS)
    data = {**WEEK, "releases": [["2024-05-06", "2024-05-08"], ["2024-05-07", "2024-05-11"]]}
    noise = {"name": "geometric", "epsilon": 1.0, "clamp": True, "suppress": 1}
    challenger = build(
        data=data,
        challenger={"group_size": "everyone", "splits": 1, "reference": 2},
        mechanism=noise,
        folder=tmp_path,
        seed=1,
    )
    visits = challenger.traces.visits.toarray().astype(int)
    exposed = expose(challenger, ["informed"])
    all_cells = np.arange(visits.shape[1])
    together = [accuracy(challenger, visits, person, all_cells) for person in range(3)]
    np.testing.assert_allclose(exposed.against[0].accuracy, together, atol=1e-3)
    releases = challenger.traces.map.release_of(all_cells)
    alone = [
        [accuracy(challenger, visits, person, all_cells[releases == release]) for person in range(3)]
        for release in range(2)
    ]
    (note,) = (note for note in exposed.notes if "with one release" in note)
    assert f"right about a person {np.mean(alone):.1%} of the time" in note
    assert f"{np.mean(together):.1%} with all 2 releases (at most {np.max(together):.1%})" in note


def accuracy(challenger, visits, person, cells):
    """Of the best attack on some cells: half of one plus the total variation."""
    row, outputs = visits[person], np.arange(4.0)
    others = visits.sum(axis=0) - row
    own = [cell for cell in cells if row[cell]]
    laws = [
        [np.exp(challenger.chain.log_law(outputs, float(others[cell] + here))) for cell in own]
        for here in (0, 1)
    ]
    without, with_them = ([np.prod(cells) for cells in product(*law)] for law in laws)
    return (1 + np.abs(np.subtract(with_them, without)).sum() / 2) / 2
