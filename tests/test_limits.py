import pytest

from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.limits import Limits, metrics_under_limit, read_limits, read_policy
from leakgauge.plan import plan_of, read_plan, to_toml, with_policy
from leakgauge.runner.run import run_plan

AUDIT = {"name": "noise", "domain": "blackbox"}


def test_limits_are_read_from_a_plan_and_written_back(tmp_path):
    limits = {"accuracy": 0.6, "tpr_at_fpr_0.01": 0.05, "recognised_at": 0.8, "attackers": ["simulator"]}
    plan = plan_of({"title": "May", "owner": "city", "limits": limits, "audit": [AUDIT]})
    assert plan.limits.metrics == {"accuracy": 0.6, "tpr_at_fpr_0.01": 0.05}
    assert plan.heading.title == "May"
    path = tmp_path / "again.toml"
    path.write_text(to_toml(plan))
    again = read_plan(path)
    assert (again.limits, again.heading) == (plan.limits, plan.heading)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"acuracy": 0.6}, "did you mean 'accuracy'"),
        ({"acc": 0.6}, "did you mean 'accuracy'"),  # and not 'auc', which differs in fewer letters
        ({"tpr_at_fpr_0": {"01": 0.2}}, "names with a dot need quotes"),
        ({"accuracy": 60}, r"limits\.accuracy: must be below 1, got 60; .* write 0.6 for 60 %"),
        ({"accuracy": 1}, "must be below 1, got 1; no attacker exceeds 1, so no release could be over it"),
        ({"auc": 1.0}, "no release could be over it"),
        ({"tpr": 1.0}, "no release could be over it"),
        ({"advantage": 0}, "must be above 0, got 0; no result is below 0, so no release could be within it"),
        ({"accuracy": 0.5}, "must be above 0.5, got 0.5; guessing reaches that by chance, so no release"),
        ({"accuracy": -0.6}, "must be above 0.5"),
        ({"tpr_at_fpr_0.01": 0.01}, "must be above 0.01, got 0.01; guessing reaches that by chance"),
        ({"tpr_at_fpr_0.1": 0.05}, "must be above 0.1, got 0.05"),
        ({"tpr_at_fpr_0.001": 0.0005}, "must be above 0.001"),
        ({"accuracy": float("nan")}, "must be above"),
        ({"accuracy": "0.6"}, r"limits\.accuracy: must be a number, got '0.6'"),
        ({"accuracy": "0,6"}, r"limits\.accuracy: must be a number, got '0,6'; write 0\.6$"),
        ({"accuracy_own": 0.6}, "did you mean 'accuracy"),
        ({"epsilon": 1.0}, "limit accuracy instead"),
        ({"accuracy": 0.6, "none": True}, "remove one of them"),
        ({"recognised": 2}, "must be a share of people above 0, .* and below 1"),
        ({"recognised": 0}, r"limits\.recognised: must be a share of people above 0, which no result can be"),
        ({"recognised": 1}, "must be a share of people above 0"),
        ({"recognised": 0.1, "recognised_at": 0.905}, "in steps of 0.01"),
        ({"attackers": "informed"}, "must be a list"),
    ],
)
def test_bad_limits_are_refused_with_the_way_out(table, message):
    with pytest.raises(BadInput, match=message):
        read_limits(table, "plan.toml: limits")


@pytest.mark.parametrize(
    "settings",
    [
        {"metrics": {"accuracy": 0.4}},
        {"metrics": {"acuracy": 0.6}},
        {"metrics": {"accuracy": "0.6"}},
        {"metrics": {"accuracy": None}},
        {"metrics": None},
        {"metrics": 0.6},
        {"attackers": "informed"},
        {"recognised": "0.1"},
        {"recognised_at": None},
        {"none": "yes"},
    ],
)
def test_limits_made_in_python_are_checked_too(settings):
    with pytest.raises(BadInput):
        Limits(**settings)


def test_limits_at_which_chance_is_close_are_read():
    table = {"tpr_at_fpr_0.01": 0.011, "accuracy": 0.501, "tpr_at_fpr_0.001": 0.002, "auc": 0.999}
    assert read_limits(table, "limits").metrics == table


@pytest.mark.parametrize("command", ["judge", "gate"])
def test_errors_of_a_policy_name_its_file_and_key(tmp_path, capsys, command):
    path = tmp_path / "mine.toml"
    path.write_text('[limits]\naccuracy = 0.6\nattackers = ["informed"]\n')
    plan = {"audit": [{**AUDIT, "rounds": 20, "mechanism": {"name": "laplace", "epsilon": 1.0}}]}
    plan["audit"][0]["challenger"] = {"pair": [0, 1]}
    run_plan(plan_of(plan), tmp_path / "run")
    assert main([command, str(tmp_path / "run"), "--policy", str(path)]) == 2
    message = f"leakgauge: {path}: limits.attackers: no attacker of this plan is called 'informed'; "
    assert capsys.readouterr().err.startswith(message)
    with pytest.raises(BadInput, match=r"mine.toml: limits.attackers: no attacker"):
        with_policy(plan_of(plan), path)


def test_errors_at_the_top_of_a_plan_name_file_and_key(tmp_path):
    (tmp_path / "bad.toml").write_text("publish = 7\n[[audit]]\nname = 'noise'\ndomain = 'blackbox'\n")
    with pytest.raises(BadInput, match=r"bad\.toml: publish: must be a string, got 7"):
        read_plan(tmp_path / "bad.toml")


def test_unknown_attackers_and_points_are_refused():
    with pytest.raises(BadInput, match=r"limits\.attackers: no attacker of this plan is called 'informed'"):
        plan_of({"limits": {"attackers": ["informed"], "auc": 0.6}, "audit": [AUDIT]})
    with pytest.raises(BadInput, match=r"limits\.recognised: people cannot be counted in this domain"):
        plan_of({"limits": {"recognised": 0.1}, "audit": [AUDIT]})
    with pytest.raises(BadInput, match="no limit in it"):
        plan_of({"limits": {}, "audit": [AUDIT]})
    with pytest.raises(BadInput, match="publish: no audit is called 'x'"):
        plan_of({"publish": "x", "audit": [AUDIT]})
    with pytest.raises(BadInput, match=r"limits\.auc: stop = 'decided' may end .* write stop = 'rounds'"):
        plan_of({"limits": {"accuracy": 0.6, "auc": 0.6}, "audit": [{**AUDIT, "stop": "decided"}]})
    assert plan_of({"limits": {"accuracy": 0.6}, "audit": [{**AUDIT, "stop": "decided"}]}).limits.metrics


def test_a_policy_file_replaces_the_limits_of_a_plan(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("[limits]\nauc = 0.7\n")
    plan = plan_of({"limits": {"accuracy": 0.6}, "audit": [AUDIT]})
    assert with_policy(plan, path).limits == Limits(metrics={"auc": 0.7})
    path.write_text("[limit]\nauc = 0.7\n")
    with pytest.raises(BadInput, match="no table is called 'limit'; did you mean 'limits'"):
        read_policy(path)
    path.write_text("auc = \n")
    with pytest.raises(BadInput, match="not valid TOML"):
        read_policy(path)
    with pytest.raises(BadInput, match="no such policy file"):
        read_policy(tmp_path / "absent.toml")


def test_a_limit_on_accuracy_covers_both_thresholds():
    assert metrics_under_limit("accuracy") == (("accuracy_mean", "accuracy_own"), "accuracy")
    assert metrics_under_limit("tpr_at_fpr_0.01") == ((), "tpr_at_fpr_0.01")
