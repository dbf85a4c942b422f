import re
import tomllib
from dataclasses import replace

import pytest

from leakgauge import catalog
from leakgauge.core.domain import Tunable
from leakgauge.core.errors import BadInput
from leakgauge.parameter_search.dimensions import (
    Dimension,
    find_audit,
    find_dimensions,
    varied_keys,
    with_setting,
)
from leakgauge.plan import plan_of

PAIR = {"pair": [[0.0], [1.0]]}


def noisy(**audit):
    table = {"name": "a", "domain": "blackbox", "challenger": PAIR}
    return plan_of({"audit": [{**table, "mechanism": {"name": "laplace", "epsilon": 1.0}, **audit}]})


def city(**tables):
    mechanism = {"name": "laplace", "epsilon": 1.0, **tables.get("mechanism", {})}
    data = {"source": "synthetic", **tables.get("data", {})}
    challenger = {"group_size": 10}
    audit = {"name": "city", "domain": "locations", "data": data, "challenger": challenger}
    return plan_of({"audit": [{**audit, "mechanism": mechanism}]})


def dimensions(plan, *vary):
    domain = catalog.get_domain(plan.audits[0].domain)
    return find_dimensions(domain, plan.audits[0], varied_keys(domain, plan, vary or None))


def test_a_sweep_over_a_varied_key_is_one_audit():
    plan = noisy(sweep={"mechanism.epsilon": [0.5, 1.0]})
    assert find_audit(plan, None, ["mechanism.epsilon"]).name == "a"


def test_a_sweep_over_another_key_has_to_be_named():
    plan = noisy(sweep={"mechanism.epsilon": [0.5, 1.0], "mechanism.sensitivity": [1.0, 2.0]})
    with pytest.raises(BadInput, match=r"2 audits.*--audit NAME.*a@sensitivity=1\.0"):
        find_audit(plan, None, ["mechanism.epsilon"])
    found = find_audit(plan, "a@sensitivity=2.0", ["mechanism.epsilon"])
    assert found.mechanism["sensitivity"] == 2.0
    with pytest.raises(BadInput, match="no audit is called 'b'"):
        find_audit(plan, "b", ["mechanism.epsilon"])


def test_the_domain_proposes_the_noise_that_the_plan_sets():
    assert [one.key for one in dimensions(noisy())] == ["mechanism.epsilon"]
    gaussian = {"name": "gaussian", "sigma": 2.0, "delta": 1e-5}
    assert [one.key for one in dimensions(noisy(mechanism=gaussian))] == ["mechanism.sigma"]
    assert [one.key for one in dimensions(city())] == ["mechanism.epsilon"]


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ("mechanism.epsilom", "did you mean 'mechanism.epsilon'"),
        ("mechanism.scale", "the plan does not set it; add scale to the table mechanism"),
    ],
)
def test_a_key_without_effect_is_refused(vary, words):
    with pytest.raises(BadInput, match=words):
        dimensions(noisy(), vary)


def test_an_epsilon_beside_a_scale_is_a_label_and_not_tuned():
    plan = noisy(mechanism={"name": "laplace", "epsilon": 1.0, "scale": 2.0})
    assert [one.key for one in dimensions(plan)] == ["mechanism.scale"]
    with pytest.raises(BadInput, match=r"the plan has mechanism\.scale, which decides the noise"):
        dimensions(plan, "mechanism.epsilon")


def test_a_function_of_the_user_cannot_be_tuned():
    challenger = {**PAIR, "release": "ours:noisy", "epsilon": 1.0}
    with pytest.raises(BadInput, match="nothing in this plan can be tuned"):
        dimensions(noisy(challenger=challenger, mechanism={}))


@pytest.mark.parametrize("vary", [[], ["mechanism.epsilon"]])
@pytest.mark.parametrize(
    ("trainer", "words"),
    [({}, "the training adds no noise"), ({"trainer": {"name": "random_forest"}}, "random forests")],
)
def test_a_training_without_noise_gets_the_mechanism_to_write(vary, trainer, words):
    audit = {"name": "a", "domain": "models", "data": {"source": "synthetic"}, "challenger": trainer}
    plan = plan_of({"audit": [{**audit, "mechanism": {"name": "none"}}]})
    with pytest.raises(BadInput, match=words) as refused:
        dimensions(plan, *vary)
    line = re.search(r"mechanism = {.*}", str(refused.value))
    assert line is not None
    noisy = plan_of({"audit": [{**audit, "challenger": {}, **tomllib.loads(line.group())}]})
    assert [one.key for one in dimensions(noisy)] == ["mechanism.epsilon"]


def test_two_amounts_of_noise_are_refused():
    plan = plan_of(
        {
            "audit": [
                {
                    "name": "q",
                    "domain": "queries",
                    "challenger": {"budget": 1.0},
                    "mechanism": {"name": "laplace", "epsilon": 0.1},
                }
            ]
        }
    )
    assert [one.key for one in dimensions(plan)] == ["challenger.budget"]
    with pytest.raises(BadInput, match="vary one of them"):
        dimensions(plan, "challenger.budget", "mechanism.epsilon")


def test_lists_begin_with_the_most_useful_value():
    (suppress,) = dimensions(city(), "mechanism.suppress")
    assert suppress.values == (0, 1, 2, 3, 5, 10)
    (grid,) = dimensions(city(data={"source": "visits.csv", "grid": [8, 4]}), "data.grid")
    assert grid.values == ([8, 4], [4, 2], [2, 1], [1, 1])
    (epoch,) = dimensions(city(data={"source": "visits.csv"}), "data.epoch")
    assert epoch.values[:2] == ("1h", "2h")
    assert suppress.usefulness(0) > suppress.usefulness(10)


def test_numbers_are_rounded_to_the_safe_side():
    scale = Dimension(tunable=Tunable(key="a.b", title="b", safer="larger", low=0.1, high=100.0))
    assert (scale.rounded(1.2341), scale.rounded(50.0), scale.next_useful(1.24)) == (1.24, 50.0, 1.23)
    assert (scale.useful_end, scale.safe_end) == (0.1, 100.0)


def test_a_setting_changes_nothing_else():
    audit = city().audits[0]
    changed = with_setting(audit, {"mechanism.epsilon": 0.5, "mechanism.suppress": 2})
    assert changed.mechanism == {"name": "laplace", "epsilon": 0.5, "suppress": 2}
    assert replace(changed, mechanism=audit.mechanism) == audit
    assert audit.mechanism["epsilon"] == 1.0
