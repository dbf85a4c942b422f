from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import roc


def charts(*verdicts):
    return roc.section(JudgedRun(verdicts, {})).charts


def labels(chart):
    return [key.label for key in chart.keys]


def test_each_audit_has_linear_and_log_axes(make):
    linear, log = charts(make("violated"), make())
    assert labels(linear) == ["learned-event", "likelihood-auxiliary", roc.ALLOWED, "coin toss"]
    assert labels(log) == labels(linear)
    assert linear.spec["layer"][0]["encoding"]["x"]["scale"] == {"domain": [0, 1]}
    assert log.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_different_bounds_are_drawn_separately(make):
    tight = {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}
    linear, _ = charts(make(), make(label="other", bound_roc=tight))
    assert labels(linear)[2:4] == [f"{roc.ALLOWED} (likelihood-auxiliary)", f"{roc.ALLOWED} (other)"]


def test_no_bound_without_promise(make):
    assert labels(charts(make("unpromised"))[0]) == ["scores", "coin toss"]


def test_caption_describes_the_chart(make):
    assert (
        "likelihood-auxiliary: members found, 1% wrongly accused 2.6% (allowed 2.7%)"
        in charts(make())[0].alternative
    )


def test_violated_audits_survive_truncation(make, plain):
    verdicts = [make(audit=f"a{n}") for n in range(30)] + [make("violated", audit="bad")]
    section = roc.section(JudgedRun(verdicts, {}))
    assert len(section.charts) == 2 * roc.MOST_AUDITS
    assert " bad " in plain(section.html)
    assert f"{roc.MOST_AUDITS} most important of 31 curves" in plain(section.html)


def test_no_section_without_curves(make):
    assert roc.section(JudgedRun([make(roc={}), make(roc={"fpr": [], "tpr": []})], {})) is None


def test_pooled_threshold_is_mentioned_for_several_targets(make, plain):
    def read(verdict):
        return plain(roc.section(JudgedRun([verdict], {})).html)

    assert "focused on one person" in read(make("many targets"))
    assert "focused on one person" not in read(make())
