import math

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.locations.plan_tables import (
    LocationsTargetOrder,
    LocationsTargetsTable,
    LocationsUserMechanismTable,
    read_challenger_table,
    read_mechanism_table,
)

BASE = {"group_size": 100}


def chain(mechanism, **setting):
    return read_mechanism_table(mechanism, read_challenger_table({**BASE, **setting}))


def test_challenger_table_is_read():
    table = read_challenger_table(
        {**BASE, "relation": "replace_one", "per_day": 3, "targets": {"n": 2, "choose": "most"}}
    )
    assert table.relation is Relation.REPLACE_ONE
    assert table.per_day == 3
    assert table.targets == LocationsTargetsTable(n=2, choose=LocationsTargetOrder.MOST)


def test_targets_accepts_a_number():
    assert read_challenger_table({**BASE, "targets": 5}).targets == LocationsTargetsTable(n=5)
    assert read_challenger_table(BASE).targets.how_many == 1


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "'group_size' is missing"),
        ({"group_size": 0}, "an empty group has no counts"),
        ({"group_size": 1.5}, "must be a whole number"),
        ({**BASE, "group_sise": 3}, "did you mean 'group_size'"),
        ({**BASE, "reference": 0}, "reference must be > 0"),
        ({**BASE, "reference": float("nan")}, "reference must be > 0, got nan"),
        ({**BASE, "reference": 1.0}, "a share below 1, or a whole number of people, got 1; "),
        ({**BASE, "reference": 2.5}, "got 2.5; "),
        ({**BASE, "reference": float("inf")}, "got inf; "),
        ({**BASE, "per_day": 0}, "per_day must be >= 1, got 0; leave it out"),
        ({**BASE, "targets": 0}, "n must be >= 1"),
        ({**BASE, "targets": True}, "expected a table, got True"),
        ({**BASE, "targets": {"n": 1, "min_visits": 0}}, "cannot be found"),
        ({**BASE, "targets": {"choose": "mots"}}, "did you mean 'most'"),
        ({**BASE, "relation": "replace"}, "did you mean 'replace_one'"),
    ],
)
def test_rejects_invalid_challenger_table(table, problem):
    with pytest.raises(BadInput, match=problem):
        read_challenger_table(table)


@pytest.mark.parametrize(
    ("name", "unit", "scale"),
    [
        ("laplace", "event", 1 / 0.5),
        ("laplace", "user-day", 4 / 0.5),
        ("laplace", "user", 9 / 0.5),
        ("geometric", "user-day", 4 / 0.5),
        ("geometric", "user", 9 / 0.5),
    ],
)
def test_noise_scales_with_sensitivity_of_unit(name, unit, scale):
    noise = chain({"name": name, "epsilon": 0.5, "unit": unit}, per_day=4, per_user=9).noise
    assert noise.noise_scale == pytest.approx(scale)
    assert noise.unit is Unit(unit)


def test_gaussian_noise_scales_with_square_root_of_visits():
    mechanism = {"name": "gaussian", "epsilon": 0.5, "delta": 1e-5}
    one = chain(mechanism).noise.noise_scale
    nine = chain({**mechanism, "unit": "user"}, per_user=9).noise.noise_scale
    assert nine / one == pytest.approx(math.sqrt(9))


def test_post_processing_follows_noise():
    found = chain({"name": "laplace", "scale": 2.0, "round": True, "clamp": True, "suppress": 3})
    assert (found.round, found.clamp, found.suppress, found.group_size) == (True, True, 3, 100)
    assert chain({"name": "raw", "suppress": 1}).noise is None


def test_user_pipeline_may_state_promise():
    own = chain({"name": "own", "release": "m:f", "epsilon": 1.0, "delta": 1e-6, "unit": "user-day"})
    assert isinstance(own, LocationsUserMechanismTable)
    assert (own.stated.epsilon, own.stated.delta, own.stated.unit) == (1.0, 1e-6, Unit.USER_DAY)
    assert chain({"name": "own", "release": "m:f"}).stated is None


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        ({}, "'name' is missing"),
        ({"name": "laplase", "epsilon": 1.0}, "did you mean 'laplace'"),
        ({"name": "sparse_vector"}, "none is called 'sparse_vector'"),
        ({"name": "laplace", "epsilon": -1.0}, "must be > 0"),
        ({"name": "laplace", "epsilon": float("nan")}, "must be > 0"),
        ({"name": "laplace", "scale": float("inf")}, "must be"),
        ({"name": "laplace"}, "epsilon"),
        ({"name": "laplace", "epsilon": 1.0, "sensitivity": 2.0}, "follows from the unit and the caps"),
        ({"name": "laplace", "epsilon": 1.0, "relation": "add_remove"}, "belongs to the challenger"),
        ({"name": "laplace", "epsilon": 1.0, "unit": "user-day"}, "add challenger.per_day"),
        ({"name": "laplace", "epsilon": 1.0, "unit": "user"}, "add challenger.per_user"),
        ({"name": "laplace", "epsilon": 1.0, "unit": "record"}, "no unit of counts is called 'record'"),
        ({"name": "laplace", "epsilon": 1.0, "supress": 1}, "did you mean 'suppress'|no key"),
        ({"name": "laplace", "epsilon": 1.0, "suppress": -1}, "suppress must be a whole number >= 0"),
        ({"name": "laplace", "epsilon": 1.0, "round": 1}, "must be true or false"),
        ({"name": "raw", "epsilon": 1.0}, "adds no noise; leave out epsilon"),
        ({"name": "own"}, "'release' is missing"),
        ({"name": "own", "release": "m:f", "unit": "client"}, "no unit of counts is called 'client'"),
    ],
)
def test_rejects_mechanism_that_makes_no_release(mechanism, problem):
    with pytest.raises(BadInput, match=problem):
        chain(mechanism)


def test_delta_alone_is_no_guarantee():
    with pytest.raises(BadInput, match="needs an epsilon"):
        chain({"name": "own", "release": "m:f", "delta": 1e-6}).stated  # noqa: B018
