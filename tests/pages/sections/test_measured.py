import pytest

from leakgauge.pages.judged import Judged
from leakgauge.pages.sections import measured
from leakgauge.verdict import Finding


@pytest.fixture
def section():
    return lambda *verdicts: measured.section(Judged(verdicts, {}))


def rows(chart):
    return chart.spec["data"]["values"]


def test_epsilon_is_drawn_as_a_lower_bound_beside_its_promise(make, section):
    chart = section(make("violated"), make()).charts[0]
    assert [(row["label"], row["value"], row["low"], row["allowed"]) for row in rows(chart)] == [
        ("learned-event", None, 1.4399, 1.0),
        ("likelihood-auxiliary", None, 0.7654, 1.0),
    ]
    assert "learned-event, ε shown: at least 1.43, allowed 1" in chart.alternative


def test_rates_are_drawn_with_intervals_and_bounds(make, section):
    chart = section(make()).charts[1]
    assert [(row["series"], row["low"], row["high"], row["allowed"]) for row in rows(chart)] == [
        ("Accuracy", 0.6811, 0.7213, 0.7311),
        ("AUC", 0.6887, 0.7315, 0.7311),
        ("Hits at 1% false alarms", 0.0141, 0.0447, 0.02718),
    ]
    assert rows(chart)[0]["shown"] == "70.1% (68.1% to 72.2%), 95% confidence"


def test_metrics_that_could_not_be_measured_are_not_drawn(make, make_estimate, section):
    refused = make_estimate(None, reason="given coins")
    assert len(section(make(metrics={"epsilon": refused, "auc": refused})).charts) == 1


def test_an_interval_that_passes_alone_is_explained(make, section, plain):
    unlucky = make("violated", finding=Finding.NOT_VIOLATED)
    assert "some pass by chance" in plain(section(unlucky).html)
    assert "some pass by chance" not in plain(section(make("violated"), make()).html)


def test_many_verdicts_are_cut_and_the_chart_says_so(make, section):
    charts = section(*(make(audit=f"a{n}") for n in range(200))).charts
    assert len(rows(charts[0])) == measured.MOST_BARS
    assert f"the {measured.MOST_BARS} most telling of 200 adversaries" in charts[0].caption


def test_of_several_targets_the_means_are_drawn_and_the_tables_keep_both(make, make_estimate, section, plain):
    metrics = {"auc": make_estimate(0.775, 0.7, 0.8), "auc_mean": make_estimate(0.917, 0.9, 0.93)}
    found = section(make(n_targets=5, metrics=metrics))
    assert [(row["series"], row["value"]) for row in rows(found.charts[0])] == [
        ("AUC, mean of targets", 0.917)
    ]
    assert "0.917 0.900 to 0.930" in plain(found.html)
    assert "0.775 0.700 to 0.800" in plain(found.html)
