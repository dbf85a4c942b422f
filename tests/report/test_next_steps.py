from dataclasses import replace

import pytest

from leakgauge import catalog
from leakgauge.domains.queries.noise_conformance import REPEATED_FOR_DATA
from leakgauge.domains.queries.side_channels import RESPONSE_TIMES
from leakgauge.limits import Limits
from leakgauge.referee.metric_evaluation import ONE_RELEASE_SCOPE
from leakgauge.referee.reused_noise import REUSED
from leakgauge.referee.side_channels import ANSWER_SIZES, LOW_ORDER_BITS
from leakgauge.report.answers import exit_sentence
from leakgauge.report.decision import decision_of, leading_verdict
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.next_steps import STATE_A_LIMIT, decision_line, next_steps
from leakgauge.risk import Risk, RiskStatus
from leakgauge.summary import summarise_run
from leakgauge.verdict import Finding


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


@pytest.mark.parametrize(
    ("finding", "status", "tone", "line"),
    [
        ("violated", RiskStatus.WITHIN, "bad", "Do not publish: find out why the mechanism"),
        ("not violated", RiskStatus.OVER, "bad", "Do not publish with these settings."),
        ("not violated", RiskStatus.UNDECIDED, "warn", "Not decided: the risk is undecided: too few."),
        ("not violated", RiskStatus.WITHIN, "good", "Within your limits: this audit found nothing against"),
        ("not violated", None, "neutral", "No decision: no limit on the risk is stated."),
    ],
)
def test_decision_is_one_sentence_to_be_read_first(make, finding, status, tone, line):
    verdict, limits = make(finding), Limits()
    if status is not None:
        risk = Risk(status=status, metric="accuracy", value=0.6, limit=0.6, reason="too few")
        verdict = replace(verdict, risk=risk, bounds={"accuracy": 0.59})
        limits = Limits(metrics={"accuracy": 0.6})
    run = JudgedRun((verdict,), {"summary": summarise_run((verdict,), limits=limits)})
    found = decision_line(run, leading_verdict(run))
    assert found[0] == tone
    assert found[1].startswith(line)


@pytest.mark.parametrize(
    ("promised", "allowed", "line"),
    [
        (
            {"least_protected": {"epsilon": 17.8, "accuracy": 0.736, "parts": 9}},
            0.59,
            "Within your limits for the target counted; the promise does not protect more active people.",
        ),
        (
            {},
            0.95,
            "Within your limits for the attackers tried; the promise by itself is too weak to protect.",
        ),
    ],
)
def test_a_promise_too_weak_to_protect_is_said_where_the_limits_are_kept(make, promised, allowed, line):
    """The exit code stays 0, with a warning, and the line to be read first is not green."""
    risk = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.57, high=0.59, limit=0.6)
    verdict = make("not violated")
    verdict = replace(
        verdict,
        risk=risk,
        promised={**verdict.promised, **promised},
        bounds={**verdict.bounds, "accuracy": allowed},
    )
    summary = summarise_run((verdict,), limits=Limits(metrics={"accuracy": 0.6}))
    run = JudgedRun((verdict,), {"summary": summary})
    assert decision_line(run, verdict) == ("warn", line)
    assert (summary.exit_code, summary.reasons) == (0, ())
    assert summary.warnings == (line[0].lower() + line[1:-1],)
    assert line.removeprefix("Within your limits") in exit_sentence(summary, (verdict,))
    assert not any("Within" in alert for alert in decision_of(run).alerts)  # said once


def test_a_limit_on_people_recognised_is_not_about_targets(make):
    verdict = replace(make("not violated"), bounds={"accuracy": 0.95})
    risk = Risk(status=RiskStatus.WITHIN, metric="recognised", value=0.0, high=0.001, limit=0.01)
    summary = summarise_run((verdict,), limits=Limits(recognised=0.01), recognised=risk)
    line = (
        "Within your limits for the people whom expose counted; the promise by itself is too weak to protect."
    )
    assert decision_line(JudgedRun((verdict,), {"summary": summary}), verdict) == ("warn", line)


def test_missing_limit_is_asked_for(make, make_estimate):
    assert STATE_A_LIMIT in steps(make(metrics=accuracy(make_estimate, 0.55)))


def test_more_releases_are_asked_for_by_number(make):
    assert any("rounds = 66048" in step for step in steps(make("undecided")))


def test_nobody_is_asked_for_millions_of_releases(make):
    weak = make("undecided")
    assert not any("rounds =" in step for step in steps(replace(weak, rounds_needed=93_621_301)))


def test_where_a_limit_is_exceeded_other_settings_come_before_counting_people(make, make_estimate):
    risk = Risk(status=RiskStatus.OVER, metric="accuracy", value=0.9, low=0.88, limit=0.6)
    over = replace(make(domain="locations", metrics=accuracy(make_estimate, 0.9)), risk=risk)
    limits = Limits(metrics={"accuracy": 0.6}, recognised=0.01)
    command = "leakgauge expose plan.toml --out DIR"
    found = steps(over, limits=limits, expose_command=command)
    assert found[0].startswith("Do not publish")
    assert found[1].startswith("Add noise")
    small = replace(over, metrics=accuracy(make_estimate, 0.55))
    within = replace(small, risk=replace(risk, status=RiskStatus.WITHIN, value=0.55))
    assert command in steps(within, limits=limits, expose_command=command)[0]


def test_undecided_risk_asks_for_more_releases_first(make, make_estimate):
    """Also in a sweep with a promise too weak to protect, where there is other advice."""
    risk = Risk(status=RiskStatus.UNDECIDED, metric="accuracy", value=0.95, limit=0.6, rounds_needed=100)
    points = [
        make(
            domain="locations",
            audit=f"a@epsilon={n}",
            metrics=accuracy(make_estimate, value),
            bounds={"epsilon": 5.0, "accuracy": 0.9933},
        )
        for n, value in ((1, 0.55), (5, 0.95))
    ]
    found = steps(*(replace(one, risk=risk) for one in points), limits=Limits(metrics={"accuracy": 0.6}))
    assert found[0].startswith("Simulate more releases: set rounds = 100")


def test_domain_says_how_to_lower_the_risk(make, make_estimate):
    large = make(domain="locations", metrics=accuracy(make_estimate, 0.95))
    assert any("longer periods" in step for step in steps(large))
    small = make(domain="locations", metrics=accuracy(make_estimate, 0.55))
    assert not any("longer periods" in step for step in steps(small))


def over(verdict, value, limit):
    return replace(verdict, risk=Risk(status=RiskStatus.OVER, metric="accuracy", value=value, limit=limit))


@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        (
            Limits(metrics={"accuracy": 0.95}),
            "ε = 2.94 keeps every attacker within your limits (accuracy = 0.95)",
        ),  # ln 19
        (Limits(metrics={"accuracy": 0.6}), "ε = 0.4 keeps"),  # ln 1.5
        (
            Limits(metrics={"auc": 0.9}, recognised=0.01),
            "ε = 2.19 keeps every attacker within your limits (auc = 0.9, recognised = 0.01)",
        ),
        (Limits(recognised=0.01, recognised_at=0.8), "ε = 1.38 keeps"),  # ln 4
        (Limits(), "and lower it."),
    ],
)
def test_epsilon_is_advised_by_the_limits_of_the_owner(make, make_estimate, limits, advice):
    verdict = make(metrics=accuracy(make_estimate, 0.97), bounds={"accuracy": 0.99}, domain="scores")
    found = [step for step in steps(verdict, limits=limits) if step.startswith("Promise ε")]
    assert len(found) == 1
    assert advice in found[0]
    assert "75" not in found[0]


def test_a_promise_that_is_for_the_unit_already_is_only_to_be_lowered(make, make_estimate):
    verdict = make(metrics=accuracy(make_estimate, 0.97), bounds={"accuracy": 0.99}, domain="scores")
    same = replace(verdict, promised={**verdict.promised, "unit": "record", "nominal": None})
    assert "Promise a smaller ε for one record." in steps(same)
    found = steps(same, limits=Limits(metrics={"accuracy": 0.6}))
    assert any(step.startswith("Promise a smaller ε for one record: ε = 0.4 keeps") for step in found)


def test_a_broken_promise_is_not_to_be_lowered(make, make_estimate):
    verdict = make(metrics=accuracy(make_estimate, 0.97), bounds={"accuracy": 0.99}, domain="scores")
    broken = replace(verdict, finding=Finding.VIOLATED)
    assert any(step.startswith("Promise ") for step in steps(verdict))
    assert not any(step.startswith("Promise ") for step in steps(broken))


def test_weak_promise_that_keeps_the_limit_needs_no_smaller_epsilon(make, make_estimate):
    verdict = make(metrics=accuracy(make_estimate, 0.6), bounds={"accuracy": 0.8}, domain="scores")
    assert not any("Promise ε" in step for step in steps(verdict, limits=Limits(metrics={"accuracy": 0.85})))
    assert any("Promise ε" in step for step in steps(verdict))


def test_domain_advises_by_the_limit_and_not_by_a_share_of_its_own(make, make_estimate):
    verdict = make(domain="locations", metrics=accuracy(make_estimate, 0.8))
    undecided = Risk(status=RiskStatus.UNDECIDED, metric="accuracy", value=0.8, limit=0.82)
    lax, strict = Limits(metrics={"accuracy": 0.82}), Limits(metrics={"accuracy": 0.6})
    assert not any("longer periods" in step for step in steps(replace(verdict, risk=undecided), limits=lax))
    assert any("longer periods" in step for step in steps(over(verdict, 0.65, 0.6), limits=strict))


def test_limit_on_people_asks_for_expose_among_the_first_steps(make, make_estimate):
    verdict = over(make(domain="locations", metrics=accuracy(make_estimate, 0.99)), 0.99, 0.6)
    limits = Limits(metrics={"accuracy": 0.6}, recognised=0.01)
    assert any("leakgauge expose" in step for step in steps(verdict, limits=limits))


def test_setting_over_the_limit_on_people_is_not_advised(make, make_estimate):
    strong, weak = (
        make(audit=f"city@epsilon={epsilon}", metrics=accuracy(make_estimate, value))
        for epsilon, value in ((1.0, 0.95), (0.5, 0.81))
    )
    levels = {"accuracy": [0.9], "at_least": [20], "at_most": [20]}

    def exposed(people):
        found = {"attacker": "informed", "recognised": {"accuracy": 0.9, "people": 20}, "identified": levels}
        return [
            {"audit": verdict.audit, "people": people, "attackers": [found]} for verdict in (strong, weak)
        ]

    limits = Limits(recognised=0.01)
    for people, advised in ((1000, False), (10_000, True)):
        found = steps(strong, weak, limits=limits, exposure={"audits": exposed(people)})
        assert any("leaks least" in step for step in found) == advised


def test_setting_that_leaks_less_is_named(make, make_estimate):
    strong, weak = (
        make(audit=f"city@epsilon={epsilon}", metrics=accuracy(make_estimate, value))
        for epsilon, value in ((1.0, 0.95), (0.5, 0.81))
    )
    assert any("epsilon=0.5 leaks least" in step and "81.0%" in step for step in steps(strong, weak))


def test_setting_that_leaks_less_but_is_not_shown_to_be_within_the_limit_says_so(make, make_estimate):
    def at(epsilon, value, status):
        verdict = make(audit=f"a@epsilon={epsilon}", metrics=accuracy(make_estimate, value))
        return replace(verdict, risk=Risk(status=status, metric="accuracy", value=value, limit=0.6))

    for status, told in ((RiskStatus.UNDECIDED, True), (RiskStatus.WITHIN, False)):
        found = steps(
            at(5, 0.95, RiskStatus.OVER), at(1, 0.55, status), limits=Limits(metrics={"accuracy": 0.6})
        )
        (advice,) = [step for step in found if "leaks least" in step]
        assert ("Whether that is within your limit is undecided." in advice) == told


def test_setting_that_leaks_as_much_or_breaks_its_promise_is_not_advised(make, make_estimate):
    worst = make(audit="city@epsilon=1.0", metrics=accuracy(make_estimate, 0.99))
    bad = make(audit="city@epsilon=0.5", metrics=accuracy(make_estimate, 0.97))
    broken = make("violated", audit="city@epsilon=0.1", metrics=accuracy(make_estimate, 0.7))
    assert not any("leaks least" in step for step in steps(worst, bad, broken))


def test_people_are_to_be_counted_where_that_is_possible(make, make_estimate):
    verdict = make(domain="locations", metrics=accuracy(make_estimate, 0.55))
    assert any("leakgauge expose" in step for step in steps(verdict))
    assert not any("leakgauge expose" in step for step in steps(verdict, exposure={"audits": []} | {"x": 1}))


def test_nothing_to_do_is_said(make, make_estimate):
    within = replace(
        make(bounds={"accuracy": 0.6}, metrics=accuracy(make_estimate, 0.55)),
        risk=Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.55, high=0.58, limit=0.6),
    )
    (only,) = steps(within, limits=Limits(metrics={"accuracy": 0.62}))
    assert only.startswith("Keep this report")


@pytest.mark.parametrize("finished", [True, False])
def test_tune_is_not_advised_for_a_release_that_is_finished(finished, make, make_estimate):
    method = f"jackknife, {ONE_RELEASE_SCOPE}" if finished else "jackknife over rounds"
    metrics = {"accuracy": make_estimate(0.97, 0.95, 0.98, method=method)}
    found = steps(make(domain="models", rounds=1, n_targets=400, metrics=metrics))
    assert any("leakgauge tune" in step for step in found) is not finished


def of_queries(make, metrics, conformance=(), **challenger):
    parameters = {"data": {}, "challenger": challenger, "mechanism": {"name": "laplace", "epsilon": 1.0}}
    rows = [
        {"name": name, "n": 9, "p_value": 0.0, "rejected": rejected, "violates": True, "reveals": True}
        for name, rejected in conformance
    ]
    return make("violated", domain="queries", metrics=metrics, parameters=parameters, conformance=rows)


@pytest.mark.parametrize(
    ("challenger", "advised", "not_advised"),
    [
        (
            {"service": {}, "budget": 1.0},
            ["In the service, lower the budget"],
            ["accountant", "tune", "noisy"],
        ),
        ({"budget": 1.0}, ["Lower the budget", "leakgauge tune"], ["accountant", "suppress_by", "service"]),
        (
            {"budget": 1.0, "accountant": "per_row", "at_least": 5},
            ['accountant = "sequential"', 'suppress_by = "answer"', "leakgauge tune"],
            ["service"],
        ),
        ({"accountant": "none"}, ["set a budget"], ["tune", "lower the budget"]),
        ({"budget": 1.0, "at_least": 5, "suppress_by": "answer"}, ["Lower the budget"], ["suppress_by"]),
    ],
)
def test_advice_follows_the_plan(make, make_estimate, challenger, advised, not_advised):
    found = " ".join(steps(of_queries(make, accuracy(make_estimate, 0.97), **challenger)))
    assert all(text in found for text in advised)
    assert not any(text in found for text in not_advised)


def test_faults_that_answers_show_come_with_what_to_fix(make, make_estimate):
    small = accuracy(make_estimate, 0.55)
    tests = [(REPEATED_FOR_DATA, True), ("errors_beyond_promise", True), ("refusals", False)]
    found = steps(of_queries(make, small, tests, service={}))
    assert found[0].startswith("Do not publish")
    assert "by the question, not by answers or records" in found[1]
    assert "fail alike with and without the target" in found[2]
    assert not any("refuse alike" in step for step in steps(of_queries(make, small, tests[2:])))
    low_bits = steps(of_queries(make, small, [(LOW_ORDER_BITS, True)]))
    assert "round every answer, after its noise was added, to a fixed grid" in low_bits[1]
    assert "noise of the stated scale" in steps(of_queries(make, small, [(ANSWER_SIZES, True)]))[1]
    known = {REPEATED_FOR_DATA, REUSED, RESPONSE_TIMES, LOW_ORDER_BITS, ANSWER_SIZES, "errors", "refusals"}
    advice = catalog.find_domain("queries").conformance_advice
    assert {name.removesuffix("_beyond_promise") for name in advice} == known
