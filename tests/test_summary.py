from dataclasses import replace

import numpy as np
import pytest

from leakgauge.core.game import Coins
from leakgauge.limits import Limits
from leakgauge.risk import ANY_ATTACKER, Risk, RiskStatus
from leakgauge.runner.in_memory import judge
from leakgauge.summary import (
    PromiseStrength,
    RunResult,
    apply_controls,
    promise_strength,
    recognised_risk,
    refuted_audits,
    result_from_json,
    result_to_json,
    summarise_run,
)
from leakgauge.verdict import Finding

WITHIN = Risk(status=RiskStatus.WITHIN, metric="accuracy_own", value=0.55, high=0.58, limit=0.6)
OVER, UNDECIDED = replace(WITHIN, status=RiskStatus.OVER), replace(WITHIN, status=RiskStatus.UNDECIDED)
NO_LIMIT = Risk(status=RiskStatus.NO_LIMIT, metric="accuracy_own", value=0.97)
LIMITS = Limits(metrics={"accuracy": 0.6})
PROMISE = {"epsilon": 1.0, "delta": 0.0, "unit": "user", "nominal": None}


@pytest.fixture(scope="module")
def verdict():
    rng = np.random.default_rng(1)
    members = rng.random(500) < 0.5
    return judge(members, members + rng.normal(size=500), coins=Coins.FAIR)


def found(verdict, finding, risk, **fields):
    promised = None if finding is None else PROMISE
    fields = {"bounds": {"accuracy": 0.58}, **fields}
    return replace(verdict, finding=finding, risk=risk, promised=promised, rounds_needed=None, **fields)


@pytest.mark.parametrize(
    ("finding", "risk", "needed", "limits", "code"),
    [
        (Finding.NOT_VIOLATED, NO_LIMIT, None, Limits(), 0),
        (Finding.NOT_VIOLATED, WITHIN, None, LIMITS, 0),
        (None, WITHIN, None, LIMITS, 0),
        (Finding.VIOLATED, WITHIN, None, LIMITS, 1),
        (Finding.NOT_VIOLATED, OVER, None, LIMITS, 1),
        (None, OVER, None, LIMITS, 1),
        (Finding.NOT_VIOLATED, UNDECIDED, None, LIMITS, 3),
        (Finding.UNDECIDED, WITHIN, 5000, LIMITS, 3),  # more rounds would test the promise
        (Finding.UNDECIDED, WITHIN, None, LIMITS, 0),  # no rounds would, but the limits are kept
        (Finding.UNDECIDED, NO_LIMIT, None, Limits(), 3),
        (Finding.UNTESTABLE, WITHIN, None, LIMITS, 3),
        (None, NO_LIMIT, None, Limits(), 3),  # nothing was asked
        (None, NO_LIMIT, None, Limits(none=True), 0),
    ],
)
def test_exit_code_follows_from_promise_and_risk(verdict, finding, risk, needed, limits, code):
    judged = replace(found(verdict, finding, risk), rounds_needed=needed)
    summary = summarise_run([judged], limits=limits)
    assert summary.exit_code == code
    assert bool(summary.reasons) == (code != 0)
    assert bool(summary.warnings) == (code == 0 and finding is Finding.UNDECIDED)


def test_a_warning_is_not_the_reason_of_the_exit_code(verdict):
    judged = found(verdict, Finding.VIOLATED, WITHIN)
    summary = summarise_run([judged], limits=LIMITS, changed_rounds=True, caveats=["no proof"])
    assert (summary.exit_code, summary.reasons) == (1, ("the promise is violated",))
    assert len(summary.warnings) == 2
    assert result_from_json(result_to_json(RunResult((judged,), summary))).summary == summary


def test_the_worst_attacker_decides_and_a_published_point_stands_alone(verdict):
    bad = found(verdict, Finding.VIOLATED, OVER, audit="a@epsilon=1")
    good = found(verdict, Finding.NOT_VIOLATED, WITHIN, audit="a@epsilon=0.1")
    both = summarise_run([good, bad], limits=LIMITS)
    assert (both.exit_code, both.audit, both.promise.status) == (1, "a@epsilon=1", "violated")
    alone = summarise_run([good, bad], limits=LIMITS, publish="a@epsilon=0.1")
    assert (alone.exit_code, alone.covers) == (0, ("a@epsilon=0.1",))


def test_a_mechanism_not_as_stated_at_another_point_is_a_warning(verdict):
    def point(epsilon, name="laplace", **changes):
        parameters = {**verdict.parameters, "mechanism": {"name": name, "epsilon": epsilon}}
        audit = changes.pop("audit", f"a@epsilon={epsilon}")
        return found(verdict, Finding.NOT_VIOLATED, WITHIN, audit=audit, parameters=parameters, **changes)

    published, unlike = point(0.1), point(1.0, about="mechanism")
    alone = summarise_run([published, unlike], limits=LIMITS, publish="a@epsilon=0.1")
    assert alone.exit_code == 0
    assert "in a@epsilon=1.0, which is not published, the mechanism is not as stated" in alone.warnings[0]
    assert summarise_run([published, unlike], limits=LIMITS).exit_code == 3  # all points are covered
    for other in (
        point(1.0, "gaussian", about="mechanism"),
        point(1.0, audit="b@epsilon=1", about="mechanism"),
    ):
        assert summarise_run([published, other], limits=LIMITS, publish="a@epsilon=0.1").warnings == ()


def test_nobody_is_within_limits_without_a_positive_control_that_passed(verdict):
    def with_control(status, knowledge="k", risk=WITHIN):
        control = {"control": {"status": status}}
        return found(verdict, None, risk, knowledge=knowledge, instrument={**verdict.instrument, **control})

    (failed,) = apply_controls([with_control("failed")])
    assert failed.risk.status is RiskStatus.UNDECIDED
    weak, strong = apply_controls([with_control("failed"), with_control("passed")])
    assert {weak.risk.status, strong.risk.status} == {RiskStatus.WITHIN}  # another with this knowledge passed
    weak, _ = apply_controls([with_control("failed"), with_control("passed", knowledge="other")])
    assert weak.risk.status is RiskStatus.UNDECIDED
    (absent,) = apply_controls([with_control("not possible")])
    assert absent.risk.status is RiskStatus.WITHIN
    assert "not possible" in absent.risk.scope
    exact = replace(WITHIN, scope=ANY_ATTACKER)
    assert apply_controls([with_control("failed", risk=exact)])[0].risk == exact
    idle = replace(with_control("passed"), notes=["all scores are equal"])
    assert apply_controls([idle])[0].risk.status is RiskStatus.UNDECIDED
    (still_over,) = apply_controls([with_control("failed", risk=OVER)])
    assert still_over.risk.status is RiskStatus.OVER
    open_risk = replace(UNDECIDED, reason="the limit is inside the interval", rounds_needed=200)
    (failed,) = apply_controls([with_control("failed", risk=open_risk)])
    assert failed.risk.rounds_needed is None  # more rounds would not help
    assert "even in the positive control" in failed.risk.reason
    (passed,) = apply_controls([with_control("passed", risk=open_risk)])
    assert passed.risk == open_risk


def test_a_limit_by_itself_is_within_no_sooner_than_all_of_them(verdict):
    """Where no positive control passed, or members differ anyway, also a single limit is undecided."""
    risk = replace(OVER, by_limit={"accuracy": OVER, "auc": replace(WITHIN, metric="auc")})
    limits = Limits(metrics={"accuracy": 0.6, "auc": 0.6})
    failed = {**verdict.instrument, "control": {"status": "failed"}}
    judged = found(verdict, None, risk, instrument=failed)
    for shown, blind, statuses in (
        ([judged], (), ["over", "within"]),
        (apply_controls([judged]), (), ["over", "undecided"]),
        ([judged], (judged.audit,), ["undecided", "undecided"]),
    ):
        summary = summarise_run(shown, limits=limits, blind_over=blind)
        assert [one.status for one in summary.limit_results] == statuses
        assert result_from_json(result_to_json(RunResult(tuple(shown), summary))).summary == summary


def test_members_that_differ_without_the_release_leave_the_risk_undecided(verdict):
    judged = found(verdict, None, OVER, audit="one-group")
    summary = summarise_run([judged], limits=LIMITS, blind_over={"one-group"})
    assert summary.risk.status is RiskStatus.UNDECIDED
    assert "even without the release" in summary.risk.reason
    assert summary.exit_code == 3


@pytest.mark.parametrize(
    ("allowed", "limit", "strength"),
    [
        (0.74, 0.99, "strict"),
        (0.75, 0.99, "weak"),
        (0.90, 0.99, "too weak to protect"),
        (0.73, 0.6, "too weak to protect"),
    ],
)
def test_a_promise_is_worth_what_it_keeps_an_attacker_from(allowed, limit, strength):
    assert promise_strength(allowed, limit) == PromiseStrength(strength)


def exposure(people, at_least, at_most):
    places = [round(0.51 + n / 100, 2) for n in range(50)]
    counts = {"accuracy": places, "at_least": [at_least] * 50, "at_most": [at_most] * 50}
    return {
        "audits": [{"audit": "a", "people": people, "attackers": [{"attacker": "k", "identified": counts}]}]
    }


@pytest.mark.parametrize(
    ("counts", "status"),
    [((1000, 4, 5), "within"), ((1000, 20, 21), "over"), ((1000, 9, 11), "undecided"), (None, "undecided")],
)
def test_people_recognised_are_compared_with_their_limit(verdict, counts, status):
    limits = Limits(recognised=0.01)
    risk = recognised_risk(None if counts is None else exposure(*counts), ["a"], limits)
    assert risk.status == status
    summary = summarise_run([found(verdict, None, NO_LIMIT)], limits=limits, recognised=risk)
    assert summary.exit_code == {"within": 0, "over": 1, "undecided": 3}[status]
    assert recognised_risk(None, ["a"], LIMITS) is None


@pytest.mark.parametrize(("counts", "status"), [((1000, 4, 5), "undecided"), ((1000, 20, 21), "over")])
def test_people_counted_by_a_refuted_noise_distribution_clear_nobody(verdict, counts, status):
    limits = Limits(recognised=0.01)
    refuted = refuted_audits(
        [found(verdict, Finding.VIOLATED, NO_LIMIT, audit="a"), found(verdict, None, NO_LIMIT)]
    )
    assert set(refuted) == {"a"}
    risk = recognised_risk(exposure(*counts), ["a"], limits, refuted)
    assert risk.status == status
    assert status == "over" or "stated noise distribution, which does not hold" in risk.reason
    assert recognised_risk(exposure(1000, 4, 5), ["a"], limits, {"b": "it"}).status == "within"


def test_limit_about_attackers_that_expose_does_not_know_is_undecided():
    limits = Limits(recognised=0.01, attackers=("informed", "mine"))
    risk = recognised_risk(exposure(1000, 0, 0), ["a"], limits)
    assert risk.status == "undecided"
    assert risk.reason.startswith(
        "the limit counts informed, mine only, but expose counted the people recognised by k for a; name one"
    )
    both = exposure(1000, 0, 0)  # one audit has the attacker, the other has not: nothing is assured
    both["audits"].append({**both["audits"][0], "audit": "b"})
    both["audits"][1]["attackers"] = [{**both["audits"][0]["attackers"][0], "attacker": "informed"}]
    risk = recognised_risk(both, ["a", "b"], limits)
    assert (risk.status, "recognised by k for a;" in risk.reason) == ("undecided", True)
    assert recognised_risk(both, ["b"], limits).status == "within"


def test_a_result_reads_back_as_it_was_written(verdict):
    judged = found(verdict, Finding.NOT_VIOLATED, WITHIN)
    result = RunResult((judged,), summarise_run([judged], limits=LIMITS))
    content = result_to_json(result)
    assert content["schema"] == 2
    assert result_to_json(result_from_json(content)) == content
    assert result_from_json(content).summary == result.summary


@pytest.mark.parametrize(
    ("limits", "code"), [(Limits(), 3), (Limits(none=True), 0), (Limits(metrics={"accuracy": 0.9}), 0)]
)
def test_an_audit_without_promise_and_limit_is_named_also_where_another_has_a_promise(verdict, limits, code):
    risk = WITHIN if limits.metrics else NO_LIMIT
    kept = found(verdict, Finding.NOT_VIOLATED, risk, audit="kept")
    unasked = found(verdict, None, risk, audit="unasked")
    summary = summarise_run([kept, unasked], limits=limits)
    assert summary.exit_code == code
    assert [reason for reason in summary.reasons if "nothing was asked of unasked:" in reason] == list(
        summary.reasons
    )


def test_limit_on_people_recognised_without_exposure_is_undecided(verdict):
    summary = summarise_run(
        [found(verdict, None, WITHIN)], limits=Limits(metrics={"accuracy": 0.9}, recognised=0.01)
    )
    assert (summary.exit_code, summary.risk.metric, summary.risk.status) == (3, "recognised", "undecided")
    assert "limit accuracy instead" in summary.reasons[0]


ASSUMED = ("mechanism.epsilon", "limits.accuracy")


@pytest.mark.parametrize(
    ("finding", "risk", "assumed", "code"),
    [
        (Finding.NOT_VIOLATED, RiskStatus.WITHIN, ASSUMED, 3),
        (Finding.NOT_VIOLATED, RiskStatus.WITHIN, ("limits.accuracy",), 3),
        (Finding.NOT_VIOLATED, RiskStatus.OVER, ("limits.accuracy",), 3),
        (Finding.VIOLATED, RiskStatus.WITHIN, ("limits.accuracy",), 1),  # the promise was stated
        (Finding.VIOLATED, RiskStatus.WITHIN, ("mechanism.epsilon",), 3),
        (Finding.NOT_VIOLATED, RiskStatus.WITHIN, (), 0),
    ],
)
def test_what_rests_on_an_assumed_key_decides_nothing(verdict, finding, risk, assumed, code):
    judged = found(
        verdict, finding, Risk(status=risk, metric="accuracy", value=0.5, limit=0.6), assumed=assumed
    )
    summary = summarise_run([judged], limits=Limits(metrics={"accuracy": 0.6}))
    assert summary.exit_code == code
    assert summary.assumed == assumed
    if code == 3:
        assert all(key in summary.reasons[0] for key in assumed)


def test_a_violation_that_holds_for_every_epsilon_needs_no_stated_one(verdict):
    judged = found(verdict, Finding.VIOLATED, UNDECIDED, assumed=ASSUMED, certain=True, for_any_epsilon=True)
    assert summarise_run([judged], limits=Limits(metrics={"accuracy": 0.6})).exit_code == 1


def test_a_channel_that_was_not_read_leaves_no_exit_code_0(verdict):
    within = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.5, limit=0.6)
    judged = found(verdict, Finding.NOT_VIOLATED, within, unread=("the field train_loss of a reply",))
    summary = summarise_run([judged], limits=Limits(metrics={"accuracy": 0.6}))
    assert summary.exit_code == 3
    assert "not read: the field train_loss of a reply" in summary.reasons[0]
