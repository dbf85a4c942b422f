import pytest

from leakgauge import catalog
from leakgauge.report.metric_text import (
    TABLE_METRICS,
    averaged_note,
    describe_metric,
    exceeds_bound,
    headline_metric,
    interval_text,
    metrics_in,
)


def test_the_main_table_has_metrics_that_exist():
    assert set(TABLE_METRICS) <= set(catalog.metric_descriptions())


def test_a_metric_that_no_file_defines_goes_by_its_name():
    assert describe_metric("loss").title == "loss"
    assert describe_metric("loss").mean_of is None


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.7, 0.8, "0.700 to 0.800"),
        (0.7, None, "at least 0.700"),
        (None, 0.8, "at most 0.800"),
        (None, None, "no interval"),
    ],
)
def test_an_interval_may_lack_an_end(make_estimate, low, high, text):
    assert interval_text("auc", make_estimate(0.75, low, high)) == text


def test_a_low_end_exceeds_its_bound_only_where_both_are_known(make, make_estimate):
    metrics = {
        "auc": make_estimate(0.9, 0.8),
        "accuracy": make_estimate(0.9),
        "advantage": make_estimate(1.0, 0.9),
    }
    verdict = make(metrics=metrics, bounds={"auc": 0.7, "accuracy": 0.5, "advantage": None, "epsilon": 0.0})
    assert [name for name in (*metrics, "epsilon") if exceeds_bound(verdict, name)] == ["auc"]


@pytest.fixture
def pooled_and_mean(make_estimate):
    return {"accuracy": make_estimate(0.6, 0.5, 0.7), "accuracy_mean": make_estimate(0.9, 0.8, 0.95)}


def test_the_mean_of_targets_stands_for_an_adversary_of_several(make, pooled_and_mean):
    verdict = make(n_targets=5, metrics=pooled_and_mean)
    assert headline_metric(verdict, "accuracy") == "accuracy_mean"
    assert averaged_note(verdict, "accuracy") == " on average over the targets"
    assert metrics_in([verdict]) == {"accuracy", "accuracy_mean"}


def test_one_target_has_no_mean(make, pooled_and_mean):
    verdict = make(n_targets=1, metrics=pooled_and_mean)
    assert headline_metric(verdict, "accuracy") == "accuracy"
    assert averaged_note(verdict, "accuracy") == ""
    assert metrics_in([verdict]) == {"accuracy"}


def test_all_targets_together_have_to_do_where_none_could_be_judged_alone(
    make, make_estimate, pooled_and_mean
):
    refused = {**pooled_and_mean, "accuracy_mean": make_estimate(None, reason="too few rounds")}
    for metrics in (refused, {"accuracy": pooled_and_mean["accuracy"]}):
        assert headline_metric(make(n_targets=5, metrics=metrics), "accuracy") == "accuracy"


def test_a_metric_that_has_no_mean_stands_for_itself(make):
    assert headline_metric(make("many targets"), "epsilon") == "epsilon"
