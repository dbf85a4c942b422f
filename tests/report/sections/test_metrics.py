import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import metrics as sections_metrics
from leakgauge.report.sections.metrics import MOST_REASONS, MOST_ROWS, metric_tables
from leakgauge.verdict import Finding


def test_cell_has_value_interval_and_bound(make):
    table = metric_tables([make()])
    assert "70.1%<small>68.1% to 72.2%</small><small>allowed 73.1%</small>" in table
    assert "≥ 0.765<small>allowed 1 per person</small>" in table


def test_exceeded_bound_is_marked_in_words(make):
    table = metric_tables([make("violated")])
    assert '<td class="n beyond">≥ 1.43<small>exceeds 1 per person</small>' in table
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
    assert f"{MOST_ROWS} most important of {MOST_ROWS + 1} attackers" in table


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


def test_weak_promises_and_unknown_bounds_are_not_drawn(make, make_estimate, section):
    refused = make_estimate(None, reason="given coins")
    assert section(make(metrics={"epsilon": refused, "auc": refused})).charts == ()
    assert section(make(bounds={"epsilon": 38.0})).charts == ()


def test_bounds_that_limit_nothing_are_not_shown(make, plain):
    weak = make(bounds={"epsilon": 38.0, "accuracy": 1 - 1e-13, "auc": 1 - 1e-13})
    text = plain(metric_tables([weak]))
    assert "allowed 38" not in text
    assert "99.999" not in text


def test_uncorrected_exceedance_is_explained(make, section, plain):
    unlucky = make("violated", finding=Finding.NOT_VIOLATED)
    assert "but not after the correction" in plain(section(unlucky).html)
    assert "but not after the correction" not in plain(section(make("violated"), make()).html)


def test_truncated_chart_is_marked(make, section):
    charts = section(*(make(audit=f"a{n}") for n in range(200))).charts
    assert len(rows(charts[0])) == sections_metrics.MOST_BARS
    assert f"the {sections_metrics.MOST_BARS} most important of 200 attackers" in charts[0].caption


def test_tables_have_means_and_pooled_numbers(make, make_estimate, section, plain):
    metrics = {"auc": make_estimate(0.775, 0.7, 0.8), "auc_mean": make_estimate(0.917, 0.9, 0.93)}
    text = plain(section(make(n_targets=5, metrics=metrics)).html)
    assert (
        text.index("0.917 0.900 to 0.930")
        < text.index("Further numbers")
        < text.index("0.775 0.700 to 0.800")
    )
