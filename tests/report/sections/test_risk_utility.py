from leakgauge.report.run_report import JudgedRun
from leakgauge.report.sections.risk_utility import section


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
    assert "where an honest user is right 25.0% of the time" in chart.alternative


def test_position_uses_preferred_measure(make):
    def place(**utility):
        (chart,) = section(JudgedRun([make(domain="models", utility=utility)], {})).charts
        return chart.alternative

    assert "right 61.0% of the time" in place(members=0.9, others=0.61)
    assert "right 62.0% of the time" in place(members=0.9, others=0.61, validation=0.62)


def test_no_section_without_preferred_measure(make):
    assert section(JudgedRun([make(domain="models", utility={"members": 0.9})], {})) is None
    assert section(JudgedRun([make(domain="scores", utility={"others": 0.9})], {})) is None
    assert section(JudgedRun([make()], {})) is None
