from dataclasses import replace

from leakgauge.limits import Limits
from leakgauge.report.decision import leading_verdict
from leakgauge.report.next_steps import STATE_A_LIMIT, next_steps
from leakgauge.report.run_report import JudgedRun
from leakgauge.risk import Risk, RiskStatus
from leakgauge.summary import summarise_run


def steps(*verdicts, limits=None, **manifest):
    run = JudgedRun(verdicts, {"summary": summarise_run(verdicts, limits=limits or Limits()), **manifest})
    return next_steps(run, leading_verdict(run))


def accuracy(make_estimate, value):
    return {"accuracy": make_estimate(value, value - 0.02, value + 0.02)}


def test_there_are_at_most_three_steps(make, make_estimate, every_kind):
    assert 1 <= len(steps(*every_kind)) <= 3
    weak = make("undecided", domain="locations", metrics=accuracy(make_estimate, 0.99))
    assert len(steps(weak)) == 3


def test_violated_promise_is_not_to_be_published(make):
    assert steps(make("violated"))[0].startswith("Do not publish")


def test_risk_over_the_limit_is_not_to_be_published(make):
    over = replace(
        make(), risk=Risk(status=RiskStatus.OVER, metric="accuracy", value=0.7, low=0.68, limit=0.6)
    )
    assert steps(over, limits=Limits(metrics={"accuracy": 0.6}))[0].startswith("Do not publish")


def test_missing_limit_is_asked_for(make, make_estimate):
    assert STATE_A_LIMIT in steps(make(metrics=accuracy(make_estimate, 0.55)))


def test_more_releases_are_asked_for_by_number(make):
    assert any("rounds = 66048" in step for step in steps(make("undecided")))


def test_domain_says_how_to_lower_the_risk(make, make_estimate):
    large = make(domain="locations", metrics=accuracy(make_estimate, 0.95))
    assert any("larger cells" in step for step in steps(large))
    small = make(domain="locations", metrics=accuracy(make_estimate, 0.55))
    assert not any("larger cells" in step for step in steps(small))


def test_setting_that_leaks_less_is_named(make, make_estimate):
    strong, weak = (
        make(audit=f"city@epsilon={epsilon}", metrics=accuracy(make_estimate, value))
        for epsilon, value in ((1.0, 0.95), (0.5, 0.81))
    )
    assert any("epsilon=0.5 leaks least" in step and "81.0%" in step for step in steps(strong, weak))


def test_setting_that_leaks_as_much_or_breaks_its_promise_is_not_advised(make, make_estimate):
    worst = make(audit="city@epsilon=1.0", metrics=accuracy(make_estimate, 0.99))
    bad = make(audit="city@epsilon=0.5", metrics=accuracy(make_estimate, 0.97))
    broken = make("violated", audit="city@epsilon=0.1", metrics=accuracy(make_estimate, 0.7))
    assert not any("leaks least" in step for step in steps(worst, bad, broken))


def test_people_are_to_be_counted_where_that_is_possible(make, make_estimate):
    verdict = make(domain="locations", metrics=accuracy(make_estimate, 0.55))
    assert any("leakgauge expose" in step for step in steps(verdict))
    assert not any("leakgauge expose" in step for step in steps(verdict, exposure={"audits": []} | {"x": 1}))


def test_nothing_to_do_is_said(make):
    within = replace(
        make(bounds={"accuracy": 0.6}),
        risk=Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.55, high=0.58, limit=0.6),
    )
    (only,) = steps(within, limits=Limits(metrics={"accuracy": 0.62}))
    assert only.startswith("Keep this report")
