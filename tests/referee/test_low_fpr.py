import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from known_trials import own_responses, trials
from leakgauge.core.game import Coins, Trials
from leakgauge.referee.low_fpr import (
    exact_tpr_interval,
    fewest_others,
    has_enough_repeats,
    one_per_round,
    repeated_tpr_interval,
    tpr_at,
)
from leakgauge.referee.metrics.tpr_at_fpr import Metric
from night import others_at_night

SHAPES = [(0.0, 0.0), (1.0, 0.0), (2.5, 0.0), (1.0, 0.3), (2.5, 0.5)]  # shift of members, its spread


def test_tpr_is_read_from_the_curve():
    """Scores 5 4 3 2 1, members at 5 and 3: the curve climbs at 0, 1/3 and goes on to 1."""
    scores, members = np.array([5.0, 4, 3, 2, 1]), np.array([True, False, True, False, False])
    assert tpr_at(scores, members, 0.0) == 0.5
    assert tpr_at(scores, members, 1 / 3) == 1.0
    assert tpr_at(scores, members, 1 / 6) == pytest.approx(0.5)


def test_exact_interval_covers_for_any_distribution():
    rng, truth = np.random.default_rng(3), ndtr(1.0 + ndtri(0.1))
    missed = 0
    for _ in range(200):
        members = rng.random(400) < 0.5
        low, high = exact_tpr_interval(trials(members, np.exp(members + rng.normal(size=400))), 0.1, 0.05)
        missed += not low <= truth <= high
    assert missed <= 10


def test_one_trial_per_round_is_kept_in_any_row_order():
    rows = own_responses(40, 5, 1.0, np.random.default_rng(1))
    kept = one_per_round(rows)
    assert sorted(kept.rounds.tolist()) == list(range(40))
    assert len(set(kept.targets.tolist())) == 5
    mixed = np.random.default_rng(2).permutation(len(rows))
    again = one_per_round(rows.where(mixed))
    pairs = [sorted(zip(one.rounds.tolist(), one.targets.tolist(), strict=True)) for one in (kept, again)]
    assert pairs[0] == pairs[1]


def test_too_few_non_members_have_no_lower_bound():
    need = fewest_others(0.01, 0.05)
    assert 0.99**need <= 0.05 / 4 < 0.99 ** (need - 1)


def repeats(scores_in, scores_out, coins=Coins.GIVEN) -> Trials:
    """Repeats x members, and repeats x others."""
    n = scores_in.shape[1] + scores_out.shape[1]
    rounds = np.repeat(np.arange(len(scores_in)), n)
    members = np.tile(np.arange(n) < scores_in.shape[1], len(scores_in))
    scores = np.concatenate([scores_in, scores_out], axis=1).ravel()
    return Trials(rounds, np.zeros_like(rounds), members, scores, coins)


def gaussian(n_repeats, n, shift, rng, spread=0.0):
    shifts = shift + spread * rng.normal(size=(n_repeats, 1))
    moved = 3 * rng.normal(size=(n_repeats, 1))  # scores of one release may all be larger than of another
    outs = rng.normal(size=(n_repeats, n)) + moved
    return repeats(rng.normal(size=(n_repeats, n)) + shifts + moved, outs)


def test_each_repeat_uses_its_own_threshold():
    """Of 100 others 10 may be accused: members above the tenth largest are found, 3 of 60, 25 and 3."""
    outs = np.tile(np.arange(100.0), (3, 1)) + np.array([[0.0], [1000.0], [0.0]])
    ins = np.full((3, 60), -1.0)
    ins[0, :3] = ins[2, :3] = 90.5
    ins[1, :27] = 1090.5
    ins[:, 3:5] = 89.5  # below the tenth, above the eleventh
    value, low, high = repeated_tpr_interval(repeats(ins, outs), 0.1, 0.05)
    assert value == pytest.approx((3 / 60 + 25 / 60 + 3 / 60) / 3)
    assert low < value < high


@pytest.mark.parametrize(("n", "fpr", "fits"), [(100, 0.1, True), (99, 0.1, False), (100, 0.01, False)])
def test_threshold_needs_ten_non_members(n, fpr, fits):
    assert has_enough_repeats(gaussian(3, n, 1.0, np.random.default_rng(1)), fpr) == fits


def test_flipped_coins_and_two_repeats_are_not_repeats():
    rng = np.random.default_rng(1)
    assert not has_enough_repeats(gaussian(2, 100, 1.0, rng), 0.1)
    ins, outs = rng.normal(size=(2, 3, 100))
    assert not has_enough_repeats(repeats(ins, outs, Coins.FAIR), 0.1)


@pytest.mark.parametrize(
    ("n_repeats", "shift", "spread"),
    others_at_night(
        ((n, *shape) for shape in SHAPES for n in (3, 10, 50)),
        *((3, *shape) for shape in SHAPES),
        (50, 1.0, 0.3),
    ),
)
def test_interval_covers_mean_tpr(n_repeats, shift, spread):
    rng, n, fpr, draws = np.random.default_rng(7), 100, 0.1, 300
    truth = ndtr((shift + ndtri(fpr)) / np.sqrt(1 + spread**2))
    ends = [
        repeated_tpr_interval(gaussian(n_repeats, n, shift, rng, spread), fpr, 0.05)[1:] for _ in range(draws)
    ]
    low, high = np.array(ends).T
    most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / draws)
    assert np.mean(low > truth) <= most
    assert np.mean(high < truth) <= most


def test_interval_is_useful_where_one_trial_per_round_is_not():
    rows = gaussian(10, 1_000, 2.5, np.random.default_rng(3))
    found = Metric(fpr=0.01)(rows)
    assert found.value == pytest.approx(ndtr(2.5 + ndtri(0.01)), abs=0.04)
    assert found.high - found.low < 0.12
    assert tpr_at(rows.scores, rows.members, 0.01) < 0.3  # one threshold for all releases would miss most


@pytest.mark.parametrize("shift", [-np.inf, np.inf])
def test_zero_and_full_tpr_keep_an_interval(shift):
    ins = np.full((3, 100), np.sign(shift) * 9.0)
    found = Metric(fpr=0.1)(repeats(ins, np.random.default_rng(1).normal(size=(3, 100))))
    expected = float(shift > 0)
    assert found.value == expected
    assert 0 < found.high - found.low < 0.02


def test_equal_scores_find_both_classes_equally():
    found = Metric(fpr=0.1)(repeats(np.zeros((20, 400)), np.zeros((20, 400))))
    assert found.low < 0.1 < found.high
    assert found.high - found.low < 0.03
