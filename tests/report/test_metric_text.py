import pytest

from leakgauge import catalog
from leakgauge.report.metric_text import (
    TABLE_METRICS,
    bound_end_text,
    describe_metric,
    exceeds_bound,
    has_worst_target,
    headline_metric,
    interval_text,
    metrics_in,
)


def test_main_table_metrics_exist():
    assert {name for names in TABLE_METRICS for name in names} <= set(catalog.metric_descriptions())


def test_undefined_metric_is_shown_by_name():
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
def test_interval_may_be_one_sided(make_estimate, low, high, text):
    assert interval_text("auc", make_estimate(0.75, low, high)) == text


def test_exceedance_needs_lower_end_and_bound(make, make_estimate):
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


def test_mean_represents_several_targets(make, pooled_and_mean):
    verdict = make(n_targets=5, metrics=pooled_and_mean)
    assert headline_metric(verdict, "accuracy") == "accuracy_mean"
    assert metrics_in([verdict]) == {"accuracy", "accuracy_mean"}


def test_single_target_has_no_mean(make, pooled_and_mean):
    verdict = make(n_targets=1, metrics=pooled_and_mean)
    assert headline_metric(verdict, "accuracy") == "accuracy"
    assert metrics_in([verdict]) == {"accuracy"}


@pytest.mark.parametrize(("n_targets", "shown"), [(5, True), (1, False)])
def test_one_number_of_a_single_target_has_one_interval(make, make_estimate, n_targets, shown):
    same = {"accuracy_own": make_estimate(0.7, 0.68, 0.72), "accuracy_worst": make_estimate(0.7, 0.65, 0.75)}
    verdict = make(n_targets=n_targets, metrics=same)
    assert has_worst_target(verdict) is shown
    assert ("accuracy_worst" in metrics_in([verdict])) is shown


def test_bound_is_seen_on_its_side_of_the_limit():
    assert bound_end_text("accuracy", low=0.600004, limit=0.6) == "60.0004%"
    assert bound_end_text("accuracy", high=0.599996, limit=0.6) == "59.9996%"
    assert bound_end_text("auc", high=0.64999, limit=0.65) == "0.64999"


def test_pooled_value_replaces_missing_mean(make, make_estimate, pooled_and_mean):
    refused = {**pooled_and_mean, "accuracy_mean": make_estimate(None, reason="too few rounds")}
    for metrics in (refused, {"accuracy": pooled_and_mean["accuracy"]}):
        assert headline_metric(make(n_targets=5, metrics=metrics), "accuracy") == "accuracy"


def test_metric_without_mean_represents_itself(make):
    assert headline_metric(make("many targets"), "epsilon") == "epsilon"
