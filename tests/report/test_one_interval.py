"""A number has the same interval wherever it is shown; bounds for a limit are named as such."""

from dataclasses import replace

import pytest

from leakgauge.cli import verdict_table
from leakgauge.limits import Limits
from leakgauge.report.answers import risk_answer
from leakgauge.report.first_screen import first_screen
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import finding, metrics
from leakgauge.report.text_formats import markdown_text
from leakgauge.risk import ATTACKERS_TRIED, DRAWN_SPLITS, Risk, RiskStatus
from leakgauge.summary import RunResult, summarise_run

INTERVAL = "92.6% to 95.0%"


@pytest.fixture
def result(make, make_estimate):
    """An attacker whose interval and whose bounds for the limit all differ."""
    own = make_estimate(0.938, 0.92666, 0.94951)
    verdict = make(metrics={**make().metrics, "accuracy_own": own})

    def judged(status, low, high):
        risk = Risk(
            status=status,
            metric="accuracy_own",
            value=0.938,
            low=low,
            high=high,
            limit=0.94,
            attacker=verdict.label,
        )
        verdicts = (replace(verdict, risk=risk),)
        return RunResult(verdicts, replace(summarise_run(verdicts), risk=risk, audit=verdict.audit))

    return judged


@pytest.mark.parametrize(
    ("status", "low", "high", "bound"),
    [
        (RiskStatus.OVER, 0.9201, 0.96, "Allowing for all comparisons with limits, it is at least 92.0%."),
        (RiskStatus.WITHIN, 0.91, 0.9399, "For the comparison with the limit, it is at most 93.99%."),
        (RiskStatus.UNDECIDED, 0.91, 0.951, "the comparison with the limit, it is between 91.0% and 95.1%."),
    ],
)
def test_a_number_has_one_interval(result, capsys, plain, status, low, high, bound):
    found = result(status, low, high)
    run = JudgedRun(found.verdicts, {"summary": found.summary})
    verdict_table.print_table(found)
    shown = {
        "terminal": " ".join(capsys.readouterr().out.split()),
        "answer": risk_answer(found.summary, found.verdicts).text,
        "first screen": plain(first_screen(run).html),
        "appendix": plain(metrics.section(run).html),
        "table": plain(finding.section(run).html),
        "markdown": markdown_text(run),
    }
    for where, text in shown.items():
        assert INTERVAL in text, where
    for where in ("terminal", "answer", "first screen"):
        assert bound in shown[where], where


@pytest.mark.parametrize(
    ("scope", "words", "control"),
    [
        (f"{DRAWN_SPLITS}these 12 splits of the people", "and for these 12 splits of the people", False),
        (
            f"{DRAWN_SPLITS}this split of the people; a positive control is not possible here",
            "and for this split of the people",
            True,
        ),
        (ATTACKERS_TRIED, "This holds for the attackers tried; a stronger one may do better.", False),
    ],
)
def test_within_for_the_drawn_splits_only_says_so(make, scope, words, control):
    risk = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.5, high=0.55, limit=0.6, scope=scope)
    verdict = make(risk=risk)
    summary = replace(summarise_run([verdict], limits=Limits()), risk=risk)
    text = risk_answer(summary, [verdict]).text
    assert words in text
    assert ("No positive control" in text) is control
    assert ("raise splits" in text) is scope.startswith(DRAWN_SPLITS)
