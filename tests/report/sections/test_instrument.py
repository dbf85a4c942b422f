import pytest

from leakgauge.report.run_report import JudgedRun
from leakgauge.report.sections.instrument import section


@pytest.fixture
def read(plain):
    return lambda *verdicts: plain(section(JudgedRun(verdicts, {})).html)


def test_false_alarms_and_smallest_leak_are_shown(make, read):
    text = read(make())
    assert "likelihood-auxiliary 3.5% 1.4% to 7.1% 0.171 81.5% 1.22" in text
    assert "The share of 200 repetitions" in text
    assert "At 95% confidence it should be no more than about 5%." in text


def test_unreliable_instrument_is_flagged(make, read):
    wolf = {"null": {"draws": 200, "rate": 0.2, "low": 0.147, "high": 0.262}, "planted": {"epsilon": None}}
    text = read(make(instrument=wolf))
    assert "More false alarms than tolerated" in text
    assert "none in these rounds" in text
    assert "More false alarms" not in read(make())


def test_missing_epsilon_bound_does_not_blame_rounds(make, make_estimate, read):
    none = {"epsilon": make_estimate(None, None)}
    planted = {"planted": {"epsilon": None, "violating_epsilon": None}}
    text = read(make(metrics=none, instrument=planted))
    assert "none: no bound on ε" in text
    assert "in these rounds" not in text


def test_missing_check_is_mentioned(make, read):
    assert "No instrument check was recorded" in read(make("unpromised"))
