import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility import synthetic_traces as module
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile
from leakgauge.domains.locations.mobility.place_graph import delaunay_graph
from leakgauge.domains.locations.mobility.synthetic_traces import (
    Activity,
    VisitRounding,
    draw_traces,
    draw_visits,
    log_variance,
)

N = 60_000
TIME = np.array([0.5, 0.3, 0.2])


def line(n_places):
    """Places in a row."""
    return CellMap(
        n_places, 3, np.zeros(3, dtype=np.int64), np.column_stack([np.arange(n_places), np.zeros(n_places)])
    )


def habits(n_places, mean=4.0):
    space = np.arange(1.0, n_places + 1)
    return MobilityProfile(mean, space / space.sum(), TIME)


def chance_of_a_visit(mean, chances):
    """That one of n visits falls into a cell, n an exponential number rounded fairly: E[1 - (1 - p)^n]."""
    grid = (np.arange(4_000) + 0.5) / 4_000
    exact = -mean * np.log1p(-grid)
    rest = exact - np.floor(exact)
    misses = (1 - np.asarray(chances)[..., None]) ** np.floor(exact)
    return 1 - (misses * (1 - rest * np.asarray(chances)[..., None])).mean(axis=-1)


def pieces_of_a_line(n_places, origin, size):
    """The law of the first place of a piece on a line: it grows by a place on either end, evenly."""
    law = {(origin, origin): 1.0}
    for _ in range(size - 1):
        longer = {}
        for (first, last), chance in law.items():
            ends = [(first - 1, last)] * (first > 0) + [(first, last + 1)] * (last < n_places - 1)
            for end in ends:
                longer[end] = longer.get(end, 0.0) + chance / len(ends)
        law = longer
    return law


def visited(people):
    return people.visitors() / people.n_people


def assert_rates(found, exact):
    errors = 5 * np.sqrt(exact * (1 - exact) / N) + 2e-4
    assert (np.abs(found - exact) < errors).all()


def test_people_move_in_regions_around_popular_places():
    cells, crowd = line(12), habits(12)
    exact = np.zeros((12, 3))
    for origin in range(12):
        for (first, last), chance in pieces_of_a_line(12, origin, 10).items():
            inside = np.zeros(12)
            inside[first : last + 1] = crowd.space[first : last + 1]
            shares = np.outer(inside / inside.sum(), crowd.time)
            exact += crowd.space[origin] * chance * chance_of_a_visit(crowd.mean, shares)
    assert_rates(visited(draw_traces(crowd, N, cells, np.random.default_rng(1))), exact.ravel())


def test_unknown_positions_allow_all_places():
    cells, crowd = CellMap(15, 3, np.zeros(3, dtype=np.int64)), habits(15)
    exact = chance_of_a_visit(crowd.mean, np.outer(crowd.space, crowd.time))
    assert_rates(visited(draw_traces(crowd, N, cells, np.random.default_rng(2))), exact.ravel())


def test_person_stays_in_ten_connected_places():
    rng = np.random.default_rng(3)
    cells = CellMap(60, 3, np.zeros(3, dtype=np.int64), rng.random((60, 2)))
    people = draw_traces(
        MobilityProfile(400.0, np.full(60, 1 / 60), TIME), 100, cells, rng, activity="constant"
    )
    graph = delaunay_graph(cells.positions)
    for person in range(100):
        places = set((people.cells(person) // 3).tolist())
        assert len(places) == 10
        reached = {min(places)}
        for _ in range(10):
            ends = [graph.neighbours[graph.starts[p] : graph.starts[p + 1]].tolist() for p in reached]
            reached |= places & {place for end in ends for place in end}
        assert reached == places


def test_number_of_visits_excludes_repetitions():
    cells = CellMap(400, 300, np.zeros(300, dtype=np.int64))
    crowd = MobilityProfile(6.0, np.full(400, 1 / 400), np.full(300, 1 / 300))
    people = draw_traces(crowd, N, cells, np.random.default_rng(4))
    assert people.n_visits.mean() == pytest.approx(6.0, abs=0.15)
    assert (people.n_visits == 0).any()
    constant = draw_traces(crowd, 1_000, cells, np.random.default_rng(4), activity="constant")
    assert set(constant.n_visits) <= {5, 6}
    down = draw_traces(crowd, N, cells, np.random.default_rng(4), rounding="down")
    assert down.n_visits.mean() == pytest.approx(1 / np.expm1(1 / 6.0), abs=0.15)
    uneven = draw_traces(crowd, N, cells, np.random.default_rng(4), activity="lognormal", skew=4.0)
    assert uneven.n_visits.mean() == pytest.approx(6.0, rel=0.03)


def test_traces_are_sorted_without_duplicates():
    people = draw_traces(habits(12, 30.0), 500, line(12), np.random.default_rng(5))
    assert people.visits.dtype == np.uint8
    assert (people.visits.data == 1).all()
    for person in range(500):
        assert (np.diff(people.cells(person)) > 0).all()


def test_chunked_sampling_has_same_distribution(monkeypatch):
    cells, crowd = CellMap(15, 3, np.zeros(3, dtype=np.int64)), habits(15)
    monkeypatch.setattr(module, "_AT_ONCE", 1_000)
    people = draw_traces(crowd, N, cells, np.random.default_rng(6))
    assert people.n_people == N
    assert_rates(visited(people), chance_of_a_visit(crowd.mean, np.outer(crowd.space, crowd.time)).ravel())


def test_same_stream_gives_same_people():
    first, again = (draw_traces(habits(12), 50, line(12), np.random.default_rng(7)) for _ in range(2))
    assert (first.visits != again.visits).nnz == 0


def test_zero_people_can_be_drawn():
    assert draw_traces(habits(12), 0, line(12), np.random.default_rng(8)).n_people == 0


def test_rejects_habits_of_another_map():
    with pytest.raises(BadInput, match="habits of 12 places and 3 epochs do not fit a map of 11 x 3"):
        draw_traces(habits(12), 5, line(11), np.random.default_rng(9))


N_DRAWS = 400_000


def drawn(mean, law, rounding, skew=6.0):
    return draw_visits(mean, N_DRAWS, law, skew, rounding, np.random.default_rng(1))


@pytest.mark.parametrize("law", [Activity.EXPONENTIAL, Activity.CONSTANT])
@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_stochastic_rounding_keeps_mean(law, mean):
    visits = drawn(mean, law, VisitRounding.FAIR)
    assert visits.mean() == pytest.approx(mean, abs=5 * visits.std() / np.sqrt(N_DRAWS) + 1e-12)


@pytest.mark.parametrize("mean", [0.3, 5.6, 21.5])
def test_floored_exponential_is_geometric(mean):
    visits = drawn(mean, Activity.EXPONENTIAL, VisitRounding.DOWN)
    assert visits.mean() == pytest.approx(1 / np.expm1(1 / mean), abs=5 * visits.std() / np.sqrt(N_DRAWS))
    least = np.mean(visits == 0)
    assert least == pytest.approx(1 - np.exp(-1 / mean), abs=5 * np.sqrt(least / N_DRAWS))


@pytest.mark.parametrize("variance", [0.01, 0.25, 1.0, 2.0])
def test_skewness_of_log_normal_gives_its_variance(variance):
    growth = np.exp(variance)
    assert log_variance((growth + 2) * np.sqrt(growth - 1)) == pytest.approx(variance)


def test_log_normal_has_requested_mean_and_skewness():
    visits = drawn(200.0, Activity.LOGNORMAL, VisitRounding.FAIR, skew=1.5)
    assert visits.mean() == pytest.approx(200.0, rel=0.01)
    standard = (visits - visits.mean()) / visits.std()
    assert np.mean(standard**3) == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize("skew", [0.0, -1.0, np.nan, np.inf])
def test_rejects_skewness_impossible_for_log_normal(skew):
    with pytest.raises(BadInput, match="skew must be above 0"):
        log_variance(skew)
