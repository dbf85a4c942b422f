"""Advantages at the attack's own threshold, at one for each release, and at the in-sample optimum."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from known_trials import trials
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.metrics import advantage_in_sample, advantage_own, advantage_per_release, tpr
from night import others_at_night

OWN = Reading(threshold=0.5)


def stream_for(*key):
    return np.random.default_rng([20260713, *key])


def repeats(members, scores, coins=Coins.GIVEN, reading=OWN):
    """Rounds x trials; each round has targets of its own."""
    rounds = np.repeat(np.arange(members.shape[0]), members.shape[1])
    return Trials(
        rounds, np.zeros_like(rounds), members.ravel(), scores.ravel().astype(float), coins, reading
    )


def decided(hit, alarm, rng, n=100, coins=Coins.GIVEN):
    """One round for each pair of rates: n members of whom ``hit`` are accused, n others of whom ``alarm``."""
    members = np.tile(np.repeat([True, False], n), (len(hit), 1))
    rates = np.where(members, np.asarray(hit)[:, None], np.asarray(alarm)[:, None])
    return repeats(members, rng.random(members.shape) < rates, coins)


def shifted(shift, rng, n_rounds=5, n=200, m=200, common=0.0):
    """Normal scores; members are ahead by ``shift``, and each round has a height of its own."""
    members = np.tile(np.repeat([True, False], [n, m]), (n_rounds, 1))
    scores = members * shift + rng.normal(size=members.shape) + common * rng.normal(size=(n_rounds, 1))
    return repeats(members, scores)


def test_own_advantage_is_difference_of_rates():
    members = np.array([[True] * 4 + [False] * 5])
    scores = np.array([[1, 1, 1, 0, 1, 0, 0, 0, 0]])
    assert advantage_own.Metric()(repeats(members, scores)).value == pytest.approx(3 / 4 - 1 / 5)


def test_score_at_threshold_counts_as_member():
    members = np.array([[True] * 4 + [False] * 5])
    scores = np.array([[0.5, 0.5, 0.5, 0, 0.5, 0, 0, 0, 0]])
    assert advantage_own.Metric()(repeats(members, scores)).value == pytest.approx(3 / 4 - 1 / 5)


def test_releases_are_weighted_equally():
    """One of 40 and 40 that is told apart, one of 200 and 200 that is not: half of all, not a sixth."""
    rounds = np.repeat([0, 1], [80, 400])
    members = np.concatenate([np.arange(80) < 40, np.arange(400) < 200])
    scores = np.where(rounds == 0, members, 0.0)
    rows = Trials(rounds, np.zeros_like(rounds), members, scores, Coins.GIVEN, OWN)
    assert advantage_per_release.Metric()(rows).value == pytest.approx(0.5)


def test_attack_without_threshold_has_no_own_advantage():
    rows = replace(decided([0.9] * 3, [0.1] * 3, stream_for(1)), reading=Reading())
    answer = advantage_own.Metric()(rows)
    assert answer.value is None
    assert "no threshold" in answer.reason


def test_negative_own_advantage_is_kept():
    answer = advantage_own.Metric()(decided([0.2] * 5, [0.8] * 5, stream_for(2)))
    assert answer.low < answer.value < answer.high < -0.4


def test_correlated_rates_cancel_in_the_difference():
    """The height of each round moves both rates; their difference stays, and so must its interval."""
    height = np.linspace(0.1, 0.7, 10)
    rows = decided(height + 0.2, height, stream_for(3), n=400)
    own, hits = advantage_own.Metric()(rows), tpr.Metric()(rows)
    assert own.high - own.low < 0.3 * (hits.high - hits.low)


def test_interval_over_repeats_is_student():
    rows = decided([0.9, 0.8, 0.85, 0.7], [0.1, 0.2, 0.3, 0.2], stream_for(4))
    shown = rows.scores.reshape(4, 200)
    each = shown[:, :100].mean(axis=1) - shown[:, 100:].mean(axis=1)
    low, high = stats.t.interval(0.9, 3, loc=each.mean(), scale=stats.sem(each))
    answer = advantage_own.Metric(confidence=0.9)(rows)
    assert (answer.value, answer.low, answer.high) == pytest.approx((each.mean(), low, high))
    assert "4 repeats" in answer.method


def test_two_repeats_have_value_without_interval():
    answer = advantage_own.Metric()(decided([0.9] * 2, [0.1] * 2, stream_for(5)))
    assert answer.value is not None
    assert (answer.low, answer.high) == (None, None)
    assert "2 repeats" in answer.reason


@pytest.mark.parametrize("coins", [Coins.FAIR, Coins.TIED])
def test_flipped_coins_need_30_rounds(coins):
    answer = advantage_own.Metric()(decided([0.9] * 20, [0.1] * 20, stream_for(6), coins=coins))
    assert (answer.low, answer.high) == (None, None)
    assert "20 rounds" in answer.reason


def test_small_rounds_are_not_repeats():
    answer = advantage_own.Metric()(decided([0.9] * 20, [0.1] * 20, stream_for(7), n=39))
    assert answer.low is None
    assert advantage_own.Metric()(decided([0.9] * 20, [0.1] * 20, stream_for(7), n=40)).low is not None


def test_errorless_repeats_keep_an_interval():
    answer = advantage_own.Metric()(decided([1.0] * 3, [0.0] * 3, stream_for(8)))
    assert (answer.value, answer.high) == (1, 1)
    assert answer.low == pytest.approx(2 * 0.025 ** (1 / 600) - 1)


def test_per_release_threshold_finds_what_a_common_one_misses():
    """Heights of rounds differ so much that no common threshold tells anything."""
    rows = shifted(2.0, stream_for(9), n_rounds=10, common=100.0)
    best = 2 * ndtr(1.0) - 1
    answer = advantage_per_release.Metric()(rows)
    assert answer.value == pytest.approx(best, abs=0.04)
    assert answer.low < best < answer.high + 0.02
    assert abs(advantage_own.Metric()(rows).value) < 0.15


def test_thresholds_are_cross_fitted():
    """Without a leak the in-sample optimum is above zero in every round, the honest one around it."""
    rng = stream_for(10)
    found = [advantage_per_release.Metric()(shifted(0.0, rng, n=60, m=60)).value for _ in range(200)]
    assert np.mean(found) == pytest.approx(0, abs=4 * stats.sem(found))
    assert min(found) < 0


def test_file_order_does_not_affect_threshold_choice():
    """Sorted scores, every second one chosen, would give halves that are alike."""
    rng = stream_for(11)
    found = []
    for _ in range(200):
        rows = shifted(0.0, rng, n_rounds=1, n=40, m=40)
        order = np.argsort(rows.scores)
        found.append(advantage_per_release.Metric()(rows.where(order)).value)
    assert np.mean(found) == pytest.approx(0, abs=4 * stats.sem(found))


def test_per_release_threshold_needs_20_of_each_class():
    answer = advantage_per_release.Metric()(shifted(1.0, stream_for(12), n=19))
    assert answer.value is None
    assert "20 non-members per release, one has 19" in answer.reason
    alone = trials(np.arange(40) % 2 == 0, np.arange(40))
    assert "one has 0" in advantage_per_release.Metric()(alone).reason
    assert "one has 0" in advantage_in_sample.Metric()(alone).reason


def test_in_sample_optimum_is_ks_statistic():
    """Kolmogorov and Smirnov's one-sided statistic of each round, averaged."""
    rows = shifted(0.7, stream_for(13), n_rounds=4, n=150, m=90)
    scores = rows.scores.reshape(4, 240)
    gaps = [stats.ks_2samp(each[:150], each[150:], alternative="less").statistic for each in scores]
    assert advantage_in_sample.Metric()(rows).value == pytest.approx(np.mean(gaps))


def test_null_value_matches_simulation():
    rng = stream_for(14)
    shown = shifted(0.0, rng, n_rounds=400, n=300, m=620)
    found, null = advantage_in_sample.Metric()(shown), advantage_in_sample.Metric(null=True)(shown)
    assert null.value == pytest.approx(np.sqrt(np.pi / 8 * (1 / 300 + 1 / 620)))
    assert null.low is None
    assert found.value == pytest.approx(null.value, rel=0.06)  # a little less: 920 are not infinitely many
    cleveland = advantage_in_sample.Metric(null=True)(shifted(0.0, rng, 1, 303, 617))
    assert cleveland.value == pytest.approx(0.044, abs=5e-4)


@pytest.mark.parametrize("n_repeats", [3, 5, 10])
@pytest.mark.parametrize(("kind", "least"), [("normal", 0.935), ("skewed", 0.9)])
def test_intervals_over_few_repeats_cover_at_nominal_rate(n_repeats, kind, least):
    """Nominal 0.95; found 0.948, 0.953, 0.953 with a normal effect of the round, 0.947, 0.923, 0.928 with a
    skewed one (exponential), at 3, 5 and 10 repeats."""
    rng, held, n = stream_for(15, n_repeats), 0, 2000
    for _ in range(n):
        effect = rng.normal(size=n_repeats) if kind == "normal" else 1 - rng.exponential(size=n_repeats)
        answer = advantage_own.Metric()(decided(0.8 + 0.05 * effect, 0.3 - 0.05 * effect, rng))
        held += answer.low <= 0.5 <= answer.high
    assert held / n > least


@pytest.mark.parametrize("n_repeats", others_at_night([3, 5, 10], 3))
def test_intervals_over_the_smallest_repeats_cover_at_nominal_rate(n_repeats):
    """40 records of each world in a repeat, and members nearly all found: where a mean is least normal."""
    rng, held, n = stream_for(17, n_repeats), 0, 1000
    for _ in range(n):
        effect = rng.normal(size=n_repeats)
        answer = advantage_own.Metric()(decided(0.92 + 0.02 * effect, 0.1 - 0.02 * effect, rng, n=40))
        held += answer.low <= 0.82 <= answer.high
    assert held / n > 0.93


@pytest.mark.parametrize(("n_repeats", "least"), others_at_night([(3, 0.8), (5, 0.99)], (3, 0.8)))
def test_intervals_over_few_repeats_detect_small_advantage(n_repeats, least):
    """An advantage of 0.09 with 10,000 of each world, and rounds that differ by 0.01 beyond that."""
    rng, seen, n = stream_for(16, n_repeats), 0, 300
    for _ in range(n):
        effect = 0.005 * rng.normal(size=n_repeats)
        seen += advantage_own.Metric()(decided(0.545 + effect, 0.455 - effect, rng, n=10_000)).low > 0
    assert seen / n > least
