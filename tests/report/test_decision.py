from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.limits import Limits
from leakgauge.plan import MetricsTable
from leakgauge.referee.metric_evaluation import ONE_RELEASE_SCOPE
from leakgauge.report.decision import decision_of, leading_verdict, people_sentence
from leakgauge.report.gate_files import junit_text
from leakgauge.report.judged_run import JudgedRun, report_origin
from leakgauge.report.sections import conformance
from leakgauge.report.sections.finding import meaning_of
from leakgauge.risk import Risk, RiskStatus
from leakgauge.summary import RunResult, summarise_run
from leakgauge.verdict import Finding, VerdictSubject, judge_trials


def judged(*verdicts, limits=None, **manifest):
    summary = summarise_run(verdicts, limits=limits or Limits())
    return JudgedRun(list(verdicts), {"summary": summary, **manifest})


def right(make_estimate, value, name="accuracy", **more):
    return {name: make_estimate(value, value - 0.02, value + 0.02), **more}


def at_risk(verdict, status, limit=None):
    metric = "accuracy"
    estimate = verdict.metrics[metric]
    risk = Risk(
        status=status,
        metric=metric,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        limit=limit,
        attacker=verdict.label,
        reason="the limit is inside the confidence interval" if status is RiskStatus.UNDECIDED else None,
    )
    return replace(verdict, risk=risk)


@pytest.mark.parametrize(
    ("status", "tone"),
    [(RiskStatus.OVER, "bad"), (RiskStatus.UNDECIDED, "warn"), (RiskStatus.WITHIN, "good")],
)
def test_risk_lamp_follows_the_limit(make, status, tone):
    run = judged(at_risk(make(), status, 0.7), limits=Limits(metrics={"accuracy": 0.7}))
    lamp = decision_of(run).risk
    assert lamp.tone == tone
    assert "70%" in lamp.text


@pytest.mark.parametrize(("value", "tone"), [(0.52, "neutral"), (0.8, "warn"), (0.97, "bad")])
def test_without_limit_no_risk_is_green(make, make_estimate, value, tone):
    verdict = make(metrics=right(make_estimate, value))
    run = judged(at_risk(verdict, RiskStatus.NO_LIMIT))
    assert decision_of(run).risk.tone == tone
    assert "no limit stated" in decision_of(run).risk.words.lower()


@pytest.mark.parametrize("allowed", [0.76, 0.89, 0.91, 0.9999, None])
@pytest.mark.parametrize("finding", [Finding.NOT_VIOLATED, Finding.UNDECIDED, Finding.VIOLATED])
def test_weak_promise_is_never_green_or_neutral(make, allowed, finding):
    verdict = make(finding=finding, bounds={} if allowed is None else {"epsilon": 9.0, "accuracy": allowed})
    assert decision_of(judged(verdict)).promise.tone in ("warn", "bad")


def test_strict_promise_that_holds_is_green(make, make_estimate):
    verdict = make(bounds={"epsilon": 0.5, "accuracy": 0.62}, metrics=right(make_estimate, 0.6))
    assert decision_of(judged(verdict)).promise.tone == "good"


def test_leading_number_is_at_the_attackers_own_threshold(make, make_estimate):
    metrics = right(
        make_estimate,
        0.779,
        "accuracy_own",
        accuracy_mean=make_estimate(0.884, 0.86, 0.9),
        accuracy_worst=make_estimate(0.93, 0.8, 0.97),
    )
    number = decision_of(judged(make(n_targets=9, metrics=metrics))).number
    assert (number.value, number.worst) == ("77.9%", "93.0% (80.0% to 97.0%)")
    assert "the threshold that the attack fixed itself" in number.assumes


def test_calibrated_number_is_labelled_as_such(make, make_estimate):
    metrics = {"accuracy_mean": make_estimate(0.884, 0.86, 0.9), "accuracy_own": make_estimate(None)}
    number = decision_of(judged(make(n_targets=9, metrics=metrics))).number
    assert number.value == "88.4%"
    assert "threshold" in number.assumes
    assert "fixed itself" not in number.assumes


def test_best_of_several_is_called_optimistic(make, make_estimate):
    poor, good = (make(label=f"{value}", metrics=right(make_estimate, value)) for value in (0.6, 0.7))
    assert "best of 2 attackers" in decision_of(judged(poor, good)).number.among
    assert decision_of(judged(poor)).number.among == ""


def test_attackers_are_not_counted_once_for_each_setting(make, make_estimate):
    verdicts = [
        make(audit=f"a@epsilon={n}", label=label, metrics=right(make_estimate, 0.6 + 0.1 * n))
        for n in (1, 2, 3)
        for label in ("x", "y")
    ]
    assert "The best of 2 attackers in 3 settings, so" in decision_of(judged(*verdicts)).number.among


def test_missing_interval_is_said_once_with_what_to_do(make, make_estimate):
    few = "no interval: 24 rounds are too few; at least 30 are needed"
    own = replace(make_estimate(0.9), low=None, high=None, reason=few)
    verdict = make(metrics={"accuracy_own": own})
    risk = Risk(
        status=RiskStatus.UNDECIDED,
        metric="accuracy_own",
        value=0.9,
        limit=0.6,
        attacker=verdict.label,
        reason=few,
        rounds_needed=100,
    )
    told = decision_of(judged(replace(verdict, risk=risk), limits=Limits(metrics={"accuracy": 0.6}))).risk
    assert (told.words, told.text.count("24 rounds are too few")) == ("Risk undecided", 1)
    assert told.sentences[-1] == "Simulate more releases: 100 or more give an interval."


def test_attacker_that_is_not_the_best_is_not_called_so(make, make_estimate):
    weak, strong = (
        at_risk(make(label=label, metrics=right(make_estimate, value)), status, limit)
        for label, value, status, limit in (
            ("weak", 0.7, RiskStatus.OVER, 0.6),
            ("strong", 0.9, RiskStatus.NO_LIMIT, None),
        )
    )
    limits = Limits(metrics={"accuracy": 0.6}, attackers=("weak",))
    number = decision_of(judged(weak, strong, limits=limits)).number
    assert (number.value, number.among) == ("70.0%", "")


def test_number_names_its_attacker_where_the_risk_is_about_another_number(make, make_estimate):
    metrics = right(make_estimate, 0.7, "accuracy_own", accuracy_mean=make_estimate(0.9, 0.88, 0.92))
    verdict = make(domain="locations", knowledge="zero", n_targets=9, metrics=metrics)
    risk = Risk(status=RiskStatus.OVER, metric="accuracy_mean", value=0.9, low=0.88, limit=0.6)
    run = judged(replace(verdict, risk=risk), limits=Limits(metrics={"accuracy": 0.6}))
    assert decision_of(run).number.title == (
        "correct identifications on average over 9 targets by the attacker who has only the release"
    )


def test_only_target_is_not_called_the_most_exposed(make, make_estimate):
    metrics = right(make_estimate, 0.7, accuracy_worst=make_estimate(0.7, 0.6, 0.8))
    assert decision_of(judged(make(metrics=metrics))).number.worst == ""


def test_control_is_beside_the_leading_number_and_never_leads(make, make_estimate):
    seeing = make(domain="models", label="loss", knowledge="black_box", metrics=right(make_estimate, 0.86))
    control = make(domain="models", label="blind", knowledge="blind", metrics=right(make_estimate, 0.97))
    run = judged(control, seeing)
    assert leading_verdict(run) is seeing
    number = decision_of(run).number
    assert (number.value, number.control) == ("86.0%", "97.0%")
    assert leading_verdict(judged(control)) is None


def test_run_without_numbers_says_so(make, make_estimate):
    decision = decision_of(judged(make(metrics={"accuracy": make_estimate(None)})))
    assert decision.number is None
    assert decision.risk.tone == "warn"
    assert "too few" in decision.risk.text


def test_certain_violations_and_wrong_mechanisms_are_loud(make):
    certain = make("violated", certain=True, evidence=("The output 7 is impossible.", "So is 8."))
    other = make(label="b", about="mechanism", evidence=("The noise is too large.",))
    decision = decision_of(judged(certain, other))
    assert decision.promise.sentences[0] == "Certain: The output 7 is impossible."
    assert decision.alerts == (
        "Certain: So is 8.",
        "The mechanism is not as stated: The noise is too large.",
    )
    assert decision.steps[0].startswith("Do not publish")


def test_mechanism_that_is_not_as_stated_is_no_good_news(make):
    run = judged(make("not violated", about="mechanism", evidence=("The noise is too large.",)))
    decision = decision_of(run)
    assert (decision.promise.tone, run.summary.exit_code) != ("good", 0)
    assert decision.promise.words.endswith("the mechanism is not as stated")
    assert "The noise is too large." in decision.promise.text
    assert "Find out why the mechanism is not as stated" in decision.steps[0]
    assert "the mechanism is not as stated: The noise is too large" in run.summary.reasons
    case = ElementTree.fromstring(junit_text(RunResult(tuple(run.verdicts), run.summary)))[0]
    assert case.find("error").get("message") == "the mechanism is not as stated: The noise is too large."


def test_violation_by_answers_says_what_shows_it(make):
    within = make("not violated", evidence=("The noise is too small.",))
    run = judged(replace(within, finding=Finding.VIOLATED))
    assert "The answers themselves show it, without an attack: The noise is too small." in (
        decision_of(run).promise.text
    )
    assert run.summary.reasons[0] == "the promise is violated: The noise is too small"
    case = ElementTree.fromstring(junit_text(RunResult(tuple(run.verdicts), run.summary)))[0]
    assert case.find("failure").get("message") == "the promise is violated: The noise is too small."


def test_withdrawn_game_says_why(make):
    run = judged(replace(make(), finding=Finding.UNTESTABLE, withdrawn="sessions share their noise"))
    assert decision_of(run).promise.text.startswith("Nothing was tested: sessions share their noise.")
    assert run.summary.reasons[0] == "sessions share their noise"


def test_warnings_are_on_the_first_screen(make):
    verdict = replace(at_risk(make(), RiskStatus.WITHIN, 0.7), bounds={"accuracy": 0.69})
    summary = summarise_run(
        [verdict], limits=Limits(metrics={"accuracy": 0.7}), changed_rounds=True, caveats=["no proof"]
    )
    alerts = decision_of(JudgedRun([verdict], {"summary": summary})).alerts
    assert any("the number of rounds was changed after a result was known" in alert for alert in alerts)
    assert "Beware: no proof." in alerts
    assert (len(summary.warnings), summary.reasons) == (2, ())


def test_release_that_is_not_cleared_says_so_beside_a_green_risk(make):
    verdict = replace(at_risk(make(), RiskStatus.WITHIN, 0.7), finding=Finding.UNDECIDED, rounds_needed=500)
    run = judged(verdict, limits=Limits(metrics={"accuracy": 0.7}))
    assert run.summary.exit_code == 3
    assert decision_of(run).alerts[0].startswith("Not cleared (exit code 3): too few rounds to test")


@pytest.mark.parametrize(
    ("status", "words"),
    [(RiskStatus.OVER, "over your limit of 1%"), (RiskStatus.WITHIN, "within your limit of 1%")],
)
def test_people_recognised_are_named_beside_another_limit(make, status, words):
    verdict = at_risk(make(), RiskStatus.OVER, 0.7)
    people = Risk(status=status, metric="recognised", value=0.358, limit=0.01, attacker="informed")
    limits = Limits(metrics={"accuracy": 0.7}, recognised=0.01)
    summary = summarise_run([verdict], limits=limits, recognised=people)
    text = decision_of(JudgedRun([verdict], {"summary": summary})).risk.text
    assert f"35.8% of the people can be recognised: {words}." in text
    cases = ElementTree.fromstring(junit_text(RunResult((verdict,), summary))).findall("testcase")
    (case,) = (one for one in cases if one.get("name") == "risk: people recognised")
    assert (case.find("failure") is not None) == (status is RiskStatus.OVER)


@pytest.mark.parametrize(("status", "code"), [(RiskStatus.WITHIN, 0), (RiskStatus.NO_LIMIT, 3)])
def test_promise_too_weak_to_test_is_skipped_and_the_gate_decides(make, status, code):
    weak = replace(
        at_risk(make("undecided", bounds={"accuracy": 1.0}), status, 0.7),
        finding=Finding.UNDECIDED,
        rounds_needed=None,
    )
    limits = Limits(metrics={"accuracy": 0.7}) if status is RiskStatus.WITHIN else Limits()
    summary = summarise_run([weak], limits=limits)
    assert summary.exit_code == code
    suite = ElementTree.fromstring(junit_text(RunResult((weak,), summary)))
    assert (suite.get("skipped"), suite.get("failures"), suite.get("errors")) == (
        "1",
        "0",
        "1" if code else "0",
    )
    (skipped,) = (case.get("name") for case in suite if case.find("skipped") is not None)
    assert skipped.startswith("promise: ")


def test_promise_to_all_records_together_says_where_its_epsilon_comes_from(make):
    promised = {
        "epsilon": 29_251_752.0,
        "delta": 1e-5,
        "unit": "group",
        "nominal": {"epsilon": 1.0, "unit": "record"},
    }
    text = decision_of(judged(make(promised=promised, bounds={"accuracy": 1.0}))).promise.text
    assert "(ε = 29,251,752, added up from ε = 1 for one record)" in text


@pytest.mark.parametrize("bounds", [0.6, 0.8, 0.99])
def test_promise_to_the_most_active_person_is_never_hidden_by_the_targets(make, bounds):
    promised = {"epsilon": 3.0, "delta": 0.0, "unit": "user", "nominal": {"epsilon": 1.0, "unit": "event"}}
    least = {"epsilon": 40.0, "accuracy": 0.9991, "parts": 40}
    verdict = make(
        promised=promised | {"least_protected": least}, bounds={"accuracy": bounds, "epsilon": 3.0}
    )
    answer = decision_of(judged(verdict)).promise
    assert "the most active target (ε = 3, stated as ε = 1 for one event)" in answer.text
    assert (
        "To the most active person of the data, who is not a target, it promises only ε = 40" in answer.text
    )
    assert (answer.tone, answer.words) == ("bad", "Promise not violated, but too weak to protect")
    everybody = make(promised=promised | {"least_protected": {**least, "epsilon": 3.0, "accuracy": bounds}})
    assert "who is not a target" not in decision_of(judged(everybody)).promise.text


def exposure(**changes):
    attackers = [
        {"attacker": name, "recognised": {"accuracy": 0.9, "people": people}}
        for name, people in (("zero", 1139), ("informed", 2527))
    ]
    audit = {"audit": "city", "domain": "locations", "people": 5000, "attackers": attackers}
    return {"audits": [audit | changes]}


def test_people_are_counted_for_the_best_attacker(make):
    run = judged(make(audit="city"), exposure=exposure())
    assert people_sentence(run, "city") == (
        "Of 5,000 people, 2,527 (50.5%) can be recognised by the attacker who knows everyone else's data: "
        "right about them at least 90% of the time."
    )


def test_people_counted_by_noise_that_the_audit_refutes_are_doubted(make):
    said = "This is computed for the noise as stated, which this audit refutes: it may be far more."
    broken = judged(make("violated", audit="city"), exposure=exposure())
    assert people_sentence(broken, "city").endswith(said)
    elsewhere = judged(make("violated", audit="town"), exposure=exposure())
    assert said not in people_sentence(elsewhere, "city")


@pytest.mark.parametrize("finished", [True, False])
def test_the_interval_of_one_finished_release_says_what_it_is_over(finished, make, make_estimate):
    method = f"jackknife, {ONE_RELEASE_SCOPE}" if finished else "jackknife over rounds"
    metrics = {"accuracy": make_estimate(0.757, 0.712, 0.799, method=method)}
    run = judged(at_risk(make(rounds=1, n_targets=400, metrics=metrics), RiskStatus.NO_LIMIT))
    said = "This interval is over the records of this one release, and says nothing about other releases."
    assert (said in decision_of(run).risk.text) == finished
    assert report_origin(run).endswith(f"1 {'finished' if finished else 'simulated'} release")


def test_random_groups_are_said(make):
    run = judged(make(audit="city"), exposure=exposure(setting="in random groups of 1,000"))
    assert "(50.5%) can be recognised in random groups of 1,000 by the attacker" in people_sentence(
        run, "city"
    )


def test_no_sentence_about_people_without_counts(make):
    assert people_sentence(judged(make()), None) == ""
    assert people_sentence(judged(make(), exposure=exposure(attackers=[])), None) == ""


def test_sentences_are_never_cut_in_the_middle(make):
    long = (
        "A question and the same question without the target get the same answer" + ", and so on" * 30 + "."
    )
    run = judged(make("violated", evidence=(long, "A second sentence. " * 20)))
    other = judged(make("violated"), make(label="b", about="mechanism", evidence=(long,)))
    page = " ".join([*decision_of(run).alerts, *decision_of(other).alerts, meaning_of(run.verdicts[0])])
    appendix = conformance.section(
        replace(
            run,
            verdicts=[
                replace(
                    run.verdicts[0],
                    conformance=[
                        {
                            "name": "size",
                            "n": 9,
                            "p_value": 0.0,
                            "rejected": True,
                            "violates": True,
                            "reveals": False,
                        }
                    ],
                )
            ],
        )
    )
    assert long in page
    assert long in appendix.html
    assert "…" not in page + appendix.html
    assert "A second sentence." in appendix.html


def test_success_above_the_promise_is_not_called_within_it():
    """Randomized response, right in 367 of 400 rounds: 91.8% (88.6% to 94.2%), and 88.1% are allowed."""
    n, n_right = 400, 367
    members = np.arange(n) % 2 == 0
    scores = np.where(members == (np.arange(n) < n_right), 1.0, -1.0)
    trials = Trials(
        np.arange(n),
        np.zeros(n, np.int64),
        members,
        scores,
        Coins.FAIR,
        Reading(threshold=0.0, signed=True, fraction=1.0),
    )
    subject = VerdictSubject(
        audit="a", domain="queries", label="split", attack="x", knowledge="known", parameters={}, seed=1
    )

    def found(epsilon, n_verdicts):
        return judge_trials(
            trials,
            guarantee=Guarantee(epsilon=epsilon),
            subject=subject,
            metrics=MetricsTable(),
            n_verdicts=n_verdicts,
        )

    alone, among_many = found(2.0, 1), found(2.0, 300)
    assert alone.finding is Finding.VIOLATED
    assert among_many.finding is Finding.NOT_VIOLATED
    decision = decision_of(judged(among_many))
    assert "right more often than the 88.1% that the promise allows" in decision.promise.text
    assert "corrected for all comparisons" in decision.promise.text
    assert "No attack tried did better" not in decision.promise.text
    assert decision.promise.tone == "warn"
    assert any("rounds = 1600" in step for step in decision.steps)
    assert "stayed within" not in meaning_of(among_many)
    within = found(2.5, 1)
    assert within.finding is Finding.NOT_VIOLATED
    assert "No attack tried did better" in decision_of(judged(within)).promise.text


def test_success_above_the_promise_says_what_the_test_of_epsilon_shows(make, make_estimate):
    metrics = {"accuracy": make_estimate(0.78, 0.75, 0.81), "epsilon": make_estimate(1.1, 0.95)}
    text = decision_of(judged(make(metrics=metrics))).promise.text
    assert "shows only ε of at least 0.950, and 1 is promised" in text


@pytest.mark.parametrize(
    ("name", "value", "low", "said"),
    [
        ("accuracy", 0.745, 0.72, "was right more often than the 73.1% that the promise allows (74.5%)"),
        ("accuracy_own", 0.745, None, "was right more often than the 73.1% that the promise allows (74.5%)"),
        ("auc", 0.745, 0.72, "reached a larger AUC than the 0.731 that the promise allows (0.745)"),
        ("epsilon", 1.2, 0.9, "points to a larger ε than the 1 that is promised (1.20)"),
    ],
)
def test_a_value_above_the_promise_within_its_interval_is_left_to_chance(
    make, make_estimate, name, value, low, said
):
    usual = make()
    assert "No attack tried did better" in decision_of(judged(usual)).promise.text
    above = replace(usual, metrics={**usual.metrics, name: make_estimate(value, low, value + 0.03)})
    answer = decision_of(judged(usual, replace(above, label="best"))).promise
    assert f"The best attack, best, {said}, but by no more than chance may explain." in answer.text
    assert "No attack tried did better" not in answer.text
    assert (answer.tone, answer.words) == ("good", "Promise not violated")
    assert meaning_of(above).endswith("but by no more than chance may explain.")
    assert "stayed within the promise" in meaning_of(usual)


def test_a_value_that_is_written_like_the_bound_is_not_above_it(make, make_estimate):
    metrics = {"accuracy": make_estimate(0.73112, 0.72, 0.74)}
    assert "No attack tried did better" in decision_of(judged(make(metrics=metrics))).promise.text


@pytest.mark.parametrize(
    ("name", "value", "low", "said"),
    [
        (
            "auc",
            0.78,
            0.74,
            "reached a larger AUC than the 0.731 that the promise allows (0.780), but not by",
        ),
        ("epsilon", 1.4, 1.1, "points to a larger ε than the 1 that is promised (1.40), but not by enough"),
    ],
)
def test_an_interval_above_the_promise_is_said_of_auc_and_epsilon_too(
    make, make_estimate, name, value, low, said
):
    """A finding may be corrected for many comparisons, and the interval is not."""
    usual = make()
    above = replace(usual, metrics={**usual.metrics, name: make_estimate(value, low, 2.0)})
    answer = decision_of(judged(above)).promise
    assert said in answer.text
    assert (answer.tone, answer.words) == ("warn", "Promise not violated so far")
    assert "but not by enough to be sure" in meaning_of(above)


@pytest.mark.parametrize(
    ("low", "why"), [(0.62, "may be within it"), (0.66, "corrected for all comparisons")]
)
def test_success_above_an_exact_curve_does_not_speak_of_epsilon(make, make_estimate, low, why):
    """Ten answers of Laplace noise with ε = 0.25 allow 64.8%, much less than ε = 2.5 alone would."""
    metrics = {
        "accuracy_own": make_estimate(0.71, 0.67, 0.75),
        "accuracy": make_estimate(0.70, low, 0.76),
        "epsilon": make_estimate(0.6, 0.42),
    }
    promised = {"epsilon": 2.5, "delta": 0.0, "relation": "add_remove", "unit": "record"}
    verdict = make(metrics=metrics, promised=promised, bounds={"epsilon": 2.5, "accuracy": 0.648})
    text = decision_of(judged(verdict)).promise.text
    assert "than the 64.8% that the promise allows" in text
    assert why in text
    assert "ε of at least" not in text


def test_a_fault_that_so_few_sessions_would_not_show_is_named(make):
    row = {"name": "repeated_for_data", "n": 20, "p_value": 0.3, "rejected": False, "violates": True}
    row |= {"reveals": True, "unnoticed": "So few sessions would probably not show a cache. Run more rounds."}
    found = make(domain="queries", conformance=[row])
    html = conformance.section(judged(found)).html
    assert html.count("So few sessions would probably not show a cache. Run more rounds.") == 1
    old = {name: value for name, value in row.items() if name != "unnoticed"}
    assert "So few" not in conformance.section(judged(make(domain="queries", conformance=[old]))).html
