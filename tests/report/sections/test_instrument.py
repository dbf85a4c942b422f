import pytest

from leakgauge.cli.verdict_table import _instrument_note
from leakgauge.report.decision import decision_of
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


def null_check(rate, low, high, p_value):
    null = {"draws": 200, "rate": rate, "low": low, "high": high, "p_value": p_value}
    return {"null": null, "planted": {"epsilon": 0.2, "violating_epsilon": None}}


WITHIN_CHANCE = (
    "(8.0%) is above the 5% that are tolerated by no more than chance explains: its interval includes"
)
NOT_SHOWN = (
    "In a sound audit with 1 attacker chance gives such a rate once in 167 times, so this alone does not"
)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ((0.035, 0.014, 0.071, 0.88), "No attacker raises more false alarms than the 5% that are tolerated."),
        ((0.08, 0.046, 0.127, 0.045), WITHIN_CHANCE),
        ((0.095, 0.058, 0.145, 0.006), NOT_SHOWN),
    ],
)
def test_meaning_of_the_false_alarm_rate_is_said_quietly_within_chance(make, read, check, said):
    checked = make(instrument=null_check(*check))
    assert said in read(checked)
    assert 'class="alert"' not in section(JudgedRun((checked,), {})).html
    assert (said in _instrument_note([checked])) is (check[0] > 0.05)
    assert decision_of(JudgedRun((checked,), {})).alerts == ()


def test_too_many_false_alarms_are_said_loudly(make, read):
    checked = make(instrument=null_check(0.2, 0.147, 0.262, 1e-13))
    said = (
        "Too many false alarms: without any leak, likelihood-auxiliary reports one in 20.0% of the checks "
        "(at least 14.7%), more than the 5% that are tolerated. Do not rely on a leak that it reports."
    )
    run = JudgedRun((make(label="sound"), checked), {})
    assert f'<p class="alert">{said}' in section(run).html
    assert said in _instrument_note(run.verdicts)
    assert decision_of(run).alerts == (said,)


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
