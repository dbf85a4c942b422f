import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student

from known_trials import coins, trials
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading
from leakgauge.referee.thresholds import (
    best_thresholds,
    jackknife_accuracy,
    jackknife_mean_accuracy,
    own_threshold_advantage,
    own_threshold_rate,
)

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda rows: len({member for member, _ in rows}) == 2
)


@given(ROWS)
def test_threshold_is_optimal(rows):
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
def test_leave_one_out_matches_explicit_computation(statistic):
    rng = np.random.default_rng(4)
    rows = trials(rng.random(60) < 0.5, rng.normal(size=60), n_targets=3)
    says = rng.random(60) < 0.5
    found = statistic(rows, says)
    for number in range(20):
        rest = rows.rounds != number
        assert found.values[number] == pytest.approx(statistic(rows.where(rest), says[rest]).value)


# -- the attack's own threshold ------------------------------------------------------------------------------


def scored(n, rng, n_targets=1, threshold=0.3, given=False):
    """Members score higher by one; a round has a part of the noise in common."""
    members = coins(n * n_targets, rng)
    common = np.repeat(rng.normal(size=n), n_targets)
    scores = members + common + rng.normal(size=n * n_targets)
    reading = Reading(threshold=threshold)
    return trials(members, scores, reading, Coins.GIVEN if given else Coins.FAIR, n_targets)


def weighted_interval(pseudo, lowest, highest):
    """Quantiles of random weighted means of the pseudo-values and one value at the end; 95 % in all."""
    weights = np.random.default_rng(0).dirichlet(np.ones(len(pseudo) + 1), 200_000)
    low, high = (weights @ np.append(pseudo, end) for end in (lowest, highest))
    return np.quantile(low, 0.025), np.quantile(high, 0.975)


@pytest.mark.parametrize("world", [True, False])
def test_independent_own_rate_has_closed_form(world):
    """The pseudo-values of a share are its zeros and ones: Clopper and Pearson (1934)."""
    rows = scored(300, np.random.default_rng(5))
    of = rows.members == world
    answer = own_threshold_rate(rows, of, world, 0.95)
    said = [score >= 0.3 for score in rows.scores[of]]
    n, rate = len(said), sum(choice == world for choice in said) / len(said)
    assert answer.value == pytest.approx(rate)
    exact = binomtest(round(rate * n), n).proportion_ci(0.95, "exact")
    assert (answer.low, answer.high) == pytest.approx((exact.low, exact.high), abs=1e-4)


def test_shared_own_rate_matches_explicit_jackknife():
    rows = scored(60, np.random.default_rng(6), n_targets=5)
    of = rows.members
    answer = own_threshold_rate(rows, of, True, 0.95)
    rounds, said = rows.rounds[of], rows.scores[of] >= 0.3
    left_out = np.array([said[rounds != number].mean() for number in np.unique(rounds)])
    variance = (left_out.size - 1) / left_out.size * np.square(left_out - left_out.mean()).sum()
    assert answer.value == pytest.approx(said.mean())
    pseudo = said.mean() + (left_out.size - 1) * (left_out.mean() - left_out)
    largest = left_out.size * np.bincount(rounds).max() / said.size  # one round has the most members
    expected = weighted_interval(
        pseudo, said.mean() * (1 - largest), said.mean() + (1 - said.mean()) * largest
    )
    assert (answer.low, answer.high) == pytest.approx(expected, abs=0.002)
    alone = said.mean() * (1 - said.mean()) / (said.size - 1)
    assert variance > 1.3 * alone  # taking the trials for independent would be too narrow


def test_score_at_own_threshold_counts_as_member():
    members = np.arange(80) < 40
    rows = trials(members, np.where(np.arange(80) % 4 == 0, 0.3, 0.2999), Reading(threshold=0.3))
    assert own_threshold_rate(rows, members, True, 0.95).value == 0.25
    assert own_threshold_rate(rows, ~members, False, 0.95).value == 0.75
    assert own_threshold_advantage(rows, 0.95).value == 0


def test_positive_and_negative_rates_are_complements():
    rows = scored(200, np.random.default_rng(7))
    says_in, says_out = (own_threshold_rate(rows, rows.members, said, 0.95) for said in (True, False))
    assert says_in.value + says_out.value == pytest.approx(1)
    assert (says_in.low, says_in.high) == pytest.approx((1 - says_out.high, 1 - says_out.low))


def test_own_rate_depends_on_one_class():
    rows = scored(200, np.random.default_rng(8))
    other = trials(rows.members, np.where(rows.members, rows.scores, -9.0), rows.reading)
    assert own_threshold_rate(rows, rows.members, True, 0.95) == own_threshold_rate(
        other, other.members, True, 0.95
    )


def test_repeats_have_student_interval_of_own_rate():
    rows = scored(4, np.random.default_rng(9), n_targets=300, given=True)
    answer = own_threshold_rate(rows, rows.members, True, 0.9)
    rounds, said = rows.rounds[rows.members], rows.scores[rows.members] >= 0.3
    left_out = np.array([said[rounds != number].mean() for number in range(4)])
    deviation = np.sqrt(3 / 4 * np.square(left_out - left_out.mean()).sum())
    margin = student.ppf(0.95, 3) * deviation
    assert (answer.low, answer.high) == pytest.approx((said.mean() - margin, min(said.mean() + margin, 1)))
    assert "4 repeats" in answer.method


def test_own_advantage_matches_explicit_jackknife():
    rows = scored(60, np.random.default_rng(10), n_targets=5)
    answer = own_threshold_advantage(rows, 0.95)

    def accuracy(kept):
        says = rows.scores[kept] >= 0.3
        members = rows.members[kept]
        return (says[members].mean() + (~says[~members]).mean()) / 2

    everything = accuracy(np.full(len(rows), True))
    left_out = np.array([accuracy(rows.rounds != number) for number in range(60)])
    pseudo = everything + 59 * (left_out.mean() - left_out)

    def largest_change(outcome):
        """How much one round can change the accuracy, times rounds, if all its decisions were this one."""
        says = rows.scores >= 0.3
        changes = np.zeros(60)
        for world in (True, False):
            mine = rows.members == world
            rate = (says == world)[mine].mean()
            changes += 30 * np.bincount(rows.rounds[mine], minlength=60) / mine.sum() * (outcome - rate)
        return changes

    low, high = weighted_interval(
        pseudo, everything + largest_change(0).min(), everything + largest_change(1).max()
    )
    assert answer.value == pytest.approx(2 * everything - 1)
    assert (answer.low, answer.high) == pytest.approx((2 * low - 1, 2 * high - 1), abs=0.004)


def test_no_own_rate_without_threshold_or_trials():
    rows = scored(50, np.random.default_rng(11))
    silent = trials(rows.members, rows.scores)
    for answer in (
        own_threshold_rate(silent, silent.members, True, 0.9),
        own_threshold_advantage(silent, 0.9),
    ):
        assert (answer.value, answer.low, answer.high, answer.confidence) == (None, None, None, 0.9)
        assert answer.reason == "the attack sets no threshold of its own"
    members_only = rows.where(rows.members)
    answer = own_threshold_rate(members_only, ~members_only.members, False, 0.9)
    assert (answer.value, answer.reason) == (
        None,
        "not available: there are only members, or only non-members",
    )
    with pytest.raises(BadInput, match="advantage_own needs members and non-members"):
        own_threshold_advantage(members_only, 0.9)
