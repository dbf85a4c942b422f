"""Comparison with an earlier run: what is compared, what is refused, and how often it errs."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from scipy.stats import binom

from known_trials import trials
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading
from leakgauge.plan import plan_of
from leakgauge.referee.accuracy_difference import Pairing
from leakgauge.runner.baseline import TOLERANCE, compare_trials, compare_with_baseline, with_baseline
from leakgauge.runner.run import run_plan
from leakgauge.runner.run_verdicts import gate_folder

SIMULATIONS = 1000
MOST_ERRORS = binom.ppf(0.9995, SIMULATIONS, 0.05) / SIMULATIONS  # of a rule that errs in 5 %: about 7.4 %


def simulate(new, old, n, n_targets, rng, *, paired):
    """Attackers that are right with exactly these chances, by the same luck where paired."""
    members, luck = rng.random(n * n_targets) < 0.5, rng.random(n * n_targets)
    others = (members, luck) if paired else (rng.random(members.size) < 0.5, rng.random(members.size))
    reading = Reading(threshold=0.0)

    def answers(members, accuracy, luck):
        return trials(
            members, np.where(members == (luck < accuracy), 1.0, -1.0), reading, n_targets=n_targets
        )

    return answers(members, new, luck), answers(others[0], old, others[1])


def shares(new, old, n, *, n_targets=1, n_attackers=1, paired=True, simulations=SIMULATIONS):
    """How often the comparison says worse, and not worse; with several attackers, of any of them."""
    rng = np.random.default_rng([2026, n, n_targets, n_attackers, paired])
    how = Pairing.ROUNDS if paired else Pairing.INDEPENDENT
    said = [
        [
            compare_trials(*simulate(new, old, n, n_targets, rng, paired=paired), 0.95, n_attackers, how)[1]
            for _ in range(n_attackers)
        ]
        for _ in range(simulations)
    ]
    return (
        np.mean(["worse" in statuses for statuses in said]),
        np.mean([set(statuses) == {"not worse"} for statuses in said]),
    )


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param({"n": 400}, marks=pytest.mark.nightly),
        pytest.param({"n": 400, "paired": False}, marks=pytest.mark.nightly),
        {"n": 150, "n_targets": 5},
    ],
    ids=["paired", "independent", "targets sharing rounds"],
)
def test_an_increase_at_the_tolerance_is_rarely_called(setting):
    worse, not_worse = shares(0.70 + TOLERANCE, 0.70, **setting)
    assert worse <= MOST_ERRORS
    assert not_worse <= MOST_ERRORS


def test_equal_trials_of_other_releases_are_no_evidence():
    """One round in fifty identifies everybody, and in 60 rounds that did not happen."""
    now, before = simulate(0.7, 0.7, 60, 10, np.random.default_rng(3), paired=True)
    difference, status = compare_trials(now, before, 0.95, 1, Pairing.ROUNDS)
    assert (difference.value, status) == (0.0, "undecided")


@pytest.mark.nightly
def test_several_attackers_at_the_tolerance():
    worse, not_worse = shares(0.72, 0.70, 400, n_attackers=4, simulations=200)
    assert worse <= binom.ppf(0.9995, 200, 0.05) / 200
    assert not_worse <= binom.ppf(0.9995, 200, 0.05) / 200


def test_clear_changes_are_called():
    worse, not_worse = shares(0.80, 0.70, 1000, simulations=100)
    assert (worse, not_worse) == (1.0, 0.0)
    worse, not_worse = shares(0.70, 0.70, 1000, simulations=100)
    assert (worse, not_worse) == (0.0, 1.0)
    worse, not_worse = shares(0.70, 0.72, 3000, paired=False, simulations=100)
    assert worse == 0.0
    assert not_worse > 0.8  # two accuracies of 3,000 rounds each: sd of the difference 1.2 points


@pytest.fixture
def compared(plan, tmp_path):
    """Run two plans of a coin, given by their lines, and compare the first with the second."""

    folders = (tmp_path / str(i) for i in count())

    def compare(now, before):
        runs = [next(folders), next(folders)]
        for folder, lines in zip(runs, (now, before)):
            run_plan(plan(**{"rounds": 400, "block": 100, **lines}), folder)
        return compare_with_baseline(*runs)

    return compare


def statuses(result):
    return {one.label: (one.status, one.reason) for one in result.comparisons}


def test_the_same_plan_differs_in_nothing(compared):
    result = compared({}, {})
    assert result.notes == ()
    assert statuses(result) == {"peek-nothing": ("not worse", None)}
    assert "in the same rounds" in result.comparisons[0].difference.method


def test_differing_keys_are_listed(compared):
    """Without a digest of its targets, a coin is compared round by round only for the same tables."""
    result = compared({"mechanism": "{ epsilon = 3.0 }"}, {})
    assert result.notes == ("the plan of the baseline differs in mechanism.epsilon (1.0 before, 3.0 now)",)
    assert "in the same rounds" in result.comparisons[0].difference.method
    result = compared({"seed": 8, "rounds": 500}, {"challenger": "{ promised = 2.0 }"})
    plans, targets = result.notes
    keys = "challenger.promised (2.0 before, 1.0 now), rounds (400 before, 500 now), seed (7 before, 8 now)"
    assert plans == f"the plan of the baseline differs in {keys}"
    assert targets.startswith("targets or data may be others than in the baseline for coin")
    assert "independent rounds" in result.comparisons[0].difference.method


def test_other_targets_with_the_same_seed_share_random_numbers(compared):
    result = compared({"challenger": "{ promised = 2.0 }"}, {})
    assert "other rounds" in result.comparisons[0].difference.method


def test_attackers_of_one_run_only_are_said_and_undecided(compared):
    both = '["peek", { name = "peek", label = "again" }]'
    result = compared({"attacks": both}, {})
    assert statuses(result) == {
        "peek-nothing": ("not worse", None),
        "again": ("undecided", "the baseline lacks it"),
    }
    result = compared({}, {"attacks": both})
    assert statuses(result)["again"] == ("undecided", "only the baseline has it")


def test_early_stops_have_no_interval(compared, plan, tmp_path):
    from leakgauge.summary import summarise_run

    decided = {"stop": '"decided"', "mechanism": "{ epsilon = 3.0 }"}
    for now, before, which in ((decided, {}, "this run"), ({}, decided, "the baseline")):
        result = compared(now, before)
        (one,) = result.comparisons
        assert one.status == "undecided"
        assert one.reason.startswith(f"{which} has stop = 'decided'")
        assert (one.difference.low, one.difference.high) == (None, None)
        summary = replace(summarise_run([]), exit_code=0)
        assert with_baseline(summary, result.comparisons).exit_code == 3
    run_plan(plan(**decided), tmp_path / "decided")
    result = compare_with_baseline(tmp_path / "decided", tmp_path / "decided")
    assert statuses(result) == {"peek-nothing": ("not worse", None)}  # the same trials


def test_finished_models_are_not_told_to_use_more_rounds(tmp_path):
    now, before = tmp_path / "runs" / "now", tmp_path / "runs" / "before"
    for folder, shift in ((now, 2.0), (before, 0.5)):
        rng = np.random.default_rng(5)
        rows = [f"{i % 2},{rng.exponential() + shift * (i % 2 == 0):.4f}" for i in range(100)]
        source = tmp_path / f"{folder.name}.csv"
        source.write_text("\n".join(["member,loss", *rows]))
        audit = {
            "name": "mine",
            "domain": "models",
            "rounds": 1,
            "data": {"source": str(source), "loss": "loss"},
            "challenger": {"game": "given"},
            "attacks": [{"name": "loss_threshold"}],
        }
        run_plan(plan_of({"seed": 1, "audit": [audit]}), folder)
    summary = with_baseline(gate_folder(now).summary, compare_with_baseline(now, before).comparisons)
    assert summary.exit_code == 3
    assert "a finished release is one round" in summary.reasons[-1]
    assert not any("use more rounds" in reason for reason in summary.reasons)
    assert [one.status for one in compare_with_baseline(now, now).comparisons] == ["not worse"]


def test_another_domain_is_refused(compared):
    blackbox = {
        "domain": '"blackbox"',
        "challenger": "{ pair = [[0.0], [1.0]] }",
        "mechanism": '{ name = "laplace", epsilon = 1.0 }',
        "attacks": '[{ name = "likelihood", label = "peek-nothing" }]',
    }
    with pytest.raises(BadInput, match=r"is about coin in .* and about blackbox in .* cannot be compared"):
        compared({}, blackbox)


def test_another_threshold_is_another_metric(compared):
    with pytest.raises(BadInput, match="the two accuracies do not mean the same"):
        compared({}, {"attacks": '[{ name = "sleep", label = "peek-nothing" }]'})
