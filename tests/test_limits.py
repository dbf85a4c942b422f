import pytest

from leakgauge.core.errors import BadInput
from leakgauge.limits import Limits, metrics_under_limit, read_limits, read_policy
from leakgauge.plan import plan_of, read_plan, to_toml, with_policy

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
        ({"tpr_at_fpr_0": {"01": 0.2}}, "names with a dot need quotes"),
        ({"accuracy": 60}, "above 0 and at most 1, got 60.0; write 0.6 for 60 %"),
        ({"accuracy": 0.5}, "must be above 0.5, which guessing reaches by chance"),
        ({"accuracy": float("nan")}, "must be above"),
        ({"accuracy_own": 0.6}, "did you mean 'accuracy"),
        ({"epsilon": 1.0}, "limit accuracy instead"),
        ({"accuracy": 0.6, "none": True}, "remove one of them"),
        ({"recognised": 2}, "a share of people, from 0 to 1"),
        ({"recognised": 0.1, "recognised_at": 0.905}, "in steps of 0.01"),
        ({"attackers": "informed"}, "must be a list"),
    ],
)
def test_bad_limits_are_refused_with_the_way_out(table, message):
    with pytest.raises(BadInput, match=message):
        read_limits(table, "plan.toml: limits")


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
