"""AUC, accuracy, TPR and their intervals, against known truth."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from known_trials import RANK, SIGNED, coins, laplace, shared_cell, trials
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.metrics import (
    accuracy,
    accuracy_mean,
    accuracy_own,
    accuracy_worst,
    advantage,
    auc,
    auc_mean,
    tnr,
    tpr,
    tpr_at_fpr,
    tpr_at_fpr_mean,
)
from leakgauge.theory import loss_composition, privacy_loss
from night import others_at_night

SHIFT = 1.2  # members' scores are N(SHIFT, 1), others' N(0, 1)
TRUTH = {
    "auc": ndtr(SHIFT / np.sqrt(2)),
    "accuracy": ndtr(SHIFT / 2),
    "tpr_at_0.1": ndtr(SHIFT + ndtri(0.1)),
}


def stream_for(*key):
    return np.random.default_rng([20240501, *key])


def normal(n, rng, n_targets=1, together=0.0):
    """Scores whose rates are known; ``together`` is the share of the noise that a round has in common."""
    members = coins(n * n_targets, rng)
    common = np.repeat(rng.normal(size=n), n_targets)
    noise = np.sqrt(together) * common + np.sqrt(1 - together) * rng.normal(size=n * n_targets)
    return trials(members, members * SHIFT + noise, Reading(threshold=SHIFT / 2), n_targets=n_targets)


def left_out_by_hand(metric, rows):
    """Delete-one-round jackknife, one round at a time."""
    values = [metric(rows.where(rows.rounds != number)).value for number in np.unique(rows.rounds)]
    return np.array(values)


@pytest.mark.parametrize("n_targets", [1, 4])
def test_fast_auc_jackknife_matches_explicit_one(n_targets):
    from leakgauge.referee.metrics.auc import _jackknife_auc

    rows = normal(40, stream_for(1), n_targets)
    np.testing.assert_allclose(_jackknife_auc(rows).values, left_out_by_hand(auc.Metric(), rows))


def test_fast_mean_auc_jackknife_matches_explicit_one():
    rows = normal(40, stream_for(2), 3)
    by_hand = left_out_by_hand(auc_mean.Metric(), rows)
    found = auc_mean.Metric()(rows)
    per_target = [auc.Metric()(rows.where(rows.targets == t)).value for t in range(3)]
    assert found.value == pytest.approx(np.mean(per_target))
    # by how much a round changes the mean of three AUC if its trials are below, or above, all others
    lost, won = np.zeros(40), np.zeros(40)
    for target in range(3):
        for world in (True, False):
            mine = rows.rounds[(rows.targets == target) & (rows.members == world)]
            lost[mine] += 40 * per_target[target] / mine.size / 3
            won[mine] += 40 * (1 - per_target[target]) / mine.size / 3
    pseudo = found.value + 39 * (by_hand.mean() - by_hand)
    weights = stream_for(49).dirichlet(np.ones(41), 200_000)
    low = np.quantile(weights @ np.append(pseudo, found.value - lost.max()), 0.025)
    high = np.quantile(weights @ np.append(pseudo, found.value + won.max()), 0.975)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.002)


def test_means_over_one_target_equal_pooled_value():
    rows = normal(500, stream_for(3))
    for pooled, mean in ((auc, auc_mean), (accuracy, accuracy_mean), (tpr_at_fpr, tpr_at_fpr_mean)):
        one, other = pooled.Metric()(rows), mean.Metric()(rows)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_constant_score_has_auc_of_one_half_and_no_advantage():
    rows = trials(coins(400, stream_for(4)), np.zeros(400))
    assert auc.Metric()(rows).value == 0.5
    assert advantage.Metric()(rows).value == 0
    assert tpr_at_fpr.Metric(fpr=0.1)(rows).value == pytest.approx(0.1)


def test_constant_score_in_shared_rounds_has_finite_intervals():
    rows = trials(coins(800, stream_for(13)), np.zeros(800), n_targets=8)
    for metric in (auc, auc_mean, tpr_at_fpr, tpr_at_fpr_mean, accuracy, accuracy_mean):
        answer = metric.Metric()(rows)
        assert 0 <= answer.low <= answer.value <= answer.high <= 1


def test_reversed_scores_are_not_flipped():
    rows = normal(1_000, stream_for(5))
    wrong = trials(rows.members, -rows.scores)
    assert auc.Metric()(wrong).high < 0.5
    assert advantage.Metric()(wrong).value <= 0.05


def test_advantage_is_twice_accuracy_minus_one():
    rows = normal(300, stream_for(6))
    one, other = accuracy.Metric()(rows), advantage.Metric()(rows)
    assert (other.value, other.low, other.high) == pytest.approx(
        (2 * one.value - 1, 2 * one.low - 1, 2 * one.high - 1)
    )


def test_accuracy_uses_held_out_threshold():
    """Even rounds separate the worlds, odd ones are reversed: an honest count sees none of the separation."""
    members = np.tile([True, True, False, False], 100)
    even = np.tile([True, False], 200)
    scores = np.where(even == members, 1.0, 0.0)
    assert accuracy.Metric()(trials(members, scores)).value == 0


def test_alternating_file_can_be_judged():
    members = np.arange(400) % 2 == 0
    rows = trials(members, members + stream_for(12).normal(size=400))
    assert accuracy.Metric()(rows).low > 0.5


def test_rates_at_attacks_own_threshold():
    members = np.array([True] * 40 + [False] * 40)
    scores = np.concatenate([np.repeat([1.0, -1.0], [30, 10]), np.repeat([1.0, -1.0], [4, 36])])
    rows = trials(members, scores, SIGNED)
    assert tpr.Metric()(rows).value == 0.75
    assert tnr.Metric()(rows).value == 0.9
    assert tpr.Metric()(trials(members, scores)).value is None
    assert "no threshold" in tpr.Metric()(trials(members, scores)).reason


def test_fewer_than_30_rounds_have_value_without_interval():
    answer = auc.Metric()(normal(20, stream_for(7)))
    assert answer.value is not None
    assert (answer.low, answer.high) == (None, None)
    assert "20 rounds" in answer.reason


def test_perfect_attack_keeps_an_interval():
    members = coins(100, stream_for(8))
    rows = trials(members, members * 1.0)
    for metric in (auc, accuracy):
        answer = metric.Metric()(rows)
        assert answer.value == answer.high == 1
        assert 0.8 < answer.low < 0.97


def test_too_few_non_members_have_no_lower_bound_at_low_fpr():
    answer = tpr_at_fpr.Metric(fpr=0.001)(normal(500, stream_for(9)))
    assert answer.low == 0
    assert "no lower bound: needs" in answer.reason


def test_rejects_single_class():
    rows = trials(np.ones(100, bool), np.arange(100))
    for metric in (auc, accuracy, tpr_at_fpr, auc_mean):
        with pytest.raises(BadInput, match=r"in some rounds|members and non-members"):
            metric.Metric()(rows)


def test_ties_at_threshold_are_split():
    """Laplace log-likelihood ratios saturate: TPR at FPR 0.1 lies on the line to the first corner."""
    rows = laplace(1.0, 20_000, stream_for(10))
    answer = tpr_at_fpr.Metric(fpr=0.1)(rows)
    corner = 0.5 / (0.5 * np.exp(-1.0))
    assert answer.low < 0.1 * corner < answer.high
    assert answer.value == pytest.approx(0.1 * corner, abs=0.02)


def test_given_membership_has_rates():
    members = np.arange(200) < 60
    rows = trials(members, members + stream_for(11).normal(size=200), coins=Coins.GIVEN)
    assert auc.Metric()(rows).low > 0.5
    assert accuracy.Metric()(rows).low > 0.5


# -- coverage ------------------------------------------------------------------------------------------------


def misses(metric, make, truth, repeats):
    answers = [metric(make()) for _ in range(repeats)]
    return np.mean([not answer.low <= truth <= answer.high for answer in answers]), np.median(
        [answer.high - answer.low for answer in answers]
    )


@pytest.mark.parametrize("n", others_at_night([100, 1_000], 100))
def test_independent_round_intervals_cover_at_nominal_rate(n):
    rng = stream_for(20, n)
    for metric, truth in (
        (auc.Metric(), TRUTH["auc"]),
        (tpr.Metric(), ndtr(SHIFT / 2)),
        (tnr.Metric(), ndtr(SHIFT / 2)),
    ):
        missed, width = misses(metric, lambda: normal(n, rng), truth, 1_000)
        assert missed <= 0.072
        assert width <= 4.2 / np.sqrt(n)


@pytest.mark.parametrize("n", [200, 1_000])
def test_low_fpr_tpr_covers_at_nominal_rate(n):
    rng = stream_for(21, n)
    missed, width = misses(tpr_at_fpr.Metric(fpr=0.1), lambda: normal(n, rng), TRUTH["tpr_at_0.1"], 1_000)
    assert missed <= 0.072
    assert width <= 9 / np.sqrt(n)


@pytest.mark.parametrize("together", others_at_night([0.0, 0.5], 0.5))
def test_shared_round_intervals_cover_at_nominal_rate(together):
    """Twenty targets a round whose noise has a common part: trials are far from independent."""
    rng = stream_for(22, int(10 * together))
    cases = [
        (auc.Metric(), TRUTH["auc"], 0.25),
        (auc_mean.Metric(), TRUTH["auc"], 0.25),
        (tpr.Metric(), ndtr(SHIFT / 2), 0.25),
        (tpr_at_fpr.Metric(fpr=0.1), TRUTH["tpr_at_0.1"], 0.8),  # one trial a round: sound, not sharp
    ]
    for metric, truth, widest in cases:
        missed, width = misses(metric, lambda: normal(100, rng, 20, together), truth, 500)
        assert missed <= 0.08
        assert width <= widest


@pytest.mark.parametrize(("epsilon", "n"), [(6.0, 200), (8.0, 1_000)])
def test_nearly_perfect_auc_keeps_an_interval(epsilon, n):
    """A handful of pairs in the wrong order: their variance says next to nothing."""
    rng, exact = (
        stream_for(30, n),
        loss_composition.best_attack([(privacy_loss.LaplaceCell(epsilon), 1)]).auc[1],
    )
    found = [auc.Metric()(laplace(epsilon, n, rng)) for _ in range(500)]
    assert np.mean([answer.low > exact for answer in found]) <= 0.045
    assert np.mean([answer.high < exact for answer in found]) <= 0.045


def nearly_perfect(truth, n, n_targets, rng, scale):
    """An attack that is right with chance ``truth``, in half of the rounds about all targets or about none.

    ``scale`` is how far off the scores of such a round are: far off, its trials lose to all others.
    """
    members = coins(n * n_targets, rng).reshape(n, n_targets)
    chance, together = rng.random(members.shape), rng.random((n, 1)) < 0.5
    right = np.where(together, chance[:, :1], chance) < truth
    size = np.where(together & ~right, scale, 1.0)
    scores = np.where(members == right, size, -size).ravel()
    return trials(members.ravel(), scores, SIGNED, n_targets=n_targets)


@pytest.mark.parametrize("truth", [0.9, 0.99])
@pytest.mark.parametrize("n", [40, 100])
def test_rare_bad_rounds_do_not_make_bounds_too_narrow(truth, n):
    """Few rounds with many targets: what a bad round would do was perhaps not seen.

    Most audits at .99 have no bad round in them; a variance estimated from the others put the lower bound
    above the truth in more than half of them.
    """
    rng = stream_for(34, n, int(100 * truth))
    found = [accuracy_own.Metric(confidence=0.9)(nearly_perfect(truth, n, 20, rng, 1.0)) for _ in range(300)]
    assert np.mean([answer.low > truth for answer in found]) <= 0.09
    assert np.mean([answer.high < truth for answer in found]) <= 0.09
    assert np.median([answer.value - answer.low for answer in found]) < 4.2 / n + 2 * np.sqrt(0.1 / n)


@pytest.mark.parametrize("scale", [1.0, 9.0])
def test_rare_bad_rounds_do_not_make_auc_bounds_too_narrow(scale):
    rng = stream_for(35, int(scale))
    truth = auc.Metric()(nearly_perfect(0.99, 400_000, 2, rng, scale)).value  # by a long simulation
    found = [auc.Metric(confidence=0.9)(nearly_perfect(0.99, 60, 20, rng, scale)) for _ in range(300)]
    assert np.mean([answer.low > truth for answer in found]) <= 0.09
    assert np.mean([answer.high < truth for answer in found]) <= 0.09


@pytest.mark.nightly
@pytest.mark.parametrize("truth", [0.5, 0.75, 0.9, 0.99, 0.999])
@pytest.mark.parametrize(("n", "n_targets"), [(40, 1), (40, 10), (40, 50), (100, 10), (400, 10)])
@pytest.mark.parametrize("together", [0.0, 0.9])
def test_own_accuracy_bounds_hold_from_chance_to_nearly_always_right(truth, n, n_targets, together):
    """A share of the noise is common to a round, and decides about all its targets in the same direction."""
    rng = stream_for(36, int(1000 * truth), n, n_targets)
    low = high = without = 0
    for _ in range(1_000):
        members = coins(n * n_targets, rng)
        common = np.repeat(rng.normal(size=n), n_targets)
        noise = np.sqrt(together) * common + np.sqrt(1 - together) * rng.normal(size=n * n_targets)
        scores = np.where(members, 1, -1) * (ndtri(truth) + noise)
        answer = accuracy_own.Metric(confidence=0.9)(trials(members, scores, SIGNED, n_targets=n_targets))
        if answer.low is None:
            without += 1
            continue
        low, high = low + (answer.low > truth), high + (answer.high < truth)
    assert without <= (10 if n_targets == 1 else 0)  # 1 audit in 1,500 has fewer than 10 of one side
    assert low <= 72  # 1 chance in 500 if 5 % is exact
    assert high <= 72


def with_common_noise(kind, truth, n, n_targets, rng):
    """Trials whose AUC over different rounds is known, with noise that is common to a round.

    It moves all scores of a round ("shift"), makes all targets easier or harder ("right"), or turns a whole
    round around ("bad rounds"): the AUC is then the share of good ones, as good and bad pairs count one half.
    """
    members, own = coins(n * n_targets, rng), rng.normal(size=n * n_targets)
    noise = np.sqrt(0.9) * np.repeat(rng.normal(size=n), n_targets) + np.sqrt(0.1) * own
    if kind == "shift":
        scores = np.sqrt(2) * ndtri(truth) * members + noise
    elif kind == "right":
        scores = np.where(members, 1, -1) * (ndtri(truth) / np.sqrt(2) + noise)
    else:
        bad = np.repeat(rng.random(n) < 1 - truth, n_targets)
        scores = np.where(members != bad, 1.0, -1.0) + 0.1 * own
    return trials(members, scores, SIGNED, n_targets=n_targets)


@pytest.mark.nightly
@pytest.mark.parametrize("truth", [0.5, 0.75, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("kind", ["shift", "right", "bad rounds"])
@pytest.mark.parametrize("n_targets", [1, 10, 50])
def test_auc_bounds_hold_from_chance_to_nearly_always_right(truth, kind, n_targets):
    for n in (40, 100, 400):
        repetitions = 100 if n * n_targets > 4_000 else 400
        rng = stream_for(37, int(1000 * truth), n, n_targets, len(kind))
        found = [
            auc.Metric(confidence=0.9)(with_common_noise(kind, truth, n, n_targets, rng))
            for _ in range(repetitions)
        ]
        most = binom.isf(1e-5, repetitions, 0.05)  # 270 comparisons
        assert np.sum([answer.low > truth for answer in found if answer.low is not None]) <= most
        assert np.sum([answer.high < truth for answer in found if answer.high is not None]) <= most


@pytest.mark.parametrize("n_members", [15, 30])
def test_unbalanced_classes_keep_coverage(n_members):
    rng, members = stream_for(31, n_members), np.arange(1_000) < n_members

    def make():
        flipped = members ^ (rng.random(1_000) < 0.1)
        return trials(members, flipped * 1.0, coins=Coins.GIVEN)

    found = [accuracy.Metric()(make()) for _ in range(400)]
    known = [answer for answer in found if answer.low is not None]
    assert np.mean([answer.low > 0.9 for answer in known] or [0]) <= 0.05
    areas = [auc.Metric()(make()) for _ in range(400)]
    assert np.mean([not answer.low <= 0.9 <= answer.high for answer in areas]) <= 0.08


@pytest.mark.parametrize(("rounds", "n_targets"), [(100, 4), (200, 10)])
@pytest.mark.parametrize("metric", [tpr_at_fpr, tpr_at_fpr_mean])
def test_low_fpr_in_shared_rounds_keeps_coverage(rounds, n_targets, metric):
    rng, fpr = stream_for(32, rounds), 0.001
    truth = ndtr(SHIFT + ndtri(fpr))
    found = [metric.Metric(fpr=fpr)(normal(rounds, rng, n_targets)) for _ in range(200)]
    assert np.mean([answer.low > truth for answer in found]) <= 0.05
    assert np.mean([answer.high < truth for answer in found]) <= 0.05


def test_mean_over_targets_with_few_rounds_keeps_coverage():
    """A hundred targets, five rounds each, scores without information."""
    rng = stream_for(33)

    def make():
        rounds, targets = np.arange(500), np.tile(np.arange(100), 5)
        return Trials(rounds, targets, coins(500, rng), rng.normal(size=500), Coins.FAIR, RANK)

    found = [auc_mean.Metric()(make()) for _ in range(300)]
    assert np.mean([not answer.low <= 0.5 <= answer.high for answer in found]) <= 0.09


def test_ignoring_shared_rounds_would_not_cover():
    """The jackknife over rounds is needed: the same trials, each taken for its own round, miss often."""
    rng = stream_for(23)

    def unshared():
        rows = normal(100, rng, 20, 0.5)
        return trials(rows.members, rows.scores, rows.reading)

    assert misses(tpr.Metric(), unshared, ndtr(SHIFT / 2), 300)[0] > 0.2


@pytest.mark.parametrize(("n_targets", "metric"), [(1, accuracy), (20, accuracy), (20, accuracy_mean)])
def test_held_out_accuracy_covers_at_nominal_rate(n_targets, metric):
    """Scores of two values: every threshold between them is the same, so the truth is known."""
    rng, epsilon = stream_for(24, n_targets), 1.0

    def make():
        members = coins(100 * n_targets, rng)
        lies = rng.random(members.size) < 1 / (1 + np.exp(epsilon))
        return trials(members, (members ^ lies) * 1.0, RANK, n_targets=n_targets)

    missed, width = misses(metric.Metric(), make, np.exp(epsilon) / (1 + np.exp(epsilon)), 500)
    assert missed <= 0.08
    assert width <= 0.35


@pytest.mark.parametrize("truth", [0.5, 0.9])
@pytest.mark.parametrize("metric", [accuracy, accuracy_mean])
def test_calibrated_accuracy_has_an_interval_that_covers_at_40_rounds_of_3_targets(metric, truth):
    """Half of the rounds are counted; their trials are right or wrong together in half of them."""
    rng = stream_for(41, int(100 * truth))

    def make():
        members, together = coins(120, rng), np.repeat(rng.random(40) < 0.5, 3)
        right = np.where(together, np.repeat(rng.random(40) < truth, 3), rng.random(120) < truth)
        return trials(members, (members == right) * 1.0, RANK, n_targets=3)

    found = [metric.Metric()(make()) for _ in range(200)]
    assert np.mean([answer.low is None for answer in found]) <= 0.02
    assert np.mean([(answer.low or 0) > truth for answer in found]) <= 0.06
    assert np.mean([(answer.high or 1) < truth for answer in found]) <= 0.06
    assert np.mean([answer.high - answer.low for answer in found if answer.low is not None]) <= 0.5


def test_calibrated_accuracy_of_few_rounds_says_which_rounds_are_too_few():
    answer = accuracy.Metric()(normal(30, stream_for(7)))
    assert (answer.low, answer.high) == (None, None)
    assert "15 rounds beside those that choose thresholds are too few; at least 20" in answer.reason


def test_uninformative_scores_have_no_advantage():
    rng = stream_for(25)
    found = [advantage.Metric()(trials(coins(500, rng), rng.normal(size=500))) for _ in range(500)]
    assert abs(np.mean([answer.value for answer in found])) < 0.01  # an in-sample optimum would show .05
    assert np.mean([answer.low > 0 for answer in found]) <= 0.05


def test_shared_cells_are_counted_by_round():
    answer = auc.Metric()(shared_cell(60, 10, 1.0, stream_for(26)))
    assert answer.low < answer.value < answer.high


def test_own_accuracy_is_the_mean_over_targets_of_both_rates():
    rows = normal(60, stream_for(40), 3)
    says_member = rows.scores >= SHIFT / 2
    by_hand = []
    for target in range(3):
        own = rows.targets == target
        hits = says_member[own & rows.members].mean()
        silences = (~says_member)[own & ~rows.members].mean()
        by_hand.append((hits + silences) / 2)
    assert accuracy_own.Metric()(rows).value == pytest.approx(np.mean(by_hand))
    assert accuracy_worst.Metric()(rows).value == pytest.approx(max(by_hand))


def test_own_accuracy_needs_a_threshold_and_takes_no_other():
    rows = normal(200, stream_for(41))
    without = trials(rows.members, rows.scores)
    assert accuracy_own.Metric()(without).value is None
    assert "no threshold" in accuracy_own.Metric()(without).reason
    badly_placed = trials(rows.members, rows.scores, Reading(threshold=9.0))
    assert accuracy_own.Metric()(badly_placed).value == 0.5  # calibrated it would be right 73 % of the time
    assert accuracy.Metric()(badly_placed).value > 0.65


@pytest.mark.parametrize(("n_targets", "together"), [(1, 0.0), (6, 0.7)])
def test_own_accuracy_intervals_hold(n_targets, together):
    rng = stream_for(42, n_targets)
    found = [accuracy_own.Metric()(normal(80, rng, n_targets, together)) for _ in range(300)]
    outside = [not answer.low <= TRUTH["accuracy"] <= answer.high for answer in found]
    assert np.mean(outside) <= 0.08  # 24 of 300 or more: 1 chance in 60 if 5 % is exact
    assert np.median([answer.high - answer.low for answer in found]) < 0.25


@pytest.mark.parametrize(("n_targets", "together", "n_audits"), [(20, 0.3, 200), (100, 0.0, 100)])
def test_worst_target_interval_holds_for_all_targets_together(n_targets, together, n_audits):
    """All targets are equally exposed: the largest value is luck, its lower bound is not.

    Without the correction for targets the lower bound of one in 100 would be too high in a fifth of audits.
    """
    rng = stream_for(43, n_targets)
    found = [accuracy_worst.Metric()(normal(100, rng, n_targets, together)) for _ in range(n_audits)]
    assert np.mean([answer.value > TRUTH["accuracy"] + 0.05 for answer in found]) > 0.9
    assert np.mean([answer.low > TRUTH["accuracy"] for answer in found]) <= 0.05
    assert np.mean([answer.high < TRUTH["accuracy"] for answer in found]) <= 0.05


def test_worst_target_is_found():
    rng = stream_for(44)
    rows = normal(600, rng, 10)
    exposed = rows.targets == 7
    scores = np.where(exposed, np.where(rows.members, 9.0, -9.0), rows.scores)
    answer = accuracy_worst.Metric()(trials(rows.members, scores, rows.reading, n_targets=10))
    assert (answer.value, answer.high) == (1.0, 1.0)
    assert answer.low > 0.95


def test_worst_target_without_an_own_threshold_is_not_chosen_on_counted_rounds():
    """Scores without information: a threshold fitted to the counted rounds would look right."""
    rng = stream_for(45)
    found = []
    for _ in range(100):
        members = coins(60 * 5, rng)
        found.append(accuracy_worst.Metric()(trials(members, rng.normal(size=300), n_targets=5)))
    assert np.mean([answer.low > 0.5 for answer in found]) <= 0.05


def test_a_target_that_is_always_in_may_be_the_worst():
    rows = normal(100, stream_for(47), 3)
    always = rows.targets == 1
    answer = accuracy_worst.Metric()(trials(rows.members | always, rows.scores, rows.reading, n_targets=3))
    assert (answer.high, answer.reason) == (1.0, "1 targets were never members, or always")


def test_worst_target_needs_targets_in_several_rounds():
    rows = normal(1, stream_for(46), 40)
    with pytest.raises(BadInput, match="every target is in one round"):
        accuracy_worst.Metric()(rows)


def test_rare_bad_repeats_do_not_make_the_lower_bound_too_high():
    """One repeat of an experiment in a hundred goes completely wrong; with Student's t a third failed."""
    rng, members = np.random.default_rng(20240503), np.tile(np.arange(120) < 60, (100, 1))
    rounds, too_high = np.indices(members.shape)[0].ravel(), 0
    for _ in range(100):
        right = np.broadcast_to(rng.random((100, 1)) >= 0.01, members.shape)
        scores = np.where(members == right, 1.0, -1.0).ravel()
        trials = Trials(
            rounds, np.zeros_like(rounds), members.ravel(), scores, Coins.GIVEN, Reading(threshold=0.0)
        )
        too_high += accuracy_own.Metric(confidence=0.9)(trials).low > 0.99
    assert too_high <= 10
