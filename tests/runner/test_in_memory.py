import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.runner.in_memory import audit_mechanism, judge, judge_file


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
    verdict = judge([1, 0, 1, 0], [1, 0, 1, 0], epsilon=5.0)
    assert verdict.finding == "undecided"
    assert verdict.rounds_needed > 4


def test_membership_counts_as_given_unless_declared_random():
    members, scores = randomized_response(2.0, 2000)
    verdict = judge(members, scores)
    assert verdict == judge(members, scores, coins="given")
    assert verdict.coins == "given"
    assert "Clopper-Pearson" in verdict.metrics["epsilon"].method


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
        (([1, 0], ["a", "b"]), {}, "the scores are not numbers"),
        (([1, 0], [0, np.nan]), {}, "the score nan is not a finite number"),
        (([1, 0], [0, 1]), {"rounds": [1]}, r"rounds of shape \(1,\) for 2 trials"),
        (([1, 0], [0, 1]), {"rounds": [1, 1], "targets": [2, 2]}, "a target appears twice in one round"),
        (([1, 0], [0, 1]), {"epsilon": -1.0}, "epsilon must be >= 0, got -1.0"),
        (([1, 0], [0, 1]), {"epsilon": np.nan}, "epsilon must be >= 0, got nan"),
        (([1, 0], [0, 1]), {"epsilon": 1.0, "delta": 1.0}, r"delta must be in \[0, 1\)"),
        (([1, 0], [0, 1]), {"confidence": 1.0}, r"confidence must be in \[0.5, 1\)"),
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
    assert judge_file(path, epsilon=1.0) == judge(
        members, scores, rounds=rows // 2, targets=rows % 2, epsilon=1.0
    )


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


@pytest.mark.parametrize(
    ("release", "pair", "settings", "message"),
    [
        ("laplace", (0, 1), {"epsilon": 1.0}, "release must be callable, got str"),
        (fair, (0, 1, 2), {"epsilon": 1.0}, "pair must hold two inputs"),
        (fair, (0, 1), {"epsilon": -1.0}, "epsilon must be >= 0, got -1.0"),
        (fair, (0, 1), {"epsilon": 1.0, "delta": 1.5}, "delta must be in"),
        (fair, (0, 1), {"epsilon": 1.0, "rounds": 0}, "rounds must be >= 1, got 0"),
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
