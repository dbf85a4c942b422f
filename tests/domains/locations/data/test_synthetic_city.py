import json
from dataclasses import asdict
from hashlib import sha256
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.data.synthetic_city import (
    MobilityModel,
    SyntheticCity,
    generate_city,
    weekly_rhythm,
)


def test_hourly_shares_sum_their_quarters():
    hours, _ = weekly_rhythm(168, 3600, home=0.3)
    quarters, _ = weekly_rhythm(168 * 4, 900, home=0.3)
    days, _ = weekly_rhythm(7, 86_400, home=0.3)
    np.testing.assert_allclose(quarters.reshape(168, 4).sum(axis=1), hours)
    np.testing.assert_allclose(hours.reshape(7, 24).sum(axis=1), days)


def test_weeks_repeat_and_nights_are_quiet():
    two, _ = weekly_rhythm(336, 3600, home=0.3)
    np.testing.assert_allclose(two[:168], two[168:])
    week = two[:168].reshape(7, 24)
    assert (week[:, 3] < week[:, 18] / 5).all()
    np.testing.assert_array_equal(week[0], week[4])
    assert not np.array_equal(week[0], week[5])


@pytest.mark.parametrize("home", [0.0, 0.05, 0.3, 0.9])
def test_home_share_is_as_requested(home):
    weights, at_home = weekly_rhythm(168, 3600, home)
    assert weights @ at_home == pytest.approx(home, abs=1e-9)
    assert (at_home[3::24] >= at_home[12::24]).all()


POSITIONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
ATTRACTION = np.array([1.0, 2.0, 4.0])
RHYTHM = np.array([0.25, 0.75])
AT_HOME = np.array([0.9, 0.2])


def chances(home):
    """The law of one visit, written out."""
    distance = np.sqrt(((POSITIONS - POSITIONS[home]) ** 2).sum(axis=1))
    pull = ATTRACTION * np.exp(-distance / 1.5)
    places = (1 - AT_HOME) * (pull / pull.sum())[:, None] + AT_HOME * (np.arange(3) == home)[:, None]
    return (places * RHYTHM).ravel()


@pytest.fixture
def habits():
    return MobilityModel.of(POSITIONS, ATTRACTION, 1.5, RHYTHM, AT_HOME)


@pytest.mark.parametrize("home", [0, 1, 2])
def test_single_visit_follows_expected_probabilities(habits, home):
    n = 200_000
    cells, counts = habits.draw(np.full(n, home), np.ones(n, dtype=np.int64), np.random.default_rng(home))
    assert (counts == 1).all()
    assert chisquare(np.bincount(cells, minlength=6), n * chances(home)).pvalue > 1e-3


def test_distinct_visits_are_drawn_sequentially(habits):
    n = 200_000
    cells, counts = habits.draw(np.ones(n, dtype=np.int64), np.full(n, 2), np.random.default_rng(4))
    assert (counts == 2).all()
    law = chances(1)
    expected = {
        pair: sum(law[a] * law[b] / (1 - law[a]) for a, b in permutations(pair))
        for pair in ((i, j) for i in range(6) for j in range(i + 1, 6))
    }
    pairs = cells.reshape(n, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    found = [int(((pairs == pair).all(axis=1)).sum()) for pair in expected]
    assert chisquare(found, n * np.array(list(expected.values()))).pvalue > 1e-3


def test_number_of_visits_is_kept(habits):
    homes = np.array([0, 1, 2, 0])
    cells, counts = habits.draw(homes, np.array([6, 1, 3, 2]), np.random.default_rng(5))
    assert counts.tolist() == [6, 1, 3, 2]
    assert cells[:6].tolist() == list(range(6))


def test_default_has_size_of_milan_week():
    traces = generate_city(SyntheticCity(), seed=1).traces
    assert traces.visits.shape == (4840, 100 * 168)
    assert traces.n_visits.min() >= 1
    assert traces.n_visits.mean() == pytest.approx(21.5, abs=4 * 21.5 * np.sqrt(np.e - 1) / np.sqrt(4840))
    assert traces.map.days.tolist() == [hour // 24 for hour in range(168)]
    assert traces.visits.has_canonical_format
    assert traces.visits.dtype == np.uint8


def test_activity_is_log_normal():
    n_visits = generate_city(
        SyntheticCity(users=4000, visits=300, skew=0.4, sites=400, epochs=720), seed=2
    ).traces.n_visits
    logs = (np.log(n_visits) - np.log(300) + 0.4**2 / 2) / 0.4
    assert kstest(logs, norm.cdf).pvalue > 1e-3


def test_popularity_has_requested_spread():
    def spread(popularity):
        city = SyntheticCity(users=20_000, sites=200, popularity=popularity, home=0.0, radius=1e9, skew=0.0)
        traces = generate_city(city, seed=3).traces
        return np.log(traces.visitors().reshape(200, 168).sum(axis=1)).std()

    assert spread(0.0) < 0.05
    assert spread(1.0) == pytest.approx(1.0, abs=0.2)  # the deviation of 200 draws


def test_people_stay_near_home():
    def distance(radius):
        city = SyntheticCity(
            users=2000, sites=400, popularity=0.0, home=0.0, radius=radius, spacing=1000, skew=0.0
        )
        traces = generate_city(city, seed=4).traces
        spots = traces.map.positions[traces.visits.indices // 168]
        owners = np.repeat(np.arange(2000), traces.n_visits)
        centres = np.stack([np.bincount(owners, spots[:, k]) / traces.n_visits for k in (0, 1)], axis=1)
        return np.hypot(*(spots - centres[owners]).T).mean()

    assert distance(1000) < distance(4000) / 1.5 < distance(1e6) / 1.5


def test_night_visits_are_few_and_at_home():
    traces = generate_city(SyntheticCity(users=5000, skew=0.0), seed=5).traces
    hours = traces.map.epochs(traces.visits.indices.astype(np.int64)) % 24
    by_hour = np.bincount(hours, minlength=24)
    assert by_hour[3] * 3 < by_hour[18]
    places = traces.visits.indices // 168
    owners = np.repeat(np.arange(5000), traces.n_visits)
    often = np.array([np.bincount(places[owners == i]).argmax() for i in range(300)])
    mine = owners < 300
    at_favourite = places[mine] == often[owners[mine]]
    night = np.isin(hours[mine], [0, 1, 2, 3, 4])
    assert at_favourite[night].mean() > at_favourite[~night].mean() + 0.2


@pytest.mark.parametrize(("layout", "sites"), [("grid", 100), ("grid", 7), ("irregular", 60)])
def test_places_are_spread_out(layout, sites):
    positions = generate_city(
        SyntheticCity(users=10, sites=sites, layout=layout), seed=6
    ).traces.map.positions
    assert positions.shape == (sites, 2)
    gaps = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1)) + 1e12 * np.eye(sites)
    assert gaps.min() > 0
    if layout == "grid":
        assert gaps.min() == pytest.approx(1600)


def test_seed_determines_the_city():
    first, again, other = (generate_city(SyntheticCity(users=50), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.traces.visits.indices, again.traces.visits.indices)
    assert first.digest == again.digest
    assert first.digest != other.digest
    assert not np.array_equal(first.traces.visits.indices, other.traces.visits.indices)


def test_positions_may_be_withheld():
    known, unknown = (
        generate_city(SyntheticCity(users=50, positions=positions), 1) for positions in (True, False)
    )
    assert known.traces.map.positions is not None
    assert unknown.traces.map.positions is None
    np.testing.assert_array_equal(known.traces.visits.indices, unknown.traces.visits.indices)
    assert known.digest != unknown.digest


def test_categories_merge_places():
    table = {"users": 200, "sites": 7, "epochs": 24, "visits": 30}
    places = generate_city(SyntheticCity(**table), 1).traces
    merged = generate_city(SyntheticCity(**table, categories=3), 1).traces
    assert merged.map.n_places == 3
    assert merged.map.positions is None
    before = places.visits.toarray().reshape(200, 7, 24)
    after = merged.visits.toarray().reshape(200, 3, 24)
    assert after.max() == 1
    # Every category is the union of two or three places: find them by trying all assignments.
    found = [
        kinds
        for kinds in product(range(3), repeat=7)
        if sorted(np.bincount(kinds, minlength=3)) == [2, 2, 3]
        and all(
            np.array_equal(before[:, np.array(kinds) == kind].max(axis=1), after[:, kind])
            for kind in range(3)
        )
    ]
    assert len(found) == 1


def test_digest_of_a_city_without_the_new_keys_stays():
    content = json.dumps(
        [
            "city 1",
            {
                key: value
                for key, value in asdict(SyntheticCity(users=5)).items()
                if key not in ("positions", "categories")
            },
            1,
        ],
        sort_keys=True,
    )
    assert generate_city(SyntheticCity(users=5), 1).digest == sha256(content.encode()).hexdigest()


def test_block_sampling_draws_all_people(monkeypatch):
    from leakgauge.domains.locations.data import synthetic_city

    monkeypatch.setattr(synthetic_city, "AT_ONCE", 500)
    traces = generate_city(SyntheticCity(users=300), seed=1).traces
    assert traces.n_people == 300
    assert traces.n_visits.min() >= 1


def test_days_follow_from_epoch_length():
    city = SyntheticCity(users=5, sites=3, epochs=8, epoch="6h", visits=2)
    assert generate_city(city, seed=1).traces.map.days.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"users": 0}, r"data: users must be >= 1, got 0"),
        ({"sites": 20_000}, r"sites must be <= 10000"),
        ({"visits": float("nan")}, r"visits must be > 0"),
        ({"visits": 1e6}, r"at most a quarter of the cells"),
        ({"skew": -1}, r"skew must be in \[0, 5\]"),
        ({"popularity": float("inf")}, r"popularity must be in"),
        ({"home": 1.0}, r"home must be in \[0, 1\)"),
        ({"radius": 0}, r"radius must be a length"),
        ({"categories": 101}, r"categories must be in 0..100, the number of sites, got 101"),
        ({"epoch": "5h"}, r"does not fit into a day"),
        ({"layout": "ring"}, r"data.layout: no choice is called 'ring'"),
        ({"user": 5}, r"data: no key is called 'user'; did you mean 'users'"),
        ({"users": 2.5}, r"data.users: must be a whole number"),
    ],
)
def test_rejects_impossible_city(tmp_path, table, message):
    with pytest.raises(BadInput, match=message):
        load_visits({"source": "synthetic", **table}, tmp_path, seed=1)


@pytest.mark.parametrize("users", [100_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_many_people_need_little_memory(users):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF)
    traces = generate_city(SyntheticCity(users=users, epochs=720, visits=20), seed=1).traces
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert traces.n_people == users
    assert traces.visits.nnz == pytest.approx(20 * users, rel=0.01)
    assert after.ru_maxrss - before.ru_maxrss < 4 * users  # kB; people x cells would be 7 kB even as bits
