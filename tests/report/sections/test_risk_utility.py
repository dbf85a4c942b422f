import json

from leakgauge.limits import Limits
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.risk_utility import section, utility_rows, utility_sentence
from leakgauge.summary import summarise_run


def test_risk_and_utility_share_a_chart(make, plain):
    verdicts = [
        make(domain="federated", audit="a@epsilon=1", utility={"noisy": 0.25, "on_clean": 0.4, "clean": 0.7}),
        make(domain="federated", audit="a@epsilon=5", utility={"noisy": 0.55, "on_clean": 0.6, "clean": 0.7}),
    ]
    found = section(JudgedRun(verdicts, {}))
    text = plain(found.html)
    assert "Classifier right Without noise" in text
    assert "25.0% 70.0%" in text
    assert "55.0% 70.0%" in text
    (chart,) = found.charts
    assert "at classifier right 25.0%" in chart.alternative
    assert "A good setting is far to the right and low" in text


def test_position_uses_preferred_measure(make):
    def place(**utility):
        (chart,) = section(JudgedRun([make(domain="models", utility=utility)], {})).charts
        return chart.alternative

    assert "model right about others 61.0%" in place(members=0.9, others=0.61)
    assert "model right about validation rows 62.0%" in place(members=0.9, others=0.61, validation=0.62)


COUNTS = {"mean_absolute_error": 1.5, "relative_error": 1.25, "top_places": 0.95}


def test_risk_is_drawn_against_the_error_of_a_count(make, plain):
    verdicts = [
        make(domain="locations", audit="a@epsilon=1", utility=COUNTS),
        make(domain="locations", audit="a@epsilon=5", utility=COUNTS | {"mean_absolute_error": 0.25}),
    ]
    found = section(JudgedRun(verdicts, {}))
    text = plain(found.html)
    assert "Mean error of a count Relative error Top places found" in text
    assert "1.50 125.0% 95.0%" in text
    assert "A good setting is far to the left and low" in text
    (chart,) = found.charts
    assert "at mean error of a count 0.250; " in chart.alternative
    assert chart.caption == "Risk against error; whiskers are intervals, where there are any."


def test_chart_begins_at_zero_and_shows_the_limit_of_the_owner(make, plain):
    verdict = make(domain="locations", utility=COUNTS | {"mean_absolute_error": 0.3})
    summary = summarise_run([verdict], limits=Limits(metrics={"accuracy": 0.6}))
    found = section(JudgedRun([verdict], {"summary": summary}))
    (chart,) = found.charts
    assert chart.alternative.endswith("; your limit: 60%")
    assert "your limit" in [key.label for key in chart.keys]
    drawn = json.dumps(chart.spec)
    assert '"domain": [0.0, 0.324' in drawn
    assert '{"value": 0.6}' in drawn
    assert "and low, below your limit." in plain(found.html)
    (unlimited,) = section(JudgedRun([verdict], {})).charts
    assert "limit" not in unlimited.alternative


def test_kinds_of_release_with_other_measures_share_no_axis(make):
    verdicts = [
        make(domain="locations", audit="a", label="count", utility=COUNTS),
        make(domain="federated", audit="b", label="client", utility={"noisy": 0.25}),
    ]
    (chart,) = section(JudgedRun(verdicts, {})).charts
    assert ("count: " in chart.alternative) != ("client: " in chart.alternative)


def test_terminal_has_a_sentence_and_a_table(make):
    assert utility_sentence("locations", COUNTS) == (
        "a count is off by 1.50 on average, by 125.0% of it in cells with a count above 0, 95.0% of the top "
        "places (20, or half of fewer than 40) are found."
    )
    assert utility_sentence("models", {"others": 0.5}) == utility_sentence("scores", COUNTS) == ""
    titles, rows = utility_rows([make(domain="locations", utility=COUNTS), make(domain="blackbox")])
    assert titles == ["Mean error of a count", "Relative error", "Top places found"]
    assert [row[1:] for row in rows] == [["1.50", "125.0%", "95.0%"]]


def test_settings_of_one_sweep_go_by_what_was_swept(make):
    of_two = [make(domain="locations", audit=f"a@epsilon={n}", utility=COUNTS) for n in (1, 5)]
    assert [row[0] for row in utility_rows(of_two)[1]] == ["epsilon=1", "epsilon=5"]
    mixed = [*of_two, make(domain="locations", audit="b", utility=COUNTS)]
    assert [row[0] for row in utility_rows(mixed)[1]] == ["a@epsilon=1", "a@epsilon=5", "b"]


def test_no_section_without_preferred_measure(make):
    assert section(JudgedRun([make(domain="models", utility={"members": 0.9})], {})) is None
    assert section(JudgedRun([make(domain="scores", utility={"others": 0.9})], {})) is None
    assert section(JudgedRun([make()], {})) is None
