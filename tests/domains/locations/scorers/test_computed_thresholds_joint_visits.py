import numpy as np
import pytest

from domains.locations.small_town import RAW, game, traces
from domains.locations.threshold_games import same_halves
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.scorers.computed_thresholds import (
    sampling_variance,
    shared_variance,
    typical_known,
)

RNG = np.random.default_rng(20240501)


def crowd(n_people=3_000):
    """Half of the people visit each of six cells often, the others hardly ever."""
    return RNG.random((n_people, 6)) < np.where(RNG.random((n_people, 1)) < 0.5, 0.5, 0.02)


def test_people_who_visit_several_cells_add_what_single_cells_do_not_show():
    visits, steps = crowd(), np.array([1.0, 1.0, 0.5, 2.0, 0.0, 1.0])
    knowledge = build("auxiliary", {}, same_halves(visits, np.ones((1, 6)), RAW, group_size=51), seed=1)
    groups = np.array([visits[RNG.integers(len(visits), size=50)].sum(axis=0) for _ in range(20_000)])
    together = (groups @ steps).var() - (groups.var(axis=0) * steps**2).sum()
    assert shared_variance(knowledge, 0, steps) == pytest.approx(together, rel=0.05)
    assert sampling_variance(knowledge, 0, steps) == pytest.approx(
        (groups @ steps).var() * 50 / 3_000, rel=0.05
    )


def test_another_target_moves_the_cells_it_shares():
    """Nobody else goes anywhere; two other targets are in by fair coins."""
    visits = np.zeros((63, 6))
    visits[0], visits[1, :3], visits[2, 1:2] = 1, 1, 1
    challenger = game(traces(visits), RAW, targets={"n": 3, "min_visits": 1})
    knowledge = build("auxiliary", {}, challenger, seed=1)
    steps = np.arange(1.0, 7.0)
    coins = RNG.random((50_000, 2)) < 0.5
    sums = coins @ np.array([1.0 + 2.0 + 3.0, 2.0])
    apart = (1.0 + 4.0 + 9.0 + 4.0) / 4
    assert shared_variance(knowledge, 0, steps) == pytest.approx(sums.var() - apart, rel=0.03)


def test_who_knows_everybody_has_no_doubt():
    knowledge = build("informed", {}, same_halves(crowd(200), np.ones((1, 6)), RAW, group_size=51), seed=1)
    assert shared_variance(knowledge, 0, np.ones(6)) == 0.0
    assert sampling_variance(knowledge, 0, np.ones(6)) == 0.0
    expected = np.rint(50 * knowledge.visitors / 200)
    np.testing.assert_array_equal(typical_known(knowledge, 0), expected)
