"""Intervals over random splits of the people, whose rounds are not independent of one another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee import low_fpr
from leakgauge.referee.accuracy_difference import accuracy_difference
from leakgauge.referee.confidence_sequence import sequence_estimate
from leakgauge.referee.jackknife import splits_as_rounds
from leakgauge.referee.metrics import (
    accuracy,
    accuracy_mean,
    accuracy_own,
    accuracy_worst,
    auc,
    auc_mean,
    tnr,
    tpr,
    tpr_at_fpr,
    tpr_at_fpr_mean,
)
from leakgauge.referee.metrics.auc_mean import _jackknife_mean_auc
from leakgauge.referee.thresholds import calibrated_decisions, jackknife_mean_accuracy

SHIFT = 1.5
SHARES = (0.1, 0.3, 0.6)  # of the variance of scores that splits make
TRUTH = {
    auc: ndtr(SHIFT / np.sqrt(2)),
    auc_mean: ndtr(SHIFT / np.sqrt(2)),
    tpr: ndtr(SHIFT / 2),
    tnr: ndtr(SHIFT / 2),
    accuracy_own: ndtr(SHIFT / 2),
}


def split_trials(share, rng, n_splits=12, n_rounds=600, n_targets=1):
    """Normal scores of variance 1, of which each split moves those of each target by a normal amount."""
    rounds = np.repeat(np.arange(n_rounds), n_targets)
    targets = np.tile(np.arange(n_targets), n_rounds)
    members = rng.random(rounds.size) < 0.5
    moved = rng.normal(size=(n_splits, n_targets))[rounds % n_splits, targets]
    scores = SHIFT * members + np.sqrt(share) * moved + np.sqrt(1 - share) * rng.normal(size=rounds.size)
    reading = Reading(threshold=SHIFT / 2)
    return Trials(rounds, targets, members, scores, Coins.FAIR, reading, splits=rounds % n_splits)


def coverage(metric, truth, share, n, rng, *, over_splits=True, **size):
    hits = 0
    for _ in range(n):
        rows = split_trials(share, rng, **size)
        answer = metric.Metric()(rows if over_splits else replace(rows, splits=None))
        hits += answer.low <= truth <= answer.high
    return hits / n


@pytest.mark.parametrize(("share", "with_rounds"), [(0.1, 0.9), (0.3, 0.75), (0.6, 0.6)])
def test_intervals_over_splits_cover_and_those_over_rounds_do_not(share, with_rounds):
    rng = np.random.default_rng([int(10 * share), 1])
    assert coverage(tpr, TRUTH[tpr], share, 150, rng) >= 0.88  # about .94; 1 chance in 300
    assert coverage(tpr, TRUTH[tpr], share, 100, rng, over_splits=False) <= with_rounds


@pytest.mark.nightly
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("metric", list(TRUTH))
def test_intervals_over_splits_cover_in_many_repetitions(metric, share):
    """With one target and most of the variance between splits, rates are skewed, and 12 splits are few."""
    rng = np.random.default_rng([int(10 * share), 2])
    alone = coverage(metric, TRUTH[metric], share, 1_000, rng)
    many = coverage(metric, TRUTH[metric], share, 1_000, rng, n_rounds=240, n_targets=10)
    assert alone >= (0.91 if share > 0.5 else 0.93)
    assert many >= 0.93


@pytest.mark.parametrize("statistic", [_jackknife_mean_auc, auc._jackknife_auc, jackknife_mean_accuracy])
def test_statistic_without_a_split_is_that_of_the_others(statistic):
    rows = split_trials(0.3, np.random.default_rng(3), n_splits=4, n_rounds=61, n_targets=3)
    says_member = rows.scores >= SHIFT / 2

    def compute(some, said):
        return statistic(some, said) if statistic is jackknife_mean_accuracy else statistic(some)

    whole = compute(splits_as_rounds(rows), says_member)
    for split in range(4):
        others = rows.splits != split
        value = compute(rows.where(others), says_member[others]).value
        assert whole.values[split] == pytest.approx(value, abs=1e-12)


def test_rate_at_low_fpr_without_a_split_is_that_of_the_others():
    rows = split_trials(0.3, np.random.default_rng(4), n_splits=5, n_rounds=100)
    found = low_fpr.jackknife_tpr_at(splits_as_rounds(rows), 0.1)
    for split in range(5):
        rest = rows.where(rows.splits != split)
        assert found[split] == low_fpr.tpr_at(rest.scores, rest.members, 0.1)


def test_threshold_of_a_split_does_not_depend_on_its_own_rounds():
    rows = split_trials(0.3, np.random.default_rng(5), n_splits=3, n_rounds=90)
    zeros = np.zeros(len(rows), np.int64)
    said, counted = calibrated_decisions(rows, zeros)
    assert counted.all()
    here = rows.splits == 1
    flipped = replace(rows, members=np.where(here, ~rows.members, rows.members))
    again, _ = calibrated_decisions(flipped, zeros)
    np.testing.assert_array_equal(said[here], again[here])


def test_calibrated_accuracy_of_scores_that_say_nothing_is_one_half():
    rng = np.random.default_rng(6)
    found = []
    for _ in range(150):
        rows = split_trials(0.5, rng, n_rounds=120)
        blind = replace(rows, members=rng.random(len(rows)) < 0.5)
        found.append(accuracy.Metric()(blind).value)
    assert abs(np.mean(found) - 0.5) < 4 * np.std(found) / np.sqrt(150)


@pytest.mark.parametrize(
    ("n_splits", "words"),
    [
        (1, ", for this split of the people"),
        (9, ", for these 9 splits of the people"),
        (10, ", widened by Student's t over 10 splits of the people"),
    ],
)
@pytest.mark.parametrize(
    "metric",
    [accuracy, accuracy_mean, accuracy_own, accuracy_worst, auc, auc_mean, tpr, tpr_at_fpr, tpr_at_fpr_mean],
)
def test_words_say_what_the_interval_holds_for(metric, n_splits, words):
    rows = split_trials(0.3, np.random.default_rng(7), n_splits=n_splits, n_rounds=200, n_targets=2)
    answer = metric.Metric()(rows)
    assert answer.method.endswith(words)
    assert answer.low <= answer.value <= answer.high
    assert "split" not in metric.Metric()(replace(rows, splits=None)).method


@pytest.mark.parametrize("metric", [accuracy_own, accuracy_worst, auc, auc_mean, tpr, tpr_at_fpr])
def test_few_splits_leave_the_interval_over_rounds(metric):
    rows = split_trials(0.6, np.random.default_rng(8), n_splits=9, n_targets=2)
    found, without = metric.Metric()(rows), metric.Metric()(replace(rows, splits=None))
    assert (found.low, found.high) == (without.low, without.high)


@pytest.mark.parametrize("metric", [accuracy_own, accuracy_worst, auc, auc_mean, tpr, tpr_at_fpr])
def test_enough_splits_never_narrow_an_interval(metric):
    rows = split_trials(0.6, np.random.default_rng(8), n_targets=2)
    found, without = metric.Metric()(rows), metric.Metric()(replace(rows, splits=None))
    assert found.value == without.value
    assert found.low <= without.low
    assert found.high >= without.high
    if metric in (tpr, auc, accuracy_own):
        assert found.high - found.low > 1.2 * (without.high - without.low)


def test_splits_widen_the_difference_to_another_run():
    new, old = (split_trials(0.6, np.random.default_rng(seed)) for seed in (9, 9))
    old = replace(old, scores=old.scores - 0.4 * np.random.default_rng(1).normal(size=12)[old.splits])
    wide = accuracy_difference(new, old, 0.95)
    narrow = accuracy_difference(replace(new, splits=None), replace(old, splits=None), 0.95)
    assert wide.value == narrow.value
    assert wide.high - wide.low > narrow.high - narrow.low


def test_bounds_for_any_time_hold_for_these_splits():
    rows = split_trials(0.1, np.random.default_rng(10))
    answer = sequence_estimate(rows, rows.scores >= SHIFT / 2, 0.95, "right decisions")
    assert answer.method.endswith("for these 12 splits of the people")


SKEWED = {
    "works in one split of ten": (lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, 0.5), 0.55),
    "fails in one split of ten": (lambda rng, n: np.where(rng.random(n) < 0.1, 0.5, 0.9), 0.86),
    "long tail": (lambda rng, n: 0.5 + 0.5 * rng.beta(0.3, 2.7, n), 0.55),
}


def right_answers(rng, accuracies, n_rounds):
    """Answers of +1 or -1, right with the chance of the split of their round."""
    rounds, splits = np.arange(n_rounds), np.arange(n_rounds) % accuracies.size
    members, right = rng.random(n_rounds) < 0.5, rng.random(n_rounds) < accuracies[splits]
    scores = np.where(members == right, 1.0, -1.0)
    return Trials(rounds, 0 * rounds, members, scores, Coins.FAIR, Reading(threshold=0.0), splits=splits)


def missed(kind, n, rng, n_splits, n_rounds):
    """How often the upper ends are below the truth, each with a chance of 5 % allowed."""
    law, truth = SKEWED[kind]
    found = []
    for _ in range(n):
        answer = accuracy_own.Metric(confidence=0.9)(right_answers(rng, law(rng, n_splits), n_rounds))
        found.append((answer.high < truth, answer.high_any_split < truth))
    return np.mean(found, axis=0)


def test_upper_bound_for_any_split_holds_where_students_t_does_not():
    interval, any_split = missed("works in one split of ten", 120, np.random.default_rng(11), 12, 600)
    assert interval > 0.08  # about .2
    assert any_split <= 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("n_splits", [10, 20, 50])
@pytest.mark.parametrize("kind", list(SKEWED))
def test_upper_bound_for_any_split_holds_in_many_repetitions(kind, n_splits):
    _, any_split = missed(kind, 600, np.random.default_rng([12, n_splits]), n_splits, 600)
    assert any_split <= 0.075  # 1 chance in 300 at 5 %


def test_upper_bound_for_any_split_needs_many_splits_and_gets_low_with_them():
    """If nothing varies, it is that of as many answers as splits, one of which may be the worst."""
    for n_splits in (12, 60):
        answer = accuracy_own.Metric(confidence=0.9)(
            right_answers(np.random.default_rng(13), np.full(n_splits, 0.5), 60_000)
        )
        assert answer.high_any_split == pytest.approx(0.5 + 0.5 * (1 - 0.05 ** (1 / n_splits)), abs=0.01)
        assert answer.high < 0.51
