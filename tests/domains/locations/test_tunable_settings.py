import numpy as np
import pytest

import leakgauge
from leakgauge import catalog
from leakgauge.domains.locations.exposure import expose
from leakgauge.domains.locations.tunable_settings import computed_exposure
from leakgauge.plan import plan_of


def small_city(group_size=20, **mechanism):
    return {
        "seed": 5,
        "audit": [
            {
                "name": "city",
                "domain": "locations",
                "rounds": 60,
                "block": 60,
                "data": {"source": "synthetic", "users": 60, "sites": 8, "epochs": 12},
                "mechanism": {"name": "laplace", "epsilon": 0.5, "round": True, "clamp": True, **mechanism},
                "attacks": [{"name": "likelihood", "knowledge": "informed"}],
                "challenger": {"group_size": group_size, "splits": 1, "targets": {"n": 3}},
            }
        ],
    }


def challenger(plan):
    plan = plan_of(plan)
    return catalog.build_challenger(plan.audits[0], plan, plan.audits[0].contenders)


@pytest.mark.parametrize("group_size", [20, "everyone"])
@pytest.mark.parametrize("suppress", [0, 2])
def test_the_risk_to_targets_is_that_of_expose(group_size, suppress):
    made = challenger(small_city(group_size, suppress=suppress))
    (targets,) = computed_exposure(made, ("informed",), everyone=False)
    (everyone,) = expose(made, ("informed",)).against
    np.testing.assert_allclose(targets.accuracy, everyone.accuracy[made.people.targets], atol=1e-3)


def test_the_risk_to_targets_of_others_is_that_of_expose():
    made = challenger(small_city())
    auxiliary, zero = computed_exposure(made, ("auxiliary", "zero"), everyone=False)
    exposed = expose(made, ("auxiliary", "zero")).against
    assert auxiliary.accuracy.tolist() == exposed[0].accuracy[made.people.targets].tolist()
    assert zero.tpr.tolist() == exposed[1].tpr[made.people.targets].tolist()


def test_nothing_is_computed_for_an_attacker_who_is_only_simulated():
    assert computed_exposure(challenger(small_city()), ("partial",), everyone=False) is None


def test_a_limit_on_people_recognised_is_confirmed_by_expose(tmp_path):
    plan = small_city()
    plan["audit"][0]["mechanism"] = {"name": "gaussian", "sigma": 1.0, "delta": 1e-5}  # in closed form
    result = leakgauge.tune(plan, limits={"recognised": 0.05, "recognised_at": 0.7}, out=tmp_path / "out")
    assert result.confirmed.risk.metric == "recognised"
    assert result.confirmed.risk.high < 0.05
    least = min(one.setting["mechanism.sigma"] for one in result.tried if one.excess < 0)
    assert result.setting["mechanism.sigma"] == least
    assert (result.folder / "confirmation-1" / "exposure.csv").stat().st_mode & 0o77 == 0


def test_settings_with_suppression_are_compared_by_their_utility(tmp_path):
    plan = small_city(epsilon=0.1, group_size=300)
    plan["audit"][0]["data"]["users"] = 700  # so many that counts are useful with this noise
    result = leakgauge.tune(plan, limits={"accuracy": 0.7}, vary=["mechanism.suppress"], out=tmp_path / "out")
    assert len(result.tried) == 6
    assert result.alternatives[0].setting == result.setting
    assert [one.setting for one in result.alternatives] == [one.setting for one in result.tried]
    assert any(line.startswith("Under the limit by the search") for line in result.lines)
    errors = [one.utility["mean_absolute_error"] for one in result.tried]
    assert errors == sorted(errors)
