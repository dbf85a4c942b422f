from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.glossary import section


def test_only_used_metrics_are_explained(make, make_estimate, plain):
    text = plain(section(JudgedRun([make(metrics={"auc": make_estimate(0.7)})], {})).html)
    assert "AUC The chance that a member gets a higher score" in text
    assert "Correct rejections" not in text
    assert "Undecided" in text
