"""Positive controls in runs: saved, judged again, shared by a sweep, and without effect on trials."""

import json
import shutil

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.limits import Limits
from leakgauge.plan import plan_of
from leakgauge.runner import positive_control, run
from leakgauge.runner.in_memory import audit_mechanism, judge
from leakgauge.runner.manifest import NAME
from leakgauge.runner.run import EngineOptions, run_plan
from leakgauge.runner.run_verdicts import judge_folder
from leakgauge.summary import summarise_run
from leakgauge.support.files import json_digest

HEALTHY = "{ promised = 1.0, unprotected = 20.0 }"
BROKEN = "{ promised = 1.0, unprotected = 0.0 }"


def control(verdict):
    return verdict.instrument["control"]


def metrics(verdicts):
    return [verdict.metrics for verdict in verdicts]


def test_control_is_passed_and_changes_no_counted_trial(plan, tmp_path):
    (without,) = run_plan(plan(), tmp_path / "without")
    (found,) = run_plan(plan(challenger=HEALTHY), tmp_path / "with")
    assert control(without)["status"] == "not possible"
    assert control(without)["reason"] == "this coin has no control"
    assert control(found)["status"] == "passed"
    assert control(found)["rounds"] == 100
    assert found.metrics == without.metrics
    assert found.roc == without.roc
    assert {**found.instrument, "control": 0} == {**without.instrument, "control": 0}


def test_nobody_passes(plan, tmp_path):
    given = plan(challenger=BROKEN, rounds=400, attacks='["peek", { name = "peek", label = "again" }]')
    verdicts = run_plan(given, tmp_path / "out")
    assert [control(verdict)["status"] for verdict in verdicts] == ["failed", "failed"]
    assert {verdict.finding for verdict in verdicts} == {"untestable"}
    assert summarise_run(verdicts).exit_code == 3


def test_one_weak_attack_is_noted_only(plan, tmp_path):
    given = plan(
        challenger=HEALTHY, rounds=400, attacks='["peek", { name = "peek", noise = 50.0, label = "weak" }]'
    )
    strong, weak = run_plan(given, tmp_path / "out")
    assert control(weak)["status"] == "failed"
    assert "lower bound" in control(weak)["reason"]
    assert strong.finding == weak.finding == "not violated"


def test_violation_stays_a_violation(plan, tmp_path):
    given = plan(challenger=BROKEN, mechanism="{ epsilon = 5.0 }", rounds=400)
    (found,) = run_plan(given, tmp_path / "out")
    assert control(found)["status"] == "failed"
    assert found.finding == "violated"
    assert summarise_run([found]).exit_code == 1


def test_control_is_judged_again(plan, tmp_path):
    first = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    assert judge_folder(tmp_path / "out") == first


def test_control_is_played_once(plan, tmp_path, monkeypatch):
    first = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    monkeypatch.setattr(positive_control, "play_control", None)  # it would fail if it were called
    assert run_plan(plan(challenger=HEALTHY), tmp_path / "out") == first


def test_lost_control_is_said_and_played_again(plan, tmp_path):
    first = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "controls")
    limits = Limits(metrics={"accuracy": 0.99})
    (lost,) = judged = judge_folder(tmp_path / "out", limits)
    assert control(lost)["status"] == "missing"
    assert "run the plan again" in control(lost)["reason"]
    assert judged.summary.exit_code == 3
    assert judged.summary.risk.status == "undecided"
    assert run_plan(plan(challenger=HEALTHY), tmp_path / "out") == first


def test_damaged_control_is_played_again(plan, tmp_path):
    first = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    (file,) = (tmp_path / "out").glob("controls/*/*.npz")
    file.write_bytes(file.read_bytes()[:-20])
    assert run_plan(plan(challenger=HEALTHY), tmp_path / "out") == first


def test_run_from_before_controls_is_judged(plan, tmp_path):
    (first,) = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "controls")
    path = tmp_path / "out" / NAME
    content = json.loads(path.read_bytes())
    del content["checksum"], content["facts"]["coin"]["control"]
    path.write_text(json.dumps({**content, "checksum": json_digest(content)}))
    (found,) = judge_folder(tmp_path / "out")
    assert control(found)["status"] == "not possible"
    assert "made before" in control(found)["reason"]
    assert found.metrics == first.metrics
    assert found.finding == first.finding


def test_sweep_over_the_mechanism_shares_its_control(plan, tmp_path):
    given = plan(challenger=HEALTHY, sweep='{ "mechanism.epsilon" = [0.5, 1.0, 2.0] }')
    verdicts = run_plan(given, tmp_path / "out")
    assert [control(verdict)["status"] for verdict in verdicts] == ["passed"] * 3
    assert len(list((tmp_path / "out" / "controls").iterdir())) == 1
    other = plan(sweep='{ "challenger.unprotected" = [10.0, 20.0] }')
    run_plan(other, tmp_path / "other")
    assert len(list((tmp_path / "other" / "controls").iterdir())) == 2


def test_broken_path_is_refused_before_the_first_round(plan, tmp_path):
    with pytest.raises(BadInput, match="one side"):
        run_plan(plan(challenger="{ promised = 1.0, broken = true }"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_refusal_while_the_control_is_played_leaves_nothing(plan, tmp_path, monkeypatch):
    def refuse(*_):
        raise BadInput("nothing is answered")

    monkeypatch.setattr(run, "play_missing_controls", refuse)
    with pytest.raises(BadInput, match="nothing is answered"):
        run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_fresh_run_removes_the_control(plan, tmp_path):
    run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    run_plan(plan(), tmp_path / "out", fresh=True)
    assert not (tmp_path / "out" / "controls").exists()


def test_workers_play_the_same_control(tmp_path):
    audit = {
        "name": "count",
        "domain": "blackbox",
        "rounds": 100,
        "block": 50,
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "challenger": {"pair": [0, 1]},
        "attacks": ["learned_event", "one_threshold"],
    }
    plan = plan_of({"seed": 1, "audit": [audit]})
    one = run_plan(plan, tmp_path / "one")
    two = run_plan(plan, tmp_path / "two", EngineOptions(workers=2))
    assert one == two
    assert [control(verdict)["status"] for verdict in one] == ["passed", "passed"]


def test_attack_that_cannot_play_the_control_says_why(plan, tmp_path, monkeypatch):
    def refuse(*_):
        raise BadInput("no such knowledge")

    monkeypatch.setattr(positive_control, "prepare_contenders", refuse)
    (found,) = run_plan(plan(challenger=HEALTHY), tmp_path / "out")
    assert control(found)["status"] == "not possible"
    assert control(found)["reason"] == "the attack cannot be run on it: no such knowledge"
    assert list(judge_folder(tmp_path / "out")) == [found]


def test_equal_scores_of_all_attackers_are_no_evidence(plan, tmp_path):
    given = plan(
        challenger=HEALTHY, mechanism="{ epsilon = 60.0 }", attacks='[{ name = "peek", noise = 0.0 }]'
    )
    (found,) = run_plan(given, tmp_path / "out")
    assert not found.notes
    members = np.arange(2000) % 2 == 0
    same = judge(members, np.zeros(2000), epsilon=1.0)
    assert same.finding == "untestable"
    assert "all scores are equal" in same.notes[0]


def laplace(count, rng):
    return round(count + rng.laplace())


def test_function_plays_its_control():
    found = audit_mechanism(laplace, (0, 1), epsilon=1.0, rounds=500)
    assert control(found)["status"] == "passed"
    assert found.finding == "not violated"


def test_function_that_returns_a_constant_is_untestable():
    found = audit_mechanism(lambda _, rng: 7, (0, 1), epsilon=1.0, rounds=500)
    assert control(found)["status"] == "not possible"  # nothing depends on the input, so nothing was played
    assert found.finding == "untestable"
    assert summarise_run([found]).exit_code == 3


def test_scores_have_no_control():
    members = np.arange(2000) % 2 == 0
    found = judge(members, members * 1.0, epsilon=1.0, coins="fair")
    assert control(found)["status"] == "not possible"
    assert found.finding == "violated"
