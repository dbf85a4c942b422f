import copy
import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.plan import plan_of
from leakgauge.plan_schema import describe_keys, plan_schema, schema_text

ROOT = Path(__file__).parent.parent
PLANS = sorted((ROOT / "examples").glob("*/plan.toml"))
LIGHT = ("laplace-sweep", "query-service", "query-attributes", "genotypes")  # read in an instant


@cache
def validator():
    jsonschema.Draft7Validator.check_schema(plan_schema())
    return jsonschema.Draft7Validator(plan_schema())


def accepted(plan: dict[str, Any]) -> bool:
    return validator().is_valid(plan)


def load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.parent.name)
def test_every_example_is_valid(path):
    assert [error.message for error in validator().iter_errors(load(path))] == []


def tables(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all tables below a value."""
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from tables(item, (*path, key))


def at(plan: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        plan = plan[key]
    return plan


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.parent.name)
def test_an_unknown_key_is_refused_in_every_table(path):
    plan = load(path)
    free = ("sweep", "dependence", "claim", "run_config")  # read by hand, or passed on as they are
    places = [place for place in tables(plan) if not set(free) & set(map(str, place))]
    assert len(places) >= 3
    for place in places:
        changed = copy.deepcopy(plan)
        at(changed, place)["no_such_key"] = 1
        assert not accepted(changed), place


def reader_refuses(plan: dict[str, Any], folder: Path) -> bool:
    try:
        read = plan_of(plan, folder=folder)
        for audit in read.audits:
            catalog.prepare_audit(audit, read)
    except BadInput:
        return True
    return False


WRONG = ("a text", -1.5, True, [1, "two"], {"strange": 1})


def mutations(plan: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The plan with one value replaced by one of another type, for the first audit."""
    for place in tables(plan):
        if (place and place[0] == "audit" and place[1] != 0) or "sweep" in place:
            continue
        for key, value in at(plan, place).items():
            if key in ("audit", "sweep", "name", "label"):
                continue
            for wrong in WRONG:
                if type(wrong) is not type(value):
                    changed = copy.deepcopy(plan)
                    at(changed, place)[key] = wrong
                    changed["audit"] = changed["audit"][:1]
                    changed["audit"][0].pop("sweep", None)
                    yield (*place, key, repr(wrong)), changed


TYPE_RULES = ("must be a", "must be true", "must be nothing", "expected a table", "no choice", "no key")


def refused_for_its_type(plan: dict[str, Any], folder: Path) -> bool:
    try:
        read = plan_of(plan, folder=folder)
        catalog.prepare_audit(read.audits[0], read)
    except BadInput as error:
        return any(rule in str(error) for rule in TYPE_RULES) and "must be at" not in str(error)
    return False


@pytest.mark.parametrize("name", ["laplace-sweep", "query-service"])
def test_values_of_wrong_types_that_the_reader_refuses_are_refused(name):
    path = ROOT / "examples" / name / "plan.toml"
    checked = 0
    for place, changed in mutations(load(path)):
        if refused_for_its_type(changed, path.parent):
            checked += 1
            assert not accepted(changed), place
    assert checked >= 20


@pytest.mark.parametrize("name", LIGHT)
def test_what_the_schema_accepts_of_an_example_the_reader_accepts(name):
    path = ROOT / "examples" / name / "plan.toml"
    plan = load(path)
    assert accepted(plan)
    plan["audit"] = plan["audit"][:1]
    assert not reader_refuses(plan, path.parent)


BASE: dict[str, dict[str, Any]] = {
    "locations": {
        "data": {"source": "visits.csv", "columns": {"user": "u", "time": "t", "place": "p"}},
        "mechanism": {"name": "laplace", "epsilon": 1.0, "unit": "event"},
        "challenger": {"group_size": 10, "targets": 2},
    },
    "federated": {
        "data": {"source": "synthetic", "rows": 100},
        "mechanism": {"name": "bitrand", "epsilon": 1.0},
        "challenger": {"targets": 2, "batch": 5},
    },
    "models": {
        "data": {"source": "rows.csv", "label": "y"},
        "mechanism": {"name": "dp_sgd", "epsilon": 1.0, "relation": "replace_one"},
        "challenger": {"members": 20, "targets": 5},
    },
    "queries": {
        "data": {"source": "people.csv"},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "challenger": {"budget": 1.0},
    },
}


@pytest.mark.parametrize("domain", BASE)
def test_the_tables_of_a_domain_are_those_of_the_domain_that_is_named(domain):
    plan = {"audit": [{"name": "x", "domain": domain, **BASE[domain]}]}
    assert accepted(plan)
    for other in BASE:
        if other != domain:
            swapped = {"audit": [{"name": "x", "domain": other, **BASE[domain]}]}
            assert not accepted(swapped), other


@pytest.mark.parametrize(
    ("domain", "table", "change"),
    [
        ("locations", "data", {"grid": 10}),
        ("locations", "data", {"grid": [10, 10, 10]}),
        ("locations", "data", {"source": "synthetic"}),  # a generated city has no columns
        ("locations", "mechanism", {"sensitivity": 2.0}),  # follows from the unit
        ("locations", "mechanism", {"unit": "record"}),
        ("locations", "mechanism", {"name": "laplase"}),
        ("federated", "challenger", {"engine": "floor"}),
        ("models", "challenger", {"game": "given"}),  # a finished model has no members to choose
        ("models", "data", {"impute": "yes"}),
        ("queries", "challenger", {"targets": "one"}),
        ("queries", "challenger", {"query": {"kind": "median"}}),
    ],
)
def test_a_wrong_value_of_a_domain_is_refused(domain, table, change):
    tables_of = copy.deepcopy(BASE[domain])
    tables_of[table] |= change
    assert not accepted({"audit": [{"name": "x", "domain": domain, **tables_of}]})


def test_a_key_that_a_sweep_sets_may_be_missing():
    tables_of = {**BASE["models"], "mechanism": {"name": "dp_sgd", "epsilon": 1.0}}
    plan = {"name": "x", "domain": "models", **tables_of}
    assert not accepted({"audit": [plan]})
    swept = {**plan, "sweep": {"mechanism.relation": ["add_remove", "replace_one"]}}
    assert accepted({"audit": [swept]})


@pytest.mark.parametrize(
    ("where", "key", "wrong"),
    [
        ((), "seed", -1),
        (("audit", 0), "rounds", 0),
        (("audit", 0), "block", 0),
        (("audit", 0, "metrics"), "confidence", 1.5),
        (("audit", 0, "mechanism"), "epsilon", -1.0),
        (("limits",), "accuracy", 60),
        (("limits",), "accuracy", 0),
    ],
)
def test_numbers_that_the_reader_refuses_everywhere_are_refused(where, key, wrong):
    plan: Any = {
        "limits": {},
        "audit": [
            {
                "name": "a",
                "domain": "locations",
                "metrics": {},
                "data": {"source": "synthetic"},
                "mechanism": {"name": "laplace", "epsilon": 1.0},
                "challenger": {"group_size": 10},
                "attacks": ["likelihood"],
            }
        ],
    }
    assert accepted(plan)
    table = plan
    for step in where:
        table = table[step]
    table[key] = wrong
    assert not accepted(plan)
    assert reader_refuses(plan, ROOT)


def test_limits_have_their_keys():
    plan = {"audit": [{"name": "x", "domain": "queries", **BASE["queries"]}]}
    assert accepted({**plan, "limits": {"accuracy": 0.6, "tpr_at_fpr_0.01": 0.05, "attackers": ["known"]}})
    assert not accepted({**plan, "limits": {"acuracy": 0.6}})
    assert not accepted({**plan, "limits": {"accuracy": "0.6"}})


def test_attacks_take_their_own_parameters_and_knowledge():
    def plan(attack):
        return {"audit": [{"name": "x", "domain": "queries", **BASE["queries"], "attacks": [attack]}]}

    assert accepted(plan("split_likelihood"))
    assert accepted(plan({"name": "repeat", "wording": "same", "knowledge": {"name": "known", "records": 3}}))
    assert not accepted(plan("likelihood"))  # of another domain
    assert not accepted(plan({"name": "repeat", "wordings": "same"}))
    assert not accepted(plan({"name": "repeat", "knowledge": {"name": "known", "columns": ["age"]}}))


def test_the_text_is_json_that_holds_the_schema():
    assert json.loads(schema_text()) == plan_schema()


@pytest.mark.parametrize("domain", [None, *BASE, "blackbox"])
def test_every_key_has_a_type_and_a_line(domain):
    rows = describe_keys(domain)
    assert len(rows) >= 30
    assert [row["name"] for row in rows if not row["type"] or not row["about"]] == []
