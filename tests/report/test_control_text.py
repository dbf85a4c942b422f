"""The positive control in the terminal and in the report."""

from dataclasses import replace

import numpy as np
import pytest

from leakgauge.cli.verdict_table import print_table
from leakgauge.report.answers import promise_answer
from leakgauge.report.control_text import MOST_LINES, control_lines
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import finding, instrument
from leakgauge.runner.in_memory import judge
from leakgauge.summary import RunResult, summarise_run

PASSED = {"status": "passed", "accuracy": 1.0, "low": 0.955, "needed": 0.75, "rounds": 100, "reason": None}
FAILED = {
    **PASSED,
    "status": "failed",
    "accuracy": 0.5,
    "low": 0.38,
    "reason": "it is right half of the time",
}


def verdict(control, label="it", **changes):
    members = np.arange(400) % 2 == 0
    judged = judge(members, np.random.default_rng(1).normal(size=400), epsilon=1.0)
    return replace(judged, label=label, instrument={**judged.instrument, "control": control}, **changes)


@pytest.fixture
def untestable():
    return judge(np.arange(400) % 2 == 0, np.zeros(400), epsilon=1.0)


def test_one_that_failed_is_named():
    lines = control_lines([verdict(PASSED, "good"), verdict(FAILED, "weak")])
    assert lines == [
        "Positive control (the same attack where members are easy to recognise): passed by 1 of 2 attackers.",
        "weak: positive control failed: it is right half of the time.",
    ]


def test_settings_are_not_counted_as_attackers():
    found = [verdict({"status": "passed"}, label, audit=f"a@epsilon={n}") for n in (1, 2) for label in "xyz"]
    assert control_lines(found)[0].endswith("passed in 6 of 6 cases (3 attackers in 2 settings).")


def test_many_that_failed_are_cut():
    lines = control_lines([verdict(FAILED, f"weak {i}") for i in range(MOST_LINES + 5)])
    assert len(lines) == MOST_LINES + 2
    assert lines[-1].startswith("and 5 more")


def test_untestable_is_said_everywhere(untestable, capsys):
    assert untestable.finding == "untestable"
    result = RunResult((untestable,), summarise_run([untestable]))
    print_table(result)
    printed = capsys.readouterr().out
    assert "Promise not tested" in printed
    assert "all scores are equal" in printed
    assert promise_answer(result.summary, result).tone == "warn"
    assert result.summary.exit_code == 3
    run = JudgedRun(result, {"summary": result.summary})
    assert "nothing was tested" in finding.section(run).html.lower()
    assert "All scores are equal" in instrument.section(run).html
