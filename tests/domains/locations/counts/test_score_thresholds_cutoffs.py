import numpy as np
import pytest

from leakgauge.domains.locations.counts.score_thresholds import best_cutoff


def gain(scores, members, cut):
    says = scores >= cut
    return says[members].mean() - says[~members].mean()


@pytest.mark.parametrize("seed", range(20))
def test_no_other_cut_separates_the_worlds_better(seed):
    rng = np.random.default_rng(seed)
    members = rng.permutation(np.arange(31) % 3 == 0)
    scores = np.round(rng.normal(size=31) + 0.5 * members, 1)  # with ties
    values = np.unique(scores)
    inside = [gain(scores, members, cut) for cut in (values[1:] + values[:-1]) / 2]
    assert gain(scores, members, best_cutoff(scores, members)) == pytest.approx(max(inside))


def test_a_score_that_is_worse_than_useless_still_cuts_between_two_scores():
    scores, members = np.array([3.0, 2.0, 1.0, 0.0]), np.array([False, False, True, True])
    assert 0 < best_cutoff(scores, members) < 3


def test_a_constant_score_calls_everybody_a_member():
    assert best_cutoff(np.full(4, 7.0), np.arange(4) % 2 == 0) == 7.0


def test_shadows_of_one_world_give_the_lowest_score():
    assert best_cutoff(np.array([5.0, 2.0, 3.0]), np.ones(3, bool)) == 2.0
    assert best_cutoff(np.zeros(0), np.zeros(0, bool)) == 0.0


def test_the_middle_one_of_equally_good_cuts_is_taken():
    members = np.array([False, True, False, True, False, True])  # any cut below a member gains one third
    assert best_cutoff(np.arange(6.0), members) == 2.5
