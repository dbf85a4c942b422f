import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from known_trials import own_responses, trials
from leakgauge.referee.low_fpr import exact_interval, fewest_others, one_per_round, tpr_at


def test_the_rate_is_read_off_the_curve_by_hand():
    """Scores 5 4 3 2 1, members at 5 and 3: the curve climbs at 0, 1/3 and goes on to 1."""
    scores, members = np.array([5.0, 4, 3, 2, 1]), np.array([True, False, True, False, False])
    assert tpr_at(scores, members, 0.0) == 0.5
    assert tpr_at(scores, members, 1 / 3) == 1.0
    assert tpr_at(scores, members, 1 / 6) == pytest.approx(0.5)


def test_an_exact_interval_covers_and_needs_no_law():
    rng, truth = np.random.default_rng(3), ndtr(1.0 + ndtri(0.1))
    missed = 0
    for _ in range(200):
        members = rng.random(400) < 0.5
        low, high = exact_interval(trials(members, np.exp(members + rng.normal(size=400))), 0.1, 0.05)
        missed += not low <= truth <= high
    assert missed <= 10


def test_one_trial_of_each_round_is_kept_whatever_the_order_of_rows():
    rows = own_responses(40, 5, 1.0, np.random.default_rng(1))
    kept = one_per_round(rows)
    assert sorted(kept.rounds.tolist()) == list(range(40))
    assert len(set(kept.targets.tolist())) == 5
    mixed = np.random.default_rng(2).permutation(len(rows))
    again = one_per_round(rows.where(mixed))
    pairs = [sorted(zip(one.rounds.tolist(), one.targets.tolist(), strict=True)) for one in (kept, again)]
    assert pairs[0] == pairs[1]


def test_fewer_non_members_than_needed_have_no_lower_bound():
    need = fewest_others(0.01, 0.05)
    assert 0.99**need <= 0.05 / 4 < 0.99 ** (need - 1)
