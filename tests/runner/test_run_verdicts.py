import json
from dataclasses import replace

import pytest

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.plan import plan_of
from leakgauge.risk import ANY_ATTACKER, ATTACKERS_TRIED, RiskStatus
from leakgauge.runner import manifest, run_verdicts
from leakgauge.runner.run import run_plan
from leakgauge.runner.run_verdicts import judge_folder, read_verdicts
from leakgauge.verdict import Finding


def test_rejudging_needs_no_data(plan, tmp_path):
    (tmp_path / "people.csv").write_text("a")
    given = plan(data='{ source = "people.csv" }', challenger="{ promised = 1.0, delta = 1e-5, targets = 3 }")
    verdicts = run_plan(given, tmp_path / "out")
    written = (tmp_path / "out" / "verdicts.json").read_bytes()
    (tmp_path / "people.csv").unlink()
    (tmp_path / "plan.toml").unlink()
    (tmp_path / "out" / "verdicts.json").unlink()
    assert judge_folder(tmp_path / "out") == verdicts
    assert (tmp_path / "out" / "verdicts.json").read_bytes() == written


def test_verdicts_round_trip(plan, tmp_path):
    verdicts = run_plan(plan(), tmp_path / "out")
    again = read_verdicts(tmp_path / "out")
    assert [verdict.finding for verdict in again] == [verdict.finding for verdict in verdicts]
    assert again[0].metrics["auc"] == verdicts[0].metrics["auc"]


def test_incomplete_folder_says_how_to_continue(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    (tmp_path / "out" / "audits" / "coin" / "peek-nothing" / "block-00000002.npz").unlink()
    with pytest.raises(
        IncompleteRun,
        match=r"block 2 \(rounds 60 to 89\) is missing or damaged; continue with: leakgauge run .*plan.toml",
    ):
        judge_folder(tmp_path / "out")


def test_plan_with_dates_is_judged(plan, tmp_path):
    run_plan(plan(data="{ since = 2013-11-01, until = 2013-11-08T10:00:00 }"), tmp_path / "out")
    [verdict] = json.loads((tmp_path / "out" / "verdicts.json").read_text())["verdicts"]
    assert verdict["parameters"]["data"]["since"] == "2013-11-01"
    judge_folder(tmp_path / "out")


def test_non_run_folder_is_bad_input(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadInput, match="not a run folder"):
            judge_folder(folder)


def test_missing_or_damaged_verdicts_are_bad_input(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    path = tmp_path / "out" / "verdicts.json"
    edited = path.read_text().replace('"seed": 7', '"seed": 8')
    assert edited != path.read_text()
    empty = '{"schema": 2, "verdicts": []}'
    for content in ("", "{", "{}", "[]", "7", '{"verdicts": [{}]}', empty, empty.replace("2", "1"), edited):
        path.write_text(content)
        with pytest.raises(BadInput, match="damaged; write it again with: leakgauge judge"):
            read_verdicts(tmp_path / "out")
    path.unlink()
    with pytest.raises(BadInput, match="not judged yet"):
        read_verdicts(tmp_path / "out")


def test_verdicts_of_another_version_are_not_read(plan, tmp_path):
    run_plan(plan(), tmp_path / "out")
    path, content = tmp_path / "out" / "verdicts.json", manifest.load(tmp_path / "out")
    path.write_text(json.dumps({"schema": 3, "verdicts": []}))
    manifest.update(content, tmp_path / "out", verdicts=None)
    with pytest.raises(BadInput, match="written by another version of leakgauge"):
        read_verdicts(tmp_path / "out")


def two_attackers(folder, limit=0.6):
    """Run a count whose noise keeps anybody below 60 %, with two attackers who know the same."""
    attacks = [{"name": "one_threshold", "label": "weak"}, {"name": "likelihood", "label": "strong"}]
    audit = {
        "name": "count",
        "domain": "blackbox",
        "rounds": 100,
        "mechanism": {"name": "laplace", "epsilon": 0.2},
        "attacks": attacks,
        "challenger": {"pair": [[0], [1]]},
    }
    return run_plan(plan_of({"audit": [audit], "limits": {"accuracy": limit}}), folder)


@pytest.mark.parametrize(("failed", "exact"), [(["weak"], True), (["weak", "strong"], False)])
def test_the_exact_optimum_counts_where_some_attacker_with_the_knowledge_passed_its_control(
    failed, exact, tmp_path, monkeypatch
):
    two_attackers(tmp_path / "run")
    original = run_verdicts.stored_control

    def control(contender, *rest):
        entry = original(contender, *rest)
        return {**entry, "status": "failed"} if contender.label in failed else entry

    monkeypatch.setattr(run_verdicts, "stored_control", control)
    judged = run_verdicts.judge_folder(tmp_path / "run")
    assert all((found.risk.scope == ANY_ATTACKER) == exact for found in judged)
    assert all((found.risk.status == "within") == exact for found in judged)


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ({"finding": Finding.VIOLATED}, "strong found the promise violated"),
        ({"finding": Finding.VIOLATED, "certain": True}, "strong found the promise violated"),
        ({"about": "mechanism"}, "the answers given to strong show that the mechanism is not as stated"),
        ({"evidence": ("Two answers are equal.",)}, "the answers given to strong show"),
    ],
)
def test_a_refuted_noise_distribution_clears_nobody_of_the_audit(shown, why, tmp_path, monkeypatch):
    assert {found.risk.scope for found in two_attackers(tmp_path / "run")} == {ANY_ATTACKER}
    original = run_verdicts.verdict.judge_trials

    def judge(trials, *, subject, **rest):
        found = original(trials, subject=subject, **rest)
        return replace(found, **shown) if subject.label == "strong" else found

    monkeypatch.setattr(run_verdicts.verdict, "judge_trials", judge)
    judged = run_verdicts.judge_folder(tmp_path / "run")
    for found in judged:
        assert (found.risk.status, found.risk.scope) == ("undecided", ATTACKERS_TRIED)
        assert found.risk.high > 0.6  # measured in 100 rounds, not 55 % by the distribution
        assert "clears nobody: " + why in found.risk.reason
    assert judged.summary.risk.status == "undecided"
    assert judged.summary.exit_code == (1 if "finding" in shown else 3)


@pytest.mark.parametrize("noise", ["of a service", "none is stated"])
def test_measured_numbers_clear_nobody_where_the_noise_is_refuted_unless_none_was_stated(
    noise, tmp_path, monkeypatch
):
    two_attackers(tmp_path / "run", limit=0.9)
    content = manifest.load(tmp_path / "run")
    metadata = content["facts"]["count"]
    metadata["noise_is_stated"] = noise == "of a service"
    if noise == "none is stated":
        metadata["guarantee"]["curve"] = None
    manifest.update(content, tmp_path / "run")
    judge = run_verdicts.verdict.judge_trials
    before = run_verdicts.judge_folder(tmp_path / "run")
    assert {(found.risk.status, found.risk.scope) for found in before} == {("within", ATTACKERS_TRIED)}

    def violated(trials, **rest):
        return replace(judge(trials, **rest), finding=Finding.VIOLATED)

    monkeypatch.setattr(run_verdicts.verdict, "judge_trials", violated)
    after = run_verdicts.judge_folder(tmp_path / "run")
    assert all(found.risk.high < 0.9 for found in after)
    status = "within" if noise == "none is stated" else "undecided"
    assert {found.risk.status for found in after} == {status}


def test_an_attacker_over_the_limit_refutes_the_noise_distribution_for_others(tmp_path, monkeypatch):
    two_attackers(tmp_path / "run")
    original = run_verdicts.assess_risk

    def assess(trials, estimates, *, attacker, **rest):
        risk = original(trials, estimates, attacker=attacker, **rest)
        return replace(risk, status=RiskStatus.OVER, scope=ATTACKERS_TRIED) if attacker == "strong" else risk

    monkeypatch.setattr(run_verdicts, "assess_risk", assess)
    weak, strong = run_verdicts.judge_folder(tmp_path / "run")
    assert (weak.risk.status, strong.risk.status) == ("undecided", "over")
    assert "strong does better than that distribution allows anybody" in weak.risk.reason


def test_one_simulated_round_with_many_targets_has_no_interval(plan, tmp_path):
    given = plan(rounds=1, challenger="{ promised = 1.0, targets = 300 }", top="limits = { accuracy = 0.9 }")
    (found,) = judged = run_plan(given, tmp_path / "out")
    assert found.metrics["auc"].value > 0.6
    assert {estimate.low for name, estimate in found.metrics.items() if name != "epsilon"} == {None}
    assert found.metrics["epsilon"].low is not None  # a coin for each target: the one-run bound holds
    assert (found.risk.status, found.risk.rounds_needed) == ("undecided", 100)
    assert judged.summary.exit_code == 3
    assert judge_folder(tmp_path / "out") == judged


def test_the_error_is_divided_over_the_attackers_limits_and_settings_of_a_run(plan, tmp_path):
    given = plan(
        sweep='{ "mechanism.epsilon" = [0.5, 1.0, 2.0] }',
        attacks='[{ name = "peek", label = "one" }, { name = "peek", label = "two" }]',
        top="limits = { accuracy = 0.9, auc = 0.9 }",
        challenger="{ promised = 9.0, targets = 2 }",
    )
    for found in run_plan(given, tmp_path / "out"):
        # over: 3 settings x 2 attackers x accuracy at the own and at a calibrated threshold, and AUC
        assert found.risk.low_confidence == pytest.approx(1 - 0.05 / (3 * 2 * 3))
        # within: whoever looks at 3 settings publishes the best of them
        assert found.risk.high_confidence == pytest.approx(1 - 0.05 / 3)
