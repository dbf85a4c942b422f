from leakgauge.pages.metric_tables import MOST_REASONS, MOST_ROWS, metric_tables


def test_a_cell_holds_value_interval_and_bound(make):
    table = metric_tables([make()])
    assert "70.1%<small>68.1% to 72.2%</small><small>allowed 73.1%</small>" in table
    assert "≥ 0.765<small>allowed 1</small>" in table


def test_what_lies_above_its_bound_is_said_in_words_not_in_colour_alone(make):
    table = metric_tables([make("violated")])
    assert '<td class="n beyond">≥ 1.43<small>exceeds 1</small>' in table
    assert "<small>exceeds 73.1%</small>" in table


def test_a_missing_interval_has_a_footnote_with_its_reason(make, make_estimate):
    verdict = make(metrics={"accuracy": make_estimate(0.6, reason="too few <rounds>")}, bounds={})
    table = metric_tables([verdict, make("undecided")])
    assert "60.0%<small>no interval<sup>1</sup></small>" in table
    assert "<li>too few &lt;rounds&gt;</li>" in table
    assert "<sup>2</sup>" in table


def test_reasons_are_many_but_not_endless(make, make_estimate):
    verdicts = [make(metrics={"auc": make_estimate(None, reason=f"reason {n}")}) for n in range(60)]
    table = metric_tables(verdicts)
    assert table.count("<li>") == MOST_REASONS
    assert "verdicts.json holds it" in table


def test_means_are_shown_only_where_there_are_several_targets(make, make_estimate):
    metrics = {"auc": make_estimate(0.7, 0.6, 0.8), "auc_mean": make_estimate(0.71, 0.6, 0.8)}
    assert "mean of targets" not in metric_tables([make(metrics=metrics)])
    assert "mean of targets" in metric_tables([make(metrics=metrics, n_targets=2)])


def test_a_table_is_cut_and_says_so(make):
    table = metric_tables([make(audit=f"a{n}") for n in range(MOST_ROWS + 1)])
    assert table.count('<th scope="row">') == 2 * MOST_ROWS  # the main table and the further metrics
    assert f"{MOST_ROWS} most telling of {MOST_ROWS + 1} adversaries" in table
