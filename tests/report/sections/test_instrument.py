import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.instrument import section


@pytest.fixture
def read(plain):
    return lambda *verdicts: plain(section(JudgedRun(verdicts, {})).html)


def test_false_alarms_and_smallest_leak_are_shown(make, read):
    text = read(make())
    assert "likelihood-auxiliary 3.5% (1.4% to 7.1%) 0.171 1.22 not possible" in text
    assert "newly drawn random membership, 200 times" in text
    assert "at 95% confidence it should be at most about 5%." in text


def test_unreliable_instrument_is_flagged(make, read):
    null = {"draws": 200, "rate": 0.2, "low": 0.147, "high": 0.262, "p_value": 1e-13}
    text = read(make(instrument={"null": null, "planted": {"epsilon": None}}))
    assert "More false alarms than tolerated" in text
    assert "none in these rounds" in text
    assert "More false alarms" not in read(make())


def test_false_alarms_by_chance_are_not_flagged(make, read):
    # 19 of 200 draws happen in a sound audit, more often the more attackers there are.
    null = {"draws": 200, "rate": 0.095, "low": 0.058, "high": 0.145, "p_value": 0.006}
    assert "More false alarms" not in read(make(instrument={"null": null, "planted": {"epsilon": None}}))


def test_missing_epsilon_bound_does_not_blame_rounds(make, make_estimate, read):
    none = {"epsilon": make_estimate(None, None)}
    planted = {"planted": {"epsilon": None, "violating_epsilon": None}}
    text = read(make(metrics=none, instrument=planted))
    assert "none: no bound on ε" in text
    assert "in these rounds" not in text


def test_missing_check_is_mentioned(make, read):
    assert "The audit itself was not checked" in read(make("unpromised"))


def test_positive_control_is_summed_up(make, read):
    passed, failed = (
        make(label=status, instrument=make().instrument | {"control": {"status": status}})
        for status in ("passed", "failed")
    )
    assert "the attackers identified people on the same path" in read(passed)
    assert "1 attacker identified nobody even in the positive control" in read(passed, failed)
    assert "this audit tested nothing" in read(failed)
    assert "not possible" in read(make())
