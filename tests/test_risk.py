"""Limits are compared with bounds that are wrong as seldom as they say."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.limits import NO_LIMITS, Limits
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_evaluation import evaluate_rate, rate_metrics
from leakgauge.referee.roc import is_reversed
from leakgauge.risk import (
    ANY_ATTACKER,
    ATTACKERS_TRIED,
    OVERFITTED,
    RiskContext,
    RiskStatus,
    assess_risk,
    count_comparisons,
    rounds_for_limits,
)
from leakgauge.runner.in_memory import judge
from leakgauge.verdict import Finding
from night import others_at_night

LIMIT = 0.6
KNOWN = Estimate(value=0.5, confidence=0.95, method="any; it only has to be there")
LIMITS = Limits(metrics={"accuracy": LIMIT})
AUDITS, AUDITS_BY_DAY = 1000, 300
MOST_WRONG = 0.05  # of the audits, as the confidence says


def most_wrong(n_audits):
    """How many audits may be wrong; of few, as many as are exceeded once in 100 such tests."""
    few = n_audits < AUDITS
    return binom.isf(0.01, n_audits, MOST_WRONG) if few else MOST_WRONG * n_audits


def answers(accuracy, n_rounds, n_targets, rng, shared=0.5):
    """Trials of an attacker who is right about every target with exactly this chance.

    With probability ``shared`` the targets of a round are right or wrong together.
    """
    members = rng.random((n_rounds, n_targets)) < 0.5
    chance = rng.random((n_rounds, n_targets))
    together = rng.random(n_rounds) < shared
    chance[together] = chance[together, :1]
    right = chance < accuracy
    rounds, targets = np.indices(members.shape)
    scores = np.where(members == right, 1.0, -1.0)
    reading = Reading(threshold=0.0, signed=True)
    return Trials(rounds.ravel(), targets.ravel(), members.ravel(), scores.ravel(), Coins.FAIR, reading)


def risk(trials, limits=LIMITS, **context):
    names = ("accuracy_own", "accuracy_mean", "accuracy") if limits is NO_LIMITS else ("accuracy_own",)
    metrics = {name: evaluate_rate(rate_metrics()[name](), trials, 0.95) for name in names}
    metrics |= {name: KNOWN for name in ("accuracy_mean", "accuracy") if name not in metrics}
    return assess_risk(
        trials,
        metrics,
        limits=limits,
        attacker="it",
        counted=True,
        n_rounds=np.unique(trials.rounds).size,
        context=RiskContext(confidence=0.95, **context),
    )


@pytest.mark.parametrize(
    ("n_targets", "attackers", "points", "n_audits"),
    others_at_night(
        [
            (5, 1, 1, AUDITS_BY_DAY),
            (1, 1, 1, AUDITS),
            (5, 1, 1, AUDITS),
            (1, 3, 1, AUDITS),
            (1, 1, 4, AUDITS),
            (4, 2, 3, AUDITS),
        ],
        (5, 1, 1, AUDITS_BY_DAY),
    ),
)
def test_a_release_at_the_limit_is_seldom_called_within_or_over(n_targets, attackers, points, n_audits):
    rng = np.random.default_rng([20240501, n_targets, attackers, points])
    context = {"comparisons": count_comparisons(LIMITS, attackers * points), "sweep_points": points}
    over = within = 0
    for _ in range(n_audits):
        found = [
            [risk(answers(LIMIT, 120, n_targets, rng), **context).status for _ in range(attackers)]
            for _ in range(points)
        ]
        over += any(RiskStatus.OVER in point for point in found)
        within += any(set(point) == {RiskStatus.WITHIN} for point in found)  # somebody picks that point
    assert over <= most_wrong(n_audits)
    assert within <= most_wrong(n_audits)


@pytest.mark.parametrize(
    ("n_rounds", "n_targets", "n_audits"),
    others_at_night(
        [(40, 50, AUDITS_BY_DAY), (40, 50, AUDITS), (120, 10, AUDITS)],
        (40, 50, AUDITS_BY_DAY),
    ),
)
def test_a_release_at_a_limit_near_one_is_seldom_called_over(n_rounds, n_targets, n_audits):
    """Rounds in which all targets are right or wrong together, and a limit of .99: bad rounds are rare."""
    rng, limits = np.random.default_rng([20240502, n_rounds]), Limits(metrics={"accuracy": 0.99})
    found = [risk(answers(0.99, n_rounds, n_targets, rng), limits=limits).status for _ in range(n_audits)]
    assert found.count(RiskStatus.OVER) <= most_wrong(n_audits)
    assert found.count(RiskStatus.WITHIN) <= most_wrong(n_audits)


def test_thresholds_fitted_on_few_rounds_do_not_clear_a_release():
    """Without a threshold of its own an attacker may place one better than these rounds allow."""
    rng, within = np.random.default_rng(20240503), 0
    limit = float(ndtr(0.5))  # of the best threshold between normal scores one standard deviation apart
    for _ in range(200):
        members = rng.random((200, 40)) < 0.5
        rounds, targets = np.indices(members.shape)
        scores = (members + rng.normal(size=members.shape)).ravel()
        trials = Trials(rounds.ravel(), targets.ravel(), members.ravel(), scores, Coins.FAIR, Reading())
        within += risk(trials, limits=Limits(metrics={"accuracy": limit})).status is RiskStatus.WITHIN
    assert within <= most_wrong(200)  # one in 20; with the loss ignored it is one in seven


@pytest.mark.parametrize(("limit", "status"), [(0.9, "within"), (0.55, "over")])
def test_a_single_release_is_compared_over_its_records(limit, status):
    rng = np.random.default_rng(10)
    members = rng.random(600) < 0.5
    found = judge(
        members,
        members + rng.normal(size=600),  # right 69 % of the time
        rounds=np.zeros(600, int),
        targets=np.arange(600),
        limits={"accuracy": limit},
    )
    assert (found.risk.status, found.risk.metric) == (status, "accuracy")
    assert found.risk.scope.startswith("the attackers tried, on this one release")


def test_one_simulated_release_decides_nothing():
    """All 600 targets are right or wrong together: one release at the limit looks far from it."""
    rng = np.random.default_rng(11)
    for accuracy in (LIMIT, 0.0, 1.0):
        trials = replace(answers(accuracy, 1, 600, rng, shared=1.0), repeatable=True)
        found = assess_risk(
            trials,
            {name: evaluate_rate(metric(), trials, 0.95) for name, metric in rate_metrics().items()},
            limits=LIMITS,
            attacker="it",
            counted=True,
            n_rounds=1,
            context=RiskContext(confidence=0.95),
        )
        assert (found.status, found.low, found.high) == (RiskStatus.UNDECIDED, None, None)
        assert found.value in (0.0, 1.0)
        assert found.rounds_needed == 100
        assert "one simulated release, and others may differ" in found.reason


def test_a_single_release_at_its_limit_asks_for_records_not_for_releases():
    rng = np.random.default_rng(10)
    members = rng.random(600) < 0.5
    found = judge(
        members,
        members + rng.normal(size=600),
        rounds=np.zeros(600, int),
        targets=np.arange(600),
        limits={"accuracy": 0.69},
    )
    assert found.risk.status is RiskStatus.UNDECIDED
    assert found.risk.rounds_needed is None
    assert "more members and others would narrow it" in found.risk.reason


@pytest.mark.parametrize("one_release", [True, False])
def test_reversed_scores_do_not_clear_a_release(one_release):
    rng = np.random.default_rng(11)
    members = rng.random(600) < 0.5
    rounds = {"rounds": np.zeros(600, int), "targets": np.arange(600)} if one_release else {}
    found = judge(members, rng.normal(size=600) - members, limits={"accuracy": 0.6}, **rounds)
    assert found.risk.status is RiskStatus.UNDECIDED
    assert "check the sign of the scores" in found.risk.reason


def test_reversed_scores_are_no_evidence_for_a_promise():
    rng = np.random.default_rng(13)
    members = rng.random(600) < 0.5
    found = judge(members, rng.normal(size=600) - members, epsilon=1.0, coins="fair")
    assert found.finding is Finding.UNTESTABLE


@pytest.mark.parametrize("n_targets", [3, 600])
def test_reversed_scores_are_recognised_for_any_number_of_targets(n_targets):
    rng = np.random.default_rng(14)
    members, targets = rng.random(600) < 0.5, np.arange(600) % n_targets
    shift = 5.0 * targets if n_targets == 3 else 0.0  # ranks are those of each target
    scores = rng.normal(size=600) - members + shift
    given = (np.arange(600), targets, members)
    assert is_reversed(Trials(*given, scores, Coins.FAIR, Reading()))
    assert not is_reversed(Trials(*given, scores + 2 * members, Coins.FAIR, Reading()))


def test_scores_without_information_are_not_called_reversed():
    rng = np.random.default_rng(12)
    for n_targets in (1, 10):
        for _ in range(200):
            members = rng.random((60, n_targets)) < 0.5
            rounds, targets = np.indices(members.shape)
            common = rng.normal(size=(60, 1))  # of all targets of a round
            scores = (common + rng.normal(size=members.shape)).ravel()
            trials = Trials(rounds.ravel(), targets.ravel(), members.ravel(), scores, Coins.FAIR, Reading())
            assert not is_reversed(trials)


def test_clear_cases_are_decided():
    rng = np.random.default_rng(1)
    assert risk(answers(0.52, 2000, 3, rng)).status is RiskStatus.WITHIN
    found = risk(answers(0.70, 2000, 3, rng))
    assert found.status is RiskStatus.OVER
    assert found.low > LIMIT


def test_more_comparisons_and_more_points_need_more_evidence():
    trials = answers(0.65, 700, 1, np.random.default_rng(2))
    assert risk(trials).low > risk(trials, comparisons=100).low
    trials = answers(0.55, 700, 1, np.random.default_rng(3))
    assert risk(trials).high < risk(trials, sweep_points=100).high


def test_a_badly_placed_threshold_does_not_clear_a_release():
    rng = np.random.default_rng(4)
    trials = answers(0.9, 1000, 1, rng)
    shifted = Trials(
        trials.rounds, trials.targets, trials.members, trials.scores, Coins.FAIR, Reading(threshold=5.0)
    )
    found = risk(shifted)  # it never says member, but whoever calibrates it is right nine times in ten
    assert found.status is RiskStatus.OVER
    assert found.metric == "accuracy_mean"


def test_numbers_that_know_the_others_do_not_put_an_attacker_over_a_limit():
    rng = np.random.default_rng(4)
    trials = answers(0.9, 1000, 1, rng)
    shifted = Trials(
        trials.rounds, trials.targets, trials.members, trials.scores, Coins.FAIR, Reading(threshold=5.0)
    )
    found = risk(shifted, overfitted=True)  # nor is it within: its threshold may be badly placed
    assert (found.status, found.metric, found.reason) == (RiskStatus.UNDECIDED, "accuracy_mean", OVERFITTED)
    assert risk(trials, overfitted=True).status is RiskStatus.OVER  # at its own threshold
    assert risk(answers(0.5, 1000, 1, rng), overfitted=True).status is RiskStatus.WITHIN


def test_an_attacker_who_does_worse_here_than_elsewhere_clears_nobody():
    rng = np.random.default_rng(6)
    found = risk(answers(0.5, 1000, 1, rng), understated="why")
    assert (found.status, found.reason, found.rounds_needed) == (RiskStatus.UNDECIDED, "why", None)
    assert risk(answers(0.9, 1000, 1, rng), understated="why").status is RiskStatus.OVER
    below = {"accuracy": 0.55}
    exact = risk(answers(0.5, 1000, 1, rng), understated="why", optimum=below)
    assert (exact.status, exact.scope) == (RiskStatus.WITHIN, ANY_ATTACKER)


def test_undecided_says_how_many_rounds_would_decide():
    rng = np.random.default_rng(5)
    found = risk(answers(0.57, 300, 1, rng))
    assert found.status is RiskStatus.UNDECIDED
    again = risk(answers(found.value, 2 * found.rounds_needed, 1, rng))
    assert again.status is (RiskStatus.WITHIN if found.value < LIMIT else RiskStatus.OVER)


def test_bounds_say_their_confidence():
    trials = answers(0.6, 400, 2, np.random.default_rng(4))
    found = risk(trials, comparisons=10, sweep_points=5)
    assert found.low_confidence == pytest.approx(1 - 0.05 / 10)
    assert found.high_confidence == pytest.approx(1 - 0.05 / 5)
    lower = evaluate_rate(rate_metrics()[found.metric](confidence=0.99), trials, 0.99)
    assert found.low == pytest.approx(lower.low)  # an interval at 99 % leaves 0.5 % on each side
    free = risk(trials, NO_LIMITS)
    assert (free.low_confidence, free.high_confidence) == (0.975, 0.975)
    exact = risk(trials, optimum={"accuracy": 0.55})
    assert (exact.scope, exact.high_confidence) == (ANY_ATTACKER, None)


@pytest.mark.parametrize(("n_rounds", "needed"), [(24, 100), (120, None)])
def test_missing_interval_asks_for_more_rounds(n_rounds, needed):
    """With too few rounds in all; not where only one kind of round is missing among many."""
    trials = answers(0.6, n_rounds, 2, np.random.default_rng(4))
    if n_rounds > 100:
        trials = replace(trials, members=trials.rounds > 3, coins=Coins.GIVEN)
    found = risk(trials)
    assert (found.status, found.high, found.rounds_needed) == (RiskStatus.UNDECIDED, None, needed)
    assert found.reason.startswith("no interval: ")


def test_rounds_that_would_decide_hardly_depend_on_chance():
    """Equal audits got suggestions from 350 to 100,000 rounds; now there are few different ones."""
    rng = np.random.default_rng(8)
    found = [risk(answers(0.57, 300, 1, rng)) for _ in range(60)]
    needed = {one.rounds_needed for one in found if one.status is RiskStatus.UNDECIDED}
    assert needed <= {500, 1000, 2000, 5000, None}  # from the rounds there are to 16 times as many


def test_value_at_the_limit_suggests_no_rounds():
    trials = answers(0.6, 300, 1, np.random.default_rng(9))
    value = risk(trials).value
    near, far = (risk(trials, Limits(metrics={"accuracy": value + more})) for more in (0.005, 0.03))
    assert (near.status, near.rounds_needed) == (RiskStatus.UNDECIDED, None)
    assert far.status is RiskStatus.UNDECIDED
    width = far.high - far.value
    assert 300 * (width / 0.03) ** 2 <= far.rounds_needed < 2.5 * 300 * (width / 0.03) ** 2 + 1


@pytest.mark.parametrize(
    ("name", "limit", "truth"),
    [("accuracy", 0.6, 700), ("auc", 0.6, 285), ("tpr_at_fpr_0.01", 0.05, 1000)],
)
def test_rounds_that_a_limit_needs_are_about_right(name, limit, truth):
    """The normal approximation for intervals that are below the limit in nine of ten audits.

    The accuracy is allowed what a better placed threshold might gain: of simulated audits without information
    83 % were within it at 480 rounds, 90 % at 720 and all at 1,000.
    """
    needed = rounds_for_limits(Limits(metrics={name: limit}), confidence=0.95)[name]
    assert truth / 1.5 < needed < 1.5 * truth
    many = rounds_for_limits(Limits(metrics={name: limit}), confidence=0.95, sweep_points=10)[name]
    assert many > needed


def test_rounds_that_a_limit_needs_allow_for_splits_of_the_people():
    """With splits another half of the rounds counts; of audits with so many rounds most are decided."""
    needed, plain = (rounds_for_limits(LIMITS, confidence=0.95, splits=n)["accuracy"] for n in (12, 1))
    assert needed < plain / 1.5
    rng, n = np.random.default_rng(3), 40

    def guesses(n_rounds):
        rounds, scores = np.arange(n_rounds), rng.normal(size=n_rounds)
        members, reading = rng.random(n_rounds) < 0.5, Reading(threshold=0.0, signed=True)
        return Trials(rounds, 0 * rounds, members, scores, Coins.FAIR, reading, splits=rounds % 12)

    def share_within(n_rounds):
        return [risk(guesses(n_rounds)).status for _ in range(n)].count(RiskStatus.WITHIN) / n

    assert share_within(needed) >= 0.7
    assert share_within(needed // 3) < 0.5


def test_rounds_that_a_limit_needs_depend_on_the_targets():
    """An average over more targets is known better; of more targets, the one identified best is higher."""
    limits = Limits(metrics={"accuracy": 0.65, "accuracy_worst": 0.8})
    one, ten = (rounds_for_limits(limits, confidence=0.95, n_targets=n) for n in (1, 10))
    assert ten["accuracy"] < one["accuracy"]
    assert ten["accuracy_worst"] > one["accuracy_worst"]


def test_within_says_whether_it_holds_for_the_drawn_splits_only():
    """Twelve splits cannot exclude one that is rare; sixty can, at this limit."""
    rng, n = np.random.default_rng(4), 3_000
    rounds, members = np.arange(n), rng.random(n) < 0.5
    reading = Reading(threshold=0.0, signed=True)
    plain = Trials(rounds, 0 * rounds, members, rng.normal(size=n), Coins.FAIR, reading)
    scopes = {}
    for n_splits in (1, 12, 60):
        found = risk(replace(plain, splits=rounds % n_splits))
        assert found.status is RiskStatus.WITHIN
        scopes[n_splits] = found.scope
    assert scopes == {
        1: "the attackers tried, for this split of the people",
        12: "the attackers tried, for these 12 splits of the people",
        60: "the attackers tried",
    }
    assert risk(plain).scope == "the attackers tried"


def test_rounds_added_after_a_look_need_bounds_for_any_time():
    looked = {"looked": "rounds were added", "block": 50}
    trials = answers(0.9, 1000, 1, np.random.default_rng(6))
    found, planned = risk(trials, **looked), risk(trials)
    assert found.status is RiskStatus.OVER
    assert found.low < planned.low
    trials = answers(0.52, 4000, 1, np.random.default_rng(7))
    assert risk(trials, **looked).status is RiskStatus.WITHIN
    trials = answers(0.9, 1000, 1, np.random.default_rng(6))
    estimates = {"auc_mean": KNOWN, "auc": KNOWN}
    found = assess_risk(
        trials,
        estimates,
        limits=Limits(metrics={"auc": LIMIT}),
        attacker="it",
        counted=True,
        n_rounds=1000,
        context=RiskContext(confidence=0.95, **looked),
    )
    assert (found.status, found.reason) == (RiskStatus.UNDECIDED, "rounds were added")


def test_an_exact_optimum_below_the_limit_needs_no_rounds():
    trials = answers(0.55, 40, 1, np.random.default_rng(7))
    assert risk(trials).status is RiskStatus.UNDECIDED
    found = risk(trials, optimum={"accuracy": 0.58})
    assert (found.status, found.scope, found.high) == (RiskStatus.WITHIN, ANY_ATTACKER, 0.58)
    assert risk(trials, optimum={"accuracy": 0.6}).status is RiskStatus.UNDECIDED
    leaking = answers(0.9, 400, 1, np.random.default_rng(7))
    assert risk(leaking, optimum={"accuracy": 0.58}).status is RiskStatus.OVER  # trials contradict the claim


def test_the_optimum_of_a_refuted_distribution_clears_nobody():
    refuted = {"optimum": {"accuracy": 0.58}, "refuted": "another attacker broke the promise"}
    found = risk(answers(0.55, 40, 1, np.random.default_rng(7)), **refuted)
    assert (found.status, found.scope) == (RiskStatus.UNDECIDED, ATTACKERS_TRIED)
    assert found.reason.startswith("no interval: 19 rounds")
    assert found.reason.endswith("clears nobody: another attacker broke the promise")
    measured = risk(answers(0.5, 2000, 1, np.random.default_rng(7)), **refuted)
    assert (measured.status, measured.scope) == (RiskStatus.UNDECIDED, ATTACKERS_TRIED)
    assert measured.high < LIMIT  # by an attacker who takes the noise to be as stated
    assert measured.reason.startswith("the attackers tried stay below the limit, but take the noise to be as")
    assert measured.rounds_needed is None
    unknown = risk(answers(0.5, 2000, 1, np.random.default_rng(7)), refuted="it")
    assert unknown.status is RiskStatus.WITHIN  # no distribution is stated, so no attacker rests on one
    stated = risk(answers(0.5, 2000, 1, np.random.default_rng(7)), refuted="it", noise_is_stated=True)
    assert (stated.status, stated.high < LIMIT) == (RiskStatus.UNDECIDED, True)  # as of a service
    assert stated.reason.endswith("take the noise to be as stated; it")
    kept = risk(answers(0.5, 2000, 1, np.random.default_rng(7)), noise_is_stated=True)
    assert kept.status is RiskStatus.WITHIN  # nothing speaks against it
    assert risk(answers(0.9, 400, 1, np.random.default_rng(7)), **refuted).reason is None  # over: no need
    high = risk(answers(0.55, 40, 1, np.random.default_rng(7)), optimum={"accuracy": 0.7}, refuted="it")
    assert "clears nobody" not in high.reason  # it would not have cleared anybody anyway
    assert high.reason.endswith("; it")


def test_without_a_limit_the_leading_number_is_that_of_the_own_threshold():
    trials = answers(0.8, 400, 2, np.random.default_rng(8))
    found = risk(trials, limits=NO_LIMITS)
    assert (found.status, found.metric) == (RiskStatus.NO_LIMIT, "accuracy_own")
    other = Trials(trials.rounds, trials.targets, trials.members, trials.scores, Coins.FAIR, Reading())
    assert risk(other, limits=NO_LIMITS).metric == "accuracy_mean"


def test_constant_scores_are_no_evidence_of_safety_by_chance():
    trials = answers(0.8, 400, 2, np.random.default_rng(9))
    constant = Trials(
        trials.rounds,
        trials.targets,
        trials.members,
        np.zeros(len(trials)),
        Coins.FAIR,
        Reading(threshold=0.0),
    )
    assert risk(constant).value == pytest.approx(0.5)
