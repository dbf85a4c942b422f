import pytest

from leakgauge.report.run_report import JudgedRun
from leakgauge.report.sections import metrics as sections_metrics
from leakgauge.report.sections.metrics import MOST_REASONS, MOST_ROWS, metric_tables
from leakgauge.verdict import Finding


def test_cell_has_value_interval_and_bound(make):
    table = metric_tables([make()])
    assert "70.1%<small>68.1% to 72.2%</small><small>allowed 73.1%</small>" in table
    assert "≥ 0.765<small>allowed 1</small>" in table


def test_exceeded_bound_is_marked_in_words(make):
    table = metric_tables([make("violated")])
    assert '<td class="n beyond">≥ 1.43<small>exceeds 1</small>' in table
    assert "<small>exceeds 73.1%</small>" in table


def test_missing_interval_has_a_footnote(make, make_estimate):
    verdict = make(metrics={"accuracy": make_estimate(0.6, reason="too few <rounds>")}, bounds={})
    table = metric_tables([verdict, make("undecided")])
    assert "60.0%<small>no interval<sup>1</sup></small>" in table
    assert "<li>too few &lt;rounds&gt;</li>" in table
    assert "<sup>2</sup>" in table


def test_footnotes_are_limited(make, make_estimate):
    verdicts = [make(metrics={"auc": make_estimate(None, reason=f"reason {n}")}) for n in range(60)]
    table = metric_tables(verdicts)
    assert table.count("<li>") == MOST_REASONS
    assert "verdicts.json holds it" in table


def test_means_need_several_targets(make, make_estimate):
    metrics = {"auc": make_estimate(0.7, 0.6, 0.8), "auc_mean": make_estimate(0.71, 0.6, 0.8)}
    assert "mean of targets" not in metric_tables([make(metrics=metrics)])
    assert "mean of targets" in metric_tables([make(metrics=metrics, n_targets=2)])


def test_truncated_table_is_marked(make):
    table = metric_tables([make(audit=f"a{n}") for n in range(MOST_ROWS + 1)])
    assert table.count('<th scope="row">') == 2 * MOST_ROWS  # the main table and the further metrics
    assert f"{MOST_ROWS} most telling of {MOST_ROWS + 1} adversaries" in table


@pytest.fixture
def section():
    return lambda *verdicts: sections_metrics.section(JudgedRun(verdicts, {}))


def rows(chart):
    return chart.spec["data"]["values"]


def test_epsilon_is_drawn_as_lower_bound_with_promise(make, section):
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


def test_unavailable_metrics_are_not_drawn(make, make_estimate, section):
    refused = make_estimate(None, reason="given coins")
    assert len(section(make(metrics={"epsilon": refused, "auc": refused})).charts) == 1


def test_uncorrected_exceedance_is_explained(make, section, plain):
    unlucky = make("violated", finding=Finding.NOT_VIOLATED)
    assert "some pass by chance" in plain(section(unlucky).html)
    assert "some pass by chance" not in plain(section(make("violated"), make()).html)


def test_truncated_chart_is_marked(make, section):
    charts = section(*(make(audit=f"a{n}") for n in range(200))).charts
    assert len(rows(charts[0])) == sections_metrics.MOST_BARS
    assert f"the {sections_metrics.MOST_BARS} most telling of 200 adversaries" in charts[0].caption


def test_means_are_drawn_and_tables_keep_both(make, make_estimate, section, plain):
    metrics = {"auc": make_estimate(0.775, 0.7, 0.8), "auc_mean": make_estimate(0.917, 0.9, 0.93)}
    found = section(make(n_targets=5, metrics=metrics))
    assert [(row["series"], row["value"]) for row in rows(found.charts[0])] == [
        ("AUC, mean of targets", 0.917)
    ]
    assert "0.917 0.900 to 0.930" in plain(found.html)
    assert "0.775 0.700 to 0.800" in plain(found.html)
