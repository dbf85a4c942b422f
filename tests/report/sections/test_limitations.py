from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.limitations import section


def test_limitations_are_listed(make, plain):
    text = plain(section(JudgedRun([make(), make("undecided")], {})).html)
    assert "An audit can refute a promise, never prove one." in text
    assert "likelihood (knowledge: auxiliary), one_threshold (knowledge: auxiliary)." in text
    assert "(here up to 10⁻⁵)" in text


def test_irrelevant_limitations_are_omitted(make, plain):
    text = plain(section(JudgedRun([make("many targets")], {})).html)
    assert "Failure of the promise" not in text


def test_long_attacker_list_is_truncated(make, plain):
    verdicts = [make(attack=f"attack{n}") for n in range(20)]
    assert "and 8 more" in plain(section(JudgedRun(verdicts, {})).html)
