from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from known_trials import trials
from leakgauge.core.game import Coins, Reading
from leakgauge.referee.metric_evaluation import (
    ONE_RELEASE_REASON,
    ONE_RELEASE_SCOPE,
    evaluate,
    evaluate_rate,
    is_of_one_release,
    is_one_release,
    rate_metrics,
)
from leakgauge.referee.metrics import auc, epsilon_one_run
from night import others_at_night


def test_rejected_metric_has_a_reason():
    answer = evaluate(auc.Metric(), trials(np.ones(5, bool), np.arange(5)), 0.95)
    assert answer.value is None
    assert "members and non-members" in answer.reason


def test_variants_have_own_names():
    names = set(rate_metrics())
    assert {"tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001_mean", "auc"} <= names
    assert "tpr_at_fpr" not in names
    assert rate_metrics()["tpr_at_fpr_0.01"](confidence=0.9).fpr == 0.01


def test_in_sample_optimum_is_computed_on_request():
    both = {"advantage_in_sample", "advantage_in_sample_null"}
    assert not both & set(rate_metrics())
    assert set(rate_metrics(["in_sample"])) == set(rate_metrics()) | both
    assert {"advantage_own", "advantage_per_release"} <= set(rate_metrics())


POOLED = {name for name, metric in rate_metrics().items() if metric().pools_trials}
SHIFT = 1.0  # members score this much higher, in standard deviations
OWN = Reading(threshold=SHIFT / 2)
TRUTH = {
    "auc": ndtr(SHIFT / np.sqrt(2)),
    "accuracy": ndtr(SHIFT / 2),  # of the best threshold; one chosen on few records is a little worse
    "advantage": 2 * ndtr(SHIFT / 2) - 1,
    "advantage_own": 2 * ndtr(SHIFT / 2) - 1,
    "tpr": ndtr(SHIFT / 2),
    "tnr": ndtr(SHIFT / 2),
    "tpr_at_fpr_0.1": ndtr(SHIFT + ndtri(0.1)),
    "tpr_at_fpr_0.01": ndtr(SHIFT + ndtri(0.01)),
}


def one_release(n, rng, shift=SHIFT, share=0.5):
    """Normal scores of one release: the first ones are members."""
    members = np.arange(n) < share * n
    return trials(members, rng.normal(members * shift), OWN, Coins.GIVEN, n_targets=n)


def asked(name, found):
    return evaluate_rate(rate_metrics()[name](confidence=0.95), found, 0.95)


def test_per_target_and_per_release_metrics_do_not_pool_trials():
    assert {
        *("accuracy", "accuracy_own", "advantage", "advantage_own", "auc", "tnr", "tpr"),
        *("tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001"),
    } == POOLED


def test_single_release_intervals_are_over_records():
    found = one_release(400, np.random.default_rng(0))
    assert evaluate(auc.Metric(), found, 0.95).low is None
    for name in sorted(POOLED):
        answer = asked(name, found)
        assert answer.low <= answer.value < answer.high
        assert answer.method.endswith(ONE_RELEASE_SCOPE)
        assert "round" not in answer.method


@pytest.mark.parametrize(("coins", "needed"), [(Coins.GIVEN, 3), (Coins.FAIR, 30)])
def test_one_of_many_releases_has_a_value_and_no_interval(coins, needed):
    found = replace(one_release(400, np.random.default_rng(0)), coins=coins)
    for name in sorted(POOLED):
        answer, of_records = asked(name, replace(found, repeatable=True)), asked(name, found)
        assert (answer.low, answer.high, answer.high_any_split) == (None, None, None)
        assert answer.value == of_records.value
        assert answer.reason.endswith(f"others may differ; at least {needed} are needed")
        assert (is_of_one_release(answer), is_of_one_release(of_records)) == (False, True)


def test_value_uses_all_records():
    found = one_release(300, np.random.default_rng(1))
    scores, members = found.scores, found.members
    pairs = scores[members][:, None] > scores[~members]
    assert asked("auc", found).value == pytest.approx(pairs.mean(), rel=1e-12)
    assert asked("tpr", found).value == np.mean(scores[members] >= OWN.threshold)


def test_file_order_does_not_change_auc():
    rng = np.random.default_rng(2)
    found = one_release(1_000, rng)
    other = found.where(rng.permutation(1_000))
    assert asked("auc", other).low == pytest.approx(asked("auc", found).low, abs=1e-12)
    assert asked("accuracy", other).value == pytest.approx(asked("accuracy", found).value, abs=0.06)


def test_round_comparing_metrics_report_a_single_round():
    found = one_release(400, np.random.default_rng(3))
    for name in sorted(set(rate_metrics()) - POOLED):
        answer = asked(name, found)
        assert (answer.low, answer.high, answer.reason) == (None, None, ONE_RELEASE_REASON)


def test_few_records_have_no_interval():
    answer = asked("auc", one_release(20, np.random.default_rng(4)))
    assert answer.low is None
    assert answer.reason.startswith("no interval: 20 records")


def test_two_releases_are_left_to_the_metric():
    rng = np.random.default_rng(5)
    found = one_release(400, rng)
    two = replace(found, rounds=np.arange(400) % 2)
    assert not is_one_release(two)
    assert asked("auc", two) == evaluate(auc.Metric(), two, 0.95)
    assert not is_one_release(found.where(np.array([0])))


def test_single_release_has_epsilon_bound_only_if_randomised():
    found = one_release(400, np.random.default_rng(6))
    answer = evaluate(epsilon_one_run.Metric(), found, 0.95)
    assert (answer.value, answer.low) == (None, None)
    assert "included at random" in answer.reason
    assert evaluate(epsilon_one_run.Metric(), replace(found, coins=Coins.FAIR), 0.95).low > 0


# -- coverage and power --------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", others_at_night([0.5, 0.9], 0.9))
@pytest.mark.parametrize("name", list(TRUTH))
def test_record_interval_covers_at_nominal_rate(name, share):
    """Three standard errors of 400 repeats are allowed above 5 %; the truth is that of two normal laws."""
    rng, repeats = np.random.default_rng([7, len(name)]), 400
    answers = [asked(name, one_release(1_000, rng, share=share)) for _ in range(repeats)]
    missed = np.mean([not answer.low <= TRUTH[name] <= answer.high for answer in answers])
    assert missed <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_weak_leak_is_found_in_2000_records():
    """AUC .556: 4 standard errors above one half with 1,000 records of each (Hanley and McNeil 1982)."""
    rng = np.random.default_rng(8)
    weak = [asked("auc", one_release(2_000, rng, shift=0.2)) for _ in range(200)]
    assert np.mean([answer.low > 0.5 for answer in weak]) >= 0.95
    assert np.median([answer.high - answer.low for answer in weak]) <= 0.053  # 2 x 1.96 x .0129
    none = [asked("auc", one_release(2_000, rng, shift=0.0)) for _ in range(400)]
    assert np.mean([answer.low > 0.5 for answer in none]) <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 400)


def test_file_pattern_does_not_affect_halves():
    """Every second member is plain to see; were those to choose, all others would count, and be missed."""
    members = np.repeat([True, False], 400)
    scores = np.where(members, np.where(np.arange(800) % 2 == 0, 1.0, -1.0), 0.0)
    found = trials(members, scores, OWN, Coins.GIVEN, n_targets=800)
    assert asked("accuracy", found).value == pytest.approx(0.75, abs=0.05)
