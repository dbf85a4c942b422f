import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_trials import trials
from leakgauge.referee.thresholds import best_thresholds, jackknife_accuracy, jackknife_mean_accuracy

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda rows: len({member for member, _ in rows}) == 2
)


@given(ROWS)
def test_no_other_threshold_is_better(rows):
    members, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], float)
    (found,) = best_thresholds(np.zeros(members.size, np.int64), scores, members, 1)

    def advantage(threshold):
        return (scores[members] >= threshold).mean() - (scores[~members] >= threshold).mean()

    tried = [advantage(threshold) for threshold in (*np.unique(scores), np.inf)]
    assert advantage(found) == pytest.approx(max(tried))


def test_each_group_gets_its_own_threshold():
    members = np.tile([True, False], 6)
    scores = np.where(members, 1.0, 0.0) + np.repeat([0.0, 10.0], 6)
    groups = np.repeat([0, 1], 6)
    assert best_thresholds(groups, scores, members, 2).tolist() == [0.5, 10.5]


@pytest.mark.parametrize("statistic", [jackknife_accuracy, jackknife_mean_accuracy])
def test_leaving_out_a_round_equals_playing_without_it(statistic):
    rng = np.random.default_rng(4)
    rows = trials(rng.random(60) < 0.5, rng.normal(size=60), n_targets=3)
    says = rng.random(60) < 0.5
    found = statistic(rows, says)
    for number in range(20):
        rest = rows.rounds != number
        assert found.values[number] == pytest.approx(statistic(rows.where(rest), says[rest]).value)
