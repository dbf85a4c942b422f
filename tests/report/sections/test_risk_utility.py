from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.risk_utility import section


def test_risk_stands_beside_utility_in_one_picture(make, plain):
    verdicts = [
        make(audit="a@epsilon=1", utility={"noisy": 0.25, "on_clean": 0.4, "clean": 0.7}),
        make(audit="a@epsilon=5", utility={"noisy": 0.55, "on_clean": 0.6, "clean": 0.7}),
    ]
    found = section(JudgedRun(verdicts, {}))
    text = plain(found.html)
    assert "25.0% 70.0%" in text
    assert "55.0% 70.0%" in text
    (chart,) = found.charts
    assert "where an honest user is right 25.0% of the time" in chart.alternative


def test_without_utility_there_is_no_such_section(make):
    assert section(JudgedRun([make()], {})) is None
