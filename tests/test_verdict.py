import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from known_trials import SIGNED, coins, gaussian, laplace, randomized_response, shared_cell, trials
from leakgauge import catalog, verdict
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.plan import MetricsTable
from leakgauge.promise_tests import StoppingSchedule, promise_refuted
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.noise_tests import NoiseTest
from leakgauge.risk import Risk, RiskStatus
from leakgauge.runner.in_memory import judge
from leakgauge.theory import gdp
from leakgauge.verdict import (
    Finding,
    VerdictSubject,
    judge_trials,
    risk_without_game,
    verdicts_from_json,
    verdicts_to_json,
)
from night import others_at_night

SUBJECT = VerdictSubject(audit="a", domain="d", label="l", attack="x", knowledge="k", parameters={}, seed=1)
METRIC_NAMES = {
    "auc",
    "auc_mean",
    "accuracy",
    "accuracy_mean",
    "accuracy_own",
    "accuracy_worst",
    "advantage",
    "advantage_own",
    "advantage_per_release",
    "tpr",
    "tnr",
    "tpr_at_fpr_0.1",
    "tpr_at_fpr_0.01",
    "tpr_at_fpr_0.001",
    "epsilon",
}


def rng(*key):
    return np.random.default_rng([20240501, *key])


def judged(rows, epsilon=None, **more):
    guarantee = None if epsilon is None else Guarantee(epsilon=epsilon, delta=more.pop("delta", 0.0))
    return judge_trials(
        rows, guarantee=guarantee, subject=SUBJECT, metrics=more.pop("metrics", MetricsTable()), **more
    )


def test_broken_promise_is_violated():
    found = judged(randomized_response(2.0, 2_000, rng(1)), 1.0)
    assert found.finding is Finding.VIOLATED
    assert found.metrics["epsilon"].low > 1.0


def noise_test(p_value, *, violates=True):
    return NoiseTest(name="t", p_value=p_value, finding="it differs", violates=violates, n=7)


def kept(conformance, epsilon=3.0, **more):
    return judged(randomized_response(1.0, 400, rng(77)), epsilon, conformance=conformance, **more)


def test_certain_evidence_violates_without_the_game():
    found = kept(Conformance(certain=("It answers on.",), departures=("The cache redraws.",)))
    assert (found.finding, found.certain, found.about) == (Finding.VIOLATED, True, None)
    assert found.evidence == ("It answers on.", "The cache redraws.")


def test_tests_of_transcripts_share_half_of_the_error_by_holm():
    """At 0.95 they have 0.025, so that of two tests the smaller p value must be at most 0.0125."""
    found = kept(Conformance(tests=(noise_test(0.0126), noise_test(0.9))))
    assert found.finding is Finding.NOT_VIOLATED
    found = kept(Conformance(tests=(noise_test(0.0124), noise_test(0.9))))
    assert (found.finding, found.certain, found.about) == (Finding.VIOLATED, False, None)
    assert found.evidence == ("It differs (by chance once in 81 times, 7 values).",)
    assert [row["rejected"] for row in found.conformance] == [True, False]
    assert kept(Conformance(tests=(noise_test(0.0124),)), n_verdicts=2).finding is Finding.VIOLATED
    assert kept(Conformance(tests=(noise_test(0.0126),)), n_verdicts=2).finding is Finding.NOT_VIOLATED


def test_game_has_half_of_the_error_beside_transcripts():
    rows = randomized_response(2.0, 400, rng(78))
    with_half = judged(rows, 1.0, conformance=Conformance(), metrics=MetricsTable(confidence=0.9))
    assert with_half.rounds_needed == judged(rows, 1.0, metrics=MetricsTable(confidence=0.95)).rounds_needed


def test_other_noise_is_about_the_mechanism_and_keeps_the_finding():
    found = kept(Conformance(tests=(noise_test(1e-20, violates=False),)))
    assert (found.finding, found.certain, found.about) == (Finding.NOT_VIOLATED, False, "mechanism")
    unpromised = kept(Conformance(tests=(noise_test(1e-20),)), None)
    assert (unpromised.finding, unpromised.certain, unpromised.about) == (None, False, "mechanism")


def test_early_stop_leaves_only_what_is_certain():
    schedule = StoppingSchedule(block=100)
    assert not kept(Conformance(tests=(noise_test(1e-20),)), schedule=schedule).evidence
    assert kept(Conformance(certain=("It answers on.",)), schedule=schedule).certain


@pytest.mark.parametrize("why", ["dependent", "unanswered"])
def test_rounds_that_are_no_evidence_are_withdrawn(why):
    rows = randomized_response(9.0, 400, rng(79))
    found = judged(rows, 1.0, conformance=Conformance(**{why: "sessions share noise"}))
    assert (found.finding, found.withdrawn) == (Finding.UNTESTABLE, "sessions share noise")
    assert {estimate.value for estimate in found.metrics.values()} == {None}
    certain = judged(rows, 1.0, conformance=Conformance(certain=("Equal.",), dependent="shared"))
    assert (certain.finding, certain.certain) == (Finding.VIOLATED, True)
    risk = verdict.risk_without_game(found, Risk(status=RiskStatus.OVER, value=0.99, limit=0.6))
    assert (risk.status, risk.value) == (RiskStatus.UNDECIDED, None)
    bound = "by the promise an attacker is right at most 73.1% of the time"
    assert risk.reason == f"sessions share noise; {bound}"
    (again,) = verdicts_from_json(json.loads(json.dumps(verdicts_to_json([found]))))
    assert again.withdrawn == found.withdrawn


def test_kept_promise_is_not_violated():
    found = judged(randomized_response(1.0, 2_000, rng(2)), 1.5)
    assert found.finding is Finding.NOT_VIOLATED


def test_too_few_rounds_are_undecided_with_rounds_needed():
    found = judged(randomized_response(9.0, 200, rng(3)), 5.0)
    assert found.finding is Finding.UNDECIDED
    assert found.rounds_needed == pytest.approx(447, abs=2)


def test_untestable_promise_has_null_rounds_needed():
    rows = randomized_response(1.0, 200, rng(4))
    together = trials(rows.members, rows.scores, SIGNED, n_targets=2)
    assert judged(together, 12.0, delta=1e-3).rounds_needed is None  # all bits may be shown at once
    assert judged(rows, 40.0).rounds_needed is None
    assert judged(rows, 12.0, delta=1e-3).rounds_needed == pytest.approx(5.0e5, rel=0.02)


def test_no_promise_gives_no_finding():
    found = judged(laplace(1.0, 300, rng(5)))
    assert found.finding is None
    assert found.promised is None
    assert found.bounds == {}
    assert found.metrics["epsilon"].low is not None


def test_alpha_is_divided_by_number_of_verdicts():
    """A bound just above the promise at 95 % is no violation among 500 verdicts."""
    rows = randomized_response(1.3, 2_000, rng(6))
    bound = judged(rows, 1.0).metrics["epsilon"].low
    assert judged(rows, bound - 0.01).finding is Finding.VIOLATED
    many = judged(rows, bound - 0.01, n_verdicts=500)
    assert many.finding is Finding.NOT_VIOLATED
    assert many.corrected_for == 500
    assert many.metrics["epsilon"].low == bound  # the interval is still per verdict


def test_verdict_has_all_documented_metrics():
    assert set(judged(laplace(1.0, 300, rng(7)), 1.0).metrics) >= METRIC_NAMES


def test_bounds_follow_from_promise():
    bounds = judged(laplace(1.0, 300, rng(8)), math.log(3)).bounds
    assert bounds["epsilon"] == pytest.approx(math.log(3))
    assert bounds["accuracy"] == pytest.approx(0.75)
    assert bounds["advantage"] == pytest.approx(0.5)
    assert bounds["advantage_own"] == bounds["advantage_per_release"] == pytest.approx(0.5)
    assert "advantage_independent" not in bounds
    assert bounds["tpr_at_fpr_0.1"] == pytest.approx(0.3)
    assert bounds["auc"] == pytest.approx(0.75)  # two lines through (1/4, 3/4)


def test_group_promise_keeps_independent_bound():
    """Figure 1 of Humphries et al. (2023): 0.462 at epsilon 1; a group of 10,000 may lose everything."""
    group = Guarantee(epsilon=1e4, delta=1e-5, unit=Unit.GROUP, nominal_epsilon=1.0, nominal_unit=Unit.RECORD)
    found = judge_trials(laplace(1.0, 300, rng(8)), guarantee=group, subject=SUBJECT, metrics=MetricsTable())
    assert found.bounds["advantage_independent"] == pytest.approx((math.e - 1 + 2e-5) / (math.e + 1))
    assert found.bounds["advantage"] == pytest.approx(1)


def test_in_sample_optimum_is_computed_on_request():
    rows = laplace(1.0, 300, rng(8))
    shared = replace(rows, rounds=np.zeros(300, np.int64), targets=np.arange(300))
    asked = judged(shared, 1.0, metrics=MetricsTable(in_sample=True))
    assert set(asked.metrics) - set(judged(shared, 1.0).metrics) == {
        "advantage_in_sample",
        "advantage_in_sample_null",
    }
    assert asked.metrics["advantage_in_sample"].value > asked.metrics["advantage_in_sample_null"].value
    assert asked.finding is judged(shared, 1.0).finding
    assert not any("in_sample" in name for name in asked.bounds)


def test_exact_curve_detects_more_than_epsilon():
    """Gaussian noise of half the promised size: accuracy breaks the exact curve long before epsilon does."""
    sigma = gdp.sigma_for(1.0, 1e-5)
    rows = gaussian(sigma / 2, 2_000, rng(9))
    loose = Guarantee(epsilon=1.0, delta=1e-5)
    exact = Guarantee(epsilon=1.0, delta=1e-5, curve=gdp.curve(1 / sigma))
    found = [
        judge_trials(rows, guarantee=g, subject=SUBJECT, metrics=MetricsTable()).finding
        for g in (loose, exact)
    ]
    assert found == [Finding.NOT_VIOLATED, Finding.VIOLATED]


def test_kept_curve_is_rarely_called_violated():
    sigma, stream = gdp.sigma_for(1.0, 1e-5), rng(10)
    exact = Guarantee(epsilon=1.0, delta=1e-5, curve=gdp.curve(1 / sigma))
    found = [
        verdict.decide_finding(gaussian(sigma, 1_000, stream), exact, MetricsTable(), 1, None)
        is Finding.VIOLATED
        for _ in range(300)
    ]
    assert np.mean(found) <= 0.08


@pytest.mark.parametrize(("epsilon", "n"), others_at_night([(6.0, 200), (8.0, 1_000)], (6.0, 200)))
def test_kept_curve_with_few_errors_is_rarely_called_violated(epsilon, n):
    promise = catalog.build(catalog.MECHANISMS, "Mechanism", "laplace", {"epsilon": epsilon}).guarantee
    stream = rng(21, n)
    found = [
        verdict.decide_finding(laplace(epsilon, n, stream), promise, MetricsTable(), 1, None)
        for _ in range(300)
    ]
    assert np.mean([one is Finding.VIOLATED for one in found]) <= 0.08


@pytest.mark.nightly
def test_kept_curve_in_shared_rounds_is_rarely_called_violated():
    stream, promise = rng(22), Guarantee(epsilon=20.0, delta=1e-9, curve=gdp.curve(2.0))

    def make():
        one = gaussian(0.5, 400, stream)
        return trials(one.members, one.scores, SIGNED, n_targets=4)

    found = [verdict.decide_finding(make(), promise, MetricsTable(), 1, None) for _ in range(300)]
    assert np.mean([one is Finding.VIOLATED for one in found]) <= 0.08


def one_release(sigma, stream):
    one = gaussian(sigma, 5_000, stream)
    return trials(one.members, one.scores, SIGNED, n_targets=5_000)


def test_rejected_curve_is_no_rejected_epsilon():
    """One release of 5,000 canaries, true epsilon 8 and promised 4: the curve is refuted, epsilon is not."""
    promise = Guarantee(epsilon=4.0, delta=1e-5, curve=gdp.curve(gdp.mu_for(4.0, 1e-5)))
    rows = one_release(gdp.sigma_for(8.0, 1e-5), rng(24))
    ask = {"subject": SUBJECT, "metrics": MetricsTable()}
    found = judge_trials(rows, guarantee=promise, **ask)
    assert (found.finding, found.about) == (Finding.VIOLATED, "curve")
    assert found.metrics["epsilon"].low < 4.0
    assert verdicts_from_json(json.loads(json.dumps(verdicts_to_json([found]))))[0].about == "curve"
    stated = judge_trials(rows, guarantee=replace(promise, curve=None), **ask)
    assert (stated.finding, stated.about) == (Finding.NOT_VIOLATED, None)
    given = judge_trials(replace(rows, coins=Coins.GIVEN), guarantee=promise, **ask)
    assert given.finding is not Finding.VIOLATED
    both = judge_trials(one_release(0.1, rng(25)), guarantee=promise, **ask)
    assert (both.finding, both.about) == (Finding.VIOLATED, None)


@pytest.mark.parametrize(("chance", "finding"), [(0.006, Finding.UNDECIDED), (0.001, Finding.VIOLATED)])
def test_curve_of_one_release_is_tested_at_its_part_of_the_error(chance, finding):
    """A release that shows all bits at once with this chance, and did: a twelfth of 5 % may be lost on it."""
    curve = TradeoffCurve(np.array([0.0, 1.0]), np.array([chance, 1.0]))
    members = coins(4_000, rng(26))
    rows = trials(members, np.where(members, 1.0, -1.0), SIGNED, n_targets=4_000)
    promise = Guarantee(epsilon=20.0, curve=curve)  # too large to be refuted by itself
    found = verdict.compare_with_promise(rows, promise, MetricsTable(), 1, None)
    assert found == (finding, "curve" if finding is Finding.VIOLATED else None)


def test_rounds_needed_counts_trials_not_names():
    """Every row a target of its own: a round is still one trial."""
    rows = randomized_response(9.0, 200, rng(23))
    named = replace(rows, targets=np.arange(200))
    assert judged(named, 5.0).rounds_needed == judged(rows, 5.0).rounds_needed


def test_given_membership_plans_with_its_own_bound():
    given = trials(np.arange(300) < 150, np.arange(300), coins=Coins.GIVEN)
    assert judged(given, 3.0).instrument["planted"]["epsilon"] > 0
    assert judged(given, 3.0).rounds_needed is None  # it is not compared with a promise
    shared = trials(np.arange(300) < 150, np.arange(300), coins=Coins.GIVEN, n_targets=3)
    found = judged(shared, 3.0)
    assert found.rounds_needed is None
    assert found.instrument["planted"]["epsilon"] is None


def test_kept_promise_is_called_violated_in_at_most_5_of_100_runs():
    stream, promise = rng(11), Guarantee(epsilon=1.0)
    found = [
        verdict.decide_finding(randomized_response(1.0, 500, stream), promise, MetricsTable(), 1, None)
        is Finding.VIOLATED
        for _ in range(1_000)
    ]
    assert np.mean(found) <= 0.072


def test_roc_has_at_most_500_points():
    found = judged(laplace(1.0, 20_000, rng(13)), 1.0)
    assert len(found.roc["fpr"]) <= 500
    assert len(found.bound_roc["fpr"]) <= 500


def test_targets_are_listed_by_position():
    found = judged(shared_cell(100, 5, 1.0, rng(14)), 1.0)
    assert (found.rounds, found.n_targets) == (100, 5)
    assert [row["target"] for row in found.per_target] == list(range(5))
    assert set(found.per_target[0]["metrics"]) == {"auc", "accuracy", "accuracy_own"}


def test_given_membership_is_stated():
    rows = trials(np.arange(300) < 150, np.arange(300), coins=Coins.GIVEN)
    found = judged(rows, 1.0)
    assert found.coins == "given"
    assert "Clopper-Pearson" in found.metrics["epsilon"].method


def test_every_verdict_checks_its_instrument():
    found = judged(laplace(1.0, 500, rng(15)), 1.0).instrument
    assert found["null"]["rate"] <= 0.1
    assert 0 < found["planted"]["epsilon"] < found["planted"]["violating_epsilon"]


def test_early_stopping_keeps_only_the_e_process():
    schedule = StoppingSchedule(block=100)
    rows = randomized_response(3.0, 500, rng(16))
    guarantee = Guarantee(epsilon=1.0)
    ask = {"guarantee": guarantee, "metrics": MetricsTable(), "n_verdicts": 1, "schedule": schedule}
    assert promise_refuted(rows, **ask)
    assert not promise_refuted(randomized_response(0.5, 500, rng(17)), **ask)
    found = judge_trials(
        rows,
        guarantee=guarantee,
        subject=SUBJECT,
        metrics=MetricsTable(),
        stopped_early=True,
        schedule=schedule,
    )
    assert found.finding is Finding.VIOLATED
    assert "e-process" in found.metrics["epsilon"].method
    assert found.metrics["auc"].low is None
    assert found.metrics["auc"].value is not None
    assert "stop early" in found.metrics["auc"].reason


def test_unknown_metric_suggests_the_nearest():
    with pytest.raises(BadInput, match="epsilon_one_run"):
        judged(laplace(1.0, 100, rng(18)), 1.0, metrics=MetricsTable(epsilon="one_ran"))


def test_errorless_scores_violate_every_testable_promise():
    members = coins(1_000, rng(19))
    assert judged(trials(members, members * 2.0 - 1, SIGNED), 5.0).finding is Finding.VIOLATED


def test_unlimited_curve_is_never_violated():
    free = TradeoffCurve(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    rows = laplace(4.0, 500, rng(20))
    found = judge_trials(
        rows, guarantee=Guarantee(epsilon=50.0, curve=free), subject=SUBJECT, metrics=MetricsTable()
    )
    assert found.finding is Finding.UNDECIDED


def test_utility_is_mean_over_rounds_that_have_it():
    rows = laplace(1.0, 40, rng(7))
    right = np.tile([0.5, np.nan, 1.0, np.nan], 10)
    made = judged(replace(rows, utility={"members": np.tile([0.2, 0.4], 20), "others": right}))
    assert made.utility == {"members": pytest.approx(0.3), "others": 0.75}
    assert judged(replace(rows, utility={"others": np.full(40, np.nan)})).utility is None


@pytest.mark.parametrize("n_targets", [1, 4])
def test_rounds_needed_suffice_to_violate_a_curve_that_allows_almost_everything(n_targets):
    # epsilon is infinite, and an attacker may be right 99 % of the time
    fpr = np.array([0.0, 0.0, 0.01, 1.0])
    guarantee = Guarantee(epsilon=math.inf, curve=TradeoffCurve(fpr, np.array([0.0, 0.98, 0.99, 1.0])))

    def perfect(n_rounds):
        members = coins(n_rounds * n_targets, rng(60, n_rounds))
        return trials(members, members * 2.0 - 1, SIGNED, n_targets=n_targets)

    def found(n_rounds):
        return judge_trials(
            perfect(n_rounds), guarantee=guarantee, subject=SUBJECT, metrics=MetricsTable(), n_verdicts=10
        )

    few = found(60)
    assert few.finding is Finding.UNDECIDED
    assert found(few.rounds_needed).finding is Finding.VIOLATED


@pytest.mark.parametrize("mu", [0.3, 1.5])
def test_rounds_needed_of_a_curve_count_its_one_run_test(mu):
    """Twenty targets in a release: their guesses contradict the curve before any rate has an interval."""
    guarantee = Guarantee(epsilon=math.inf, curve=gdp.curve(mu))

    def found(n_rounds):
        members = coins(n_rounds * 20, rng(61, n_rounds))
        rows = trials(members, members * 2.0 - 1, SIGNED, n_targets=20)
        return judge_trials(rows, guarantee=guarantee, subject=SUBJECT, metrics=MetricsTable())

    few = found(1)
    assert few.finding is Finding.UNDECIDED
    assert few.rounds_needed < 30
    assert found(few.rounds_needed).finding is Finding.VIOLATED
    assert found(max(1, few.rounds_needed // 3)).finding is Finding.UNDECIDED


@pytest.mark.nightly
@pytest.mark.parametrize("n_targets", others_at_night([1, 10], 10))
def test_kept_curve_near_one_is_rarely_called_violated_in_few_rounds(n_targets):
    """Gaussian noise with an AUC of .99 and 40 rounds: it was accused in 6 % of the audits."""
    mu, stream = float(np.sqrt(2) * ndtri(0.99)), rng(27, n_targets)
    promise = Guarantee(epsilon=20.0, delta=1e-9, curve=gdp.curve(mu))

    def make():
        one = gaussian(1 / mu, 40 * n_targets, stream)
        return trials(one.members, one.scores, SIGNED, n_targets=n_targets)

    found = [verdict.decide_finding(make(), promise, MetricsTable(), 1, None) for _ in range(300)]
    assert np.mean([one is Finding.VIOLATED for one in found]) <= 0.05


def test_json_round_trips():
    promise = Guarantee(
        epsilon=math.inf,
        relation=Relation.REPLACE_ONE,
        unit=Unit.USER,
        nominal_epsilon=1.0,
        nominal_unit=Unit.EVENT,
    )
    found = judge_trials(
        laplace(1.0, 300, np.random.default_rng(12)),
        guarantee=promise,
        subject=SUBJECT,
        metrics=MetricsTable(),
    )
    content = json.loads(json.dumps(verdicts_to_json([found]), allow_nan=False))
    assert content["schema"] == 2
    one = content["verdicts"][0]
    assert one["promised"] == {
        "epsilon": None,
        "delta": 0.0,
        "relation": "replace_one",
        "unit": "user",
        "nominal": {"epsilon": 1.0, "unit": "event"},
        "exact_epsilon": None,
        "composed": None,
        "least_protected": None,
    }
    assert one["bounds"]["epsilon"] is None
    assert set(one["metrics"]["epsilon"]) == {
        "value",
        "low",
        "high",
        "confidence",
        "method",
        "reason",
        "high_any_split",
    }
    back = verdicts_from_json(content)[0]
    assert back.metrics["epsilon"] == found.metrics["epsilon"]
    assert back.finding == found.finding


def test_a_departure_does_not_hide_what_the_game_shows():
    rows = randomized_response(6.0, 2_000, rng(78))
    found = judged(rows, 1.0, conformance=Conformance(departures=("The cache redraws.",)))
    assert (found.finding, found.about) == (Finding.VIOLATED, None)


@pytest.mark.parametrize("reveals", [False, True])
def test_what_tells_the_target_beside_the_answers_is_never_within_a_limit(reveals):
    test = NoiseTest(
        name="t", p_value=1e-6, finding="errors tell the target", violates=False, n=7, reveals=reveals
    )
    found = kept(Conformance(tests=(test,)))
    assert found.about == "mechanism"
    within = Risk(status=RiskStatus.WITHIN, value=0.6, low=0.55, high=0.65)
    status = verdict.risk_without_game(found, within).status
    assert status is (RiskStatus.UNDECIDED if reveals else RiskStatus.WITHIN)


def test_advice_on_reversed_scores_is_about_what_the_user_can_change():
    rows = randomized_response(3.0, 400, rng(21))
    turned = replace(rows, scores=-rows.scores)
    ours = replace(SUBJECT, domain="queries", attack="split_likelihood")
    for subject, coins_of, words in (
        (SUBJECT, Coins.FAIR, "check the sign of the scores"),
        (replace(ours, attack="mine:Attack"), Coins.FAIR, "check the sign of the scores"),
        (ours, Coins.GIVEN, "who is called a member"),
        (ours, Coins.FAIR, "with and without the target are not swapped"),
    ):
        given = replace(turned, coins=coins_of)
        (note,) = judge_trials(given, guarantee=None, subject=subject, metrics=MetricsTable()).notes
        assert words in note
        assert ("sign of the scores" in note) is not ("swapped" in note)


@pytest.mark.parametrize(("n", "epsilon"), [(10, 1.0), (300, 0.1)])
def test_an_audit_that_would_not_have_noticed_the_promise_as_a_leak_is_undecided(n, epsilon):
    """Ten scores can show an epsilon of 2.4 at best."""
    found = judged(randomized_response(0.0, n, rng(90)), epsilon)
    assert found.instrument["planted"]["epsilon"] > epsilon
    assert found.finding is Finding.UNDECIDED
    enough = judged(randomized_response(0.0, found.rounds_needed, rng(91)), epsilon)
    assert enough.finding is Finding.NOT_VIOLATED


def test_what_could_be_noticed_is_computed_at_the_error_of_the_finding():
    rows = randomized_response(0.0, 400, rng(92))
    alone, one_of_many = (judged(rows, 0.4, n_verdicts=n) for n in (1, 1000))
    assert alone.instrument["planted"]["epsilon"] < 0.4 < one_of_many.instrument["planted"]["epsilon"]
    assert (alone.finding, one_of_many.finding) == (Finding.NOT_VIOLATED, Finding.UNDECIDED)


def test_beside_a_certain_departure_the_game_says_nothing():
    found = kept(Conformance(departures=("Every tenth step has no noise.",)))
    assert (found.finding, found.about, found.rounds_needed) == (Finding.UNDECIDED, "mechanism", None)
    broken = kept(Conformance(certain=("It answers on.",), departures=("Every tenth step has no noise.",)))
    assert broken.finding is Finding.VIOLATED


def test_nobody_is_cleared_beside_a_channel_that_was_not_read():
    found = kept(Conformance(unread=("the field train_loss of a reply",)))
    (again,) = verdicts_from_json(json.loads(json.dumps(verdicts_to_json([found]))))
    assert again.unread == found.unread == ("the field train_loss of a reply",)
    for scope in ("the attackers tried", "any attacker with this knowledge"):
        within = Risk(status=RiskStatus.WITHIN, value=0.5, limit=0.6, scope=scope)
        assert verdict.risk_without_game(found, within).status is RiskStatus.UNDECIDED
    over = Risk(status=RiskStatus.OVER, value=0.9, limit=0.6)
    assert verdict.risk_without_game(found, over).status is RiskStatus.OVER


def beside(right, n, *, rejected=True):
    row = {
        "name": "refusals",
        "p_value": 0.0,
        "n": n,
        "rejected": rejected,
        "violates": True,
        "reveals": True,
    }
    return [{**row, "unnoticed": "", "right": right, "channel": "refusals"}]


@pytest.mark.parametrize(
    ("right", "status"), [(50, RiskStatus.OVER), (30, RiskStatus.UNDECIDED)], ids=["tells", "may tell"]
)
def test_what_tells_the_target_beside_the_answers_is_the_risk(right, status):
    """50 of 50 have an exact lower bound of 0.05^(1/50) = 94.2 %; the attack itself is a coin toss."""
    rng = np.random.default_rng(1)
    members = rng.random(400) < 0.5
    found = judge(members, rng.normal(size=400), coins="fair")
    found = replace(found, conformance=beside(right, 50))
    within = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.5, high=0.58, limit=0.7)
    within = replace(within, by_limit={"accuracy": within})
    risk = risk_without_game(found, within, error=0.05)
    assert risk.status is risk.by_limit["accuracy"].status is status
    if status is RiskStatus.OVER:
        assert (risk.value, risk.channel, risk.low) == (1.0, "refusals", pytest.approx(0.05 ** (1 / 50)))
    no_limit = Risk(status=RiskStatus.NO_LIMIT, metric="accuracy_own", value=0.55)
    assert risk_without_game(found, no_limit, error=0.05).value == max(right / 50, 0.55)
    kept = replace(found, conformance=beside(right, 50, rejected=False))
    assert risk_without_game(kept, no_limit, error=0.05).value == 0.55


@pytest.mark.parametrize(("right", "status"), [(59, RiskStatus.UNDECIDED), (40, RiskStatus.WITHIN)])
def test_a_channel_whose_upper_bound_is_above_the_limit_clears_nobody(right, status):
    """Of 60 guesses 59 are right: its lower bound is below 0.95, and its upper bound above."""
    found = judge(np.arange(400) % 2 == 0, np.random.default_rng(1).normal(size=400), coins="fair")
    found = replace(found, conformance=beside(right, 60, rejected=False))
    within = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.5, high=0.58, limit=0.95)
    within = replace(within, by_limit={"accuracy": within})
    assert risk_without_game(found, within, error=0.001).status is status


def test_beside_a_certain_violation_nobody_is_within_a_limit():
    found = replace(kept(Conformance(certain=("A field tells the target.",))), finding=Finding.VIOLATED)
    within = Risk(status=RiskStatus.WITHIN, metric="accuracy", value=0.5, high=0.58, limit=0.9)
    assert found.certain
    assert risk_without_game(found, replace(within, by_limit={"accuracy": within})).status == "undecided"
