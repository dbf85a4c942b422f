from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Coins, Reading, Trials, play
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox.attacks.learned_event import Attack
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.knowledge import SimulatorKnowledge
from leakgauge.plan import MetricsTable
from leakgauge.referee.metrics.epsilon_one_run import Metric
from leakgauge.runner.in_memory import audit_mechanism, judge, judge_file
from leakgauge.summary import summarise_run
from leakgauge.theory import gdp
from leakgauge.verdict import compare_with_promise


def randomized_response(epsilon, n, seed=5):
    """Trials whose epsilon is known: randomized response meets its promise with equality."""
    rng = np.random.default_rng(seed)
    members = rng.random(n) < 0.5
    return members, (members ^ (rng.random(n) < 1 / (1 + np.exp(epsilon)))).astype(float)


def test_violation_is_found_and_kept_promise_is_not_accused():
    members, scores = randomized_response(2.0, 2000)
    assert judge(members, scores, epsilon=1.0, coins="fair").finding == "violated"
    kept = judge(members, scores, epsilon=2.0, coins="fair")
    assert kept.finding == "not violated"
    assert 1.5 < kept.metrics["epsilon"].low <= 2.0
    assert (kept.rounds, kept.n_targets, kept.coins, kept.corrected_for) == (2000, 1, "fair", 1)


def test_no_promise_gives_no_finding():
    verdict = judge(*randomized_response(2.0, 2000))
    assert verdict.finding is None
    assert verdict.promised is None
    assert verdict.metrics["epsilon"].low > 1.0


def test_too_few_trials_are_undecided():
    verdict = judge([1, 0, 1, 0], [1, 0, 1, 0], epsilon=5.0, coins="fair")
    assert verdict.finding == "undecided"
    assert verdict.rounds_needed > 4


def test_membership_counts_as_given_unless_declared_random():
    members, scores = randomized_response(2.0, 2000)
    verdict = judge(members, scores)
    assert verdict == judge(members, scores, coins="given")
    assert verdict.coins == "given"
    assert "Clopper-Pearson" in verdict.metrics["epsilon"].method


def test_given_membership_is_not_compared_with_a_promise():
    """Members of one hospital and others of another: they differ, whatever the release says."""
    rng = np.random.default_rng(6)
    members = np.arange(2000) < 1000
    scores = members * 3.0 + rng.normal(size=2000)
    given = judge(members, scores, epsilon=0.5)
    assert given.metrics["epsilon"].low > 2.0  # the bound is shown, with what it assumes
    assert "would score alike" in given.metrics["epsilon"].method
    assert (given.finding, given.rounds_needed) == ("undecided", None)
    summary = summarise_run([given])
    assert summary.exit_code == 3
    assert "membership was given" in summary.reasons[0]
    curve = Guarantee(epsilon=0.5, curve=gdp.curve(0.3))
    rows = Trials(np.arange(2000), np.zeros(2000, int), members, scores, Coins.GIVEN, Reading(threshold=1.5))
    assert compare_with_promise(rows, curve, MetricsTable(), 1, None) == ("undecided", None)
    drawn = replace(rows, coins=Coins.FAIR)
    assert compare_with_promise(drawn, curve, MetricsTable(), 1, None)[0] == "violated"


def test_trials_of_one_round_are_shared():
    members, scores = randomized_response(2.0, 2000)
    rounds = np.repeat(np.arange(100), 20)
    verdict = judge(members, scores, rounds=rounds)
    assert (verdict.rounds, verdict.n_targets) == (100, 20)
    named = judge(members, scores, rounds=rounds, targets=np.tile([f"person {n}" for n in range(20)], 100))
    assert (named.rounds, named.n_targets) == (100, 20)
    assert named.metrics["auc_mean"] == verdict.metrics["auc_mean"]


def test_confidence_is_used():
    members, scores = randomized_response(2.0, 500)
    assert (
        judge(members, scores, confidence=0.999).metrics["epsilon"].low
        < judge(members, scores).metrics["epsilon"].low
    )


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (([], []), {}, "give two lists of equal length"),
        (([1, 0], [0.5]), {}, r"members of shape \(2,\) and scores of shape \(1,\)"),
        (([[1, 0]], [[1, 0]]), {}, "give two lists"),
        (([1, 2], [0, 0]), {}, "neither 0 nor 1"),
        ((["yes", "no"], [0, 0]), {}, "neither 0 nor 1"),
        (([1, np.nan], [0, 0]), {}, "neither 0 nor 1"),
        (([1, 1], [0, 0]), {}, "all 2 trials are members; both are needed"),
        (([0, 0], [0, 0]), {}, "all 2 trials are non-members"),
        (([1, 0], ["a", "b"]), {}, "scores are not all numbers"),
        (([1, 0], [0, np.nan]), {}, "is not a finite number"),
        (([1, 0], [0, 1]), {"rounds": [1]}, r"rounds of shape \(1,\) for 2 trials"),
        (([1, 0], [0, 1]), {"rounds": [1, 1], "targets": [2, 2]}, "a target appears twice in one round"),
        (([1, 0], [0, 1]), {"epsilon": -1.0}, "epsilon must be >= 0, got -1.0"),
        (([1, 0], [0, 1]), {"epsilon": np.nan}, "epsilon must be >= 0, got nan"),
        (([1, 0], [0, 1]), {"epsilon": 1.0, "delta": 1.0}, r"delta must be in \[0, 1\)"),
        (([1, 0], [0, 1]), {"confidence": 1.0}, r"confidence must be in \[0.5, 1 - 1e-9\]"),
        (([1, 0], [0, 1]), {"coins": "loaded"}, "no choice is called 'loaded'"),
    ],
)
def test_rejects_invalid_scores(arguments, settings, message):
    with pytest.raises(BadInput, match=message):
        judge(*arguments, **settings)


def test_file_is_judged_like_arrays(tmp_path):
    members, scores = randomized_response(2.0, 1000)
    path = tmp_path / "scores.csv"
    lines = [
        f"{int(member)},{score},{n // 2},{n % 2}" for n, (member, score) in enumerate(zip(members, scores))
    ]
    path.write_text("\n".join(["member,score,round,target", *lines]))
    rows = np.arange(1000)
    (found,) = judge_file(path, epsilon=1.0)
    assert found == judge(members, scores, rounds=rows // 2, targets=rows % 2, epsilon=1.0)


def test_single_class_file_is_reported(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("member,score\n1,0.5\n1,0.25\n")
    with pytest.raises(BadInput, match=r"scores.csv: all 2 trials are members"):
        judge_file(path)


def fair(dataset, rng):
    """Laplace noise of scale 1 on a grid: floating-point numbers would give the input away."""
    return round(dataset + rng.laplace(), 2)


def careless(dataset, rng):
    """Half the noise that was promised."""
    return round(dataset + rng.laplace(scale=0.5), 2)


def test_correct_mechanism_is_not_accused():
    verdict = audit_mechanism(fair, (0.0, 1.0), epsilon=1.0, rounds=4000)
    assert verdict.finding == "not violated"
    assert 0.6 < verdict.metrics["epsilon"].low <= 1.0
    assert (verdict.rounds, verdict.n_targets, verdict.domain, verdict.audit) == (4000, 1, "blackbox", "fair")
    assert verdict.promised["epsilon"] == 1.0


def test_insufficient_noise_is_detected():
    verdict = audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=4000)
    assert verdict.finding == "violated"
    assert 1.4 < verdict.metrics["epsilon"].low <= 2.0
    assert audit_mechanism(careless, (0.0, 1.0), epsilon=2.0, rounds=4000).finding == "not violated"


def test_audit_is_reproducible_with_any_number_of_workers():
    one = audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=2500, seed=3)
    assert one == audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=2500, seed=3, workers=2)
    assert one != audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=2500, seed=4)


def test_audit_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=50)
    assert list(tmp_path.iterdir()) == []


def test_audit_matches_equivalent_plan(tmp_path):
    """The same release from a plan: other code, the same streams, the same trials."""
    from leakgauge.plan import read_plan
    from leakgauge.runner.run import run_plan

    (tmp_path / "mine.py").write_text(
        "def careless(dataset, rng):\n    return round(dataset + rng.laplace(scale=0.5), 2)\n"
    )
    (tmp_path / "plan.toml").write_text(
        """
        seed = 5
        [[audit]]
        name = "careless"
        domain = "blackbox"
        rounds = 2500
        challenger = { release = "mine:careless", pair = [0.0, 1.0], epsilon = 1.0 }
        attacks = [{ name = "learned_event", shadows = 2500 }]
        """
    )
    [planned] = run_plan(read_plan(tmp_path / "plan.toml"), tmp_path / "out")
    direct = audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=2500, seed=5)
    assert planned.metrics == direct.metrics
    assert planned.roc == direct.roc
    assert planned.instrument == direct.instrument


def randomized_bit(bit, rng):
    """Keeps its promise, epsilon 1, with nothing to spare."""
    return bit if rng.random() < np.e / (1 + np.e) else 1 - bit


def accusations(adversary, challenger, confidence, blocks, rounds):
    """How often fresh rounds prove more than epsilon 1; the attack was studied once, on other rounds."""
    metric = Metric(confidence=confidence)
    return sum(
        metric(play(challenger, {"it": adversary}, 1, range(rounds), block)["it"]).low > 1.0
        for block in range(blocks)
    )


def test_tight_mechanism_is_hardly_ever_accused_at_high_confidence():
    """Of 1,000 audits .999 may accuse one: more than 6 has a chance of 1 in 10,000. At .95 it is about 40."""
    challenger = Challenger(randomized_bit, (0, 1), None)
    knowledge = SimulatorKnowledge(randomized_bit, (0, 1), 0.0)
    adversary = Adversary(knowledge, Attack(shadows=1000).study(knowledge, stream(1, Role.STUDY)))
    assert accusations(adversary, challenger, 0.999, 1000, 100) <= 6
    assert 10 < accusations(adversary, challenger, 0.95, 500, 100) <= 45  # tight: the error is really spent


@pytest.mark.nightly
def test_whole_audits_of_a_tight_mechanism_accuse_it_at_most_once_in_1000(monkeypatch):
    """The positive control, two thirds of the time, is that of the first audit: it can accuse nobody."""
    control = audit_mechanism(randomized_bit, (0, 1), epsilon=1.0, rounds=200).instrument["control"]
    assert control["status"] == "passed"
    monkeypatch.setattr("leakgauge.runner.in_memory._function_control", lambda *_: control)
    found = [
        audit_mechanism(randomized_bit, (0, 1), epsilon=1.0, rounds=200, confidence=0.999, seed=seed).finding
        for seed in range(3000)
    ]
    assert found.count("violated") <= 10  # 3 expected at most; more than 10 has a chance of 3e-4


@pytest.mark.parametrize("n_guesses", [50, 400, 20_000])
def test_confidence_is_exact_for_a_tight_mechanism(n_guesses):
    """The chance of an accusation is a binomial tail: at most the error, and most of it is used."""
    rate = np.e / (1 + np.e)
    counts = np.arange(n_guesses + 1)
    for error in (0.05, 0.001):
        accusing = [
            hits
            for hits in range(int(n_guesses * rate), n_guesses + 1)
            if Metric(confidence=1 - error).from_counts(hits, n_guesses - hits, 0, 0) > 1.0
        ]
        chance = binom.pmf(counts[accusing[0] :], n_guesses, rate).sum()
        assert error / 4 < chance <= error


def test_higher_confidence_gives_a_lower_bound():
    usual, strict = (
        audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=2000, confidence=confidence)
        for confidence in (0.95, 0.999)
    )
    assert strict.metrics["epsilon"].low < usual.metrics["epsilon"].low
    assert {estimate.confidence for estimate in strict.metrics.values()} == {0.999}


def test_strongest_of_several_pairs_is_returned_and_corrected():
    pairs = [(0.0, 0.125), (0.0, 1.0), (0.0, 0.25)]
    several = audit_mechanism(careless, pairs, epsilon=1.0, rounds=2000)
    assert several.corrected_for == 3
    assert several.parameters["challenger"] == {"release": "careless", "pair": 1}
    alone = audit_mechanism(careless, pairs[1], epsilon=1.0, rounds=2000, confidence=1 - (1 - 0.95) / 3)
    assert several.metrics == alone.metrics
    assert several.finding == alone.finding == "violated"
    assert "pair" not in alone.parameters["challenger"]


def test_correction_decides_the_finding():
    pair, alone, corrected = (0.0, 1.0), {"confidence": 0.95}, {"confidence": 1 - (1 - 0.95) / 4}
    most, least = (
        audit_mechanism(careless, pair, epsilon=None, rounds=1000, **settings).metrics["epsilon"].low
        for settings in (alone, corrected)
    )
    between = (least + most) / 2
    assert audit_mechanism(careless, pair, epsilon=between, rounds=1000).finding == "violated"
    assert audit_mechanism(careless, [pair] * 4, epsilon=between, rounds=1000).finding == "not violated"


def test_pair_may_be_a_list_of_two_inputs():
    as_tuple = audit_mechanism(careless, (0.0, 1.0), epsilon=1.0, rounds=500)
    assert audit_mechanism(careless, [0.0, 1.0], epsilon=1.0, rounds=500) == as_tuple
    assert audit_mechanism(careless, [(0.0, 1.0)], epsilon=1.0, rounds=500).metrics == as_tuple.metrics


@pytest.mark.parametrize(
    ("release", "pair", "settings", "message"),
    [
        ("laplace", (0, 1), {"epsilon": 1.0}, "release must be callable, got str"),
        (fair, (0, 1, 2), {"epsilon": 1.0}, "pair must hold two inputs"),
        (fair, [], {"epsilon": 1.0}, "the list of pairs is empty"),
        (fair, [(0, 1), 2, 3], {"epsilon": 1.0}, "pair must hold two inputs"),
        (fair, (0, 1), {"epsilon": 1.0, "confidence": 1.0}, r"confidence must be in \[0.5, 1 - 1e-9\]"),
        (fair, (0, 1), {"epsilon": 1.0, "confidence": "high"}, "confidence: must be"),
        (fair, (0, 1), {"epsilon": -1.0}, "epsilon must be >= 0, got -1.0"),
        (fair, (0, 1), {"epsilon": 1.0, "delta": 1.5}, "delta must be in"),
        (fair, (0, 1), {"epsilon": 1.0, "rounds": 0}, "rounds must be in 1..1000000000, got 0"),
        (fair, (0, 1), {"epsilon": 1.0, "rounds": 2.5}, "rounds: must be a whole number, got 2.5"),
        (fair, (0, 1), {"epsilon": 1.0, "workers": 0}, "workers must be >= 1, got 0"),
        (lambda dataset, rng: 1 / 0, (0, 1), {"epsilon": 1.0}, "release raised ZeroDivisionError"),
    ],
)
def test_rejects_invalid_mechanism(release, pair, settings, message):
    with pytest.raises(BadInput, match=message):
        audit_mechanism(release, pair, **settings)


def test_mechanism_without_promise_is_only_measured():
    verdict = audit_mechanism(careless, (0.0, 1.0), epsilon=None, rounds=2000)
    assert verdict.finding is None
    assert verdict.metrics["epsilon"].low > 1.0


@pytest.mark.parametrize(
    "pair",
    [(1, 1), ([1, 2], [1, 2]), (np.arange(3), np.arange(3)), [(0, 1), ("a", "a")], ({"a": 1}, {"a": 1})],
    ids=["number", "list", "array", "one of several", "table"],
)
def test_pair_of_equal_inputs_is_refused(pair):
    with pytest.raises(BadInput, match="both inputs are the same") as refusal:
        audit_mechanism(lambda x, rng: rng.random(), pair, epsilon=1.0, rounds=100)
    assert str(refusal.value).startswith("pair 1 of the list: " if isinstance(pair, list) else "pair: ")


def test_infinite_epsilon_is_refused():
    with pytest.raises(BadInput, match="epsilon = inf promises nothing"):
        audit_mechanism(lambda x, rng: x + rng.laplace(), (0, 1), epsilon=float("inf"), rounds=100)
    with pytest.raises(BadInput, match="epsilon = inf promises nothing"):
        judge([True, False], [1.0, 0.0], epsilon=float("inf"))
