import json

import pytest

KINDS = [
    "accountants",
    "attacks",
    "domains",
    "examples",
    "keys",
    "kinds",
    "knowledge",
    "mechanisms",
    "metrics",
    "trainers",
]


@pytest.mark.parametrize("what", KINDS)
def test_every_entry_has_name_and_description(call, what):
    outcome = call("show", what)
    assert outcome.code == 0
    assert outcome.out.strip()
    for entry in json.loads(call("show", what, "--json").out):
        assert entry["name"]
        assert entry["about"]


def test_domain_option_filters_entries(call):
    assert (
        call("show", "attacks", "--domain", "coin").out == "peek   Believe the coin.\nsleep  Say nothing.\n"
    )


def test_without_an_argument_it_lists_all_that_can_be_listed(call):
    kinds = json.loads(call("show", "--json").out)
    assert [kind["name"] for kind in kinds] == KINDS
    assert all(kind["about"] for kind in kinds)


def test_the_trainers_of_models_are_listed(call):
    trainers = {
        (entry["domain"], entry["name"]) for entry in json.loads(call("show", "trainers", "--json").out)
    }
    assert {("models", "network"), ("models", "random_forest")} <= trainers
    assert "network        A multilayer perceptron" in call("show", "trainers", "--domain", "models").out


def test_what_a_domain_does_not_have_is_code_2(call):
    outcome = call("show", "trainers", "--domain", "coin")
    assert outcome == (2, "", "leakgauge: domain 'coin' has no trainers; leave --domain out\n")


def test_an_unknown_kind_points_to_the_nearest(call):
    outcome = call("show", "trainer")
    assert outcome == (2, "", "leakgauge: nothing to list is called 'trainer'; did you mean 'trainers'?\n")


def test_unknown_domain_exits_with_code_2(call):
    outcome = call("show", "attacks", "--domain", "coins")
    assert outcome == (2, "", "leakgauge: no domain is called 'coins'; did you mean 'coin'?\n")


def test_domain_lists_accepted_mechanisms(call):
    noise = ["discrete_gaussian", "gaussian", "geometric", "laplace", "logistic"]

    def names(*domain):
        return [entry["name"] for entry in json.loads(call("show", "mechanisms", *domain, "--json").out)]

    assert names("--domain", "locations") == [*noise, "raw", "own"]
    assert "laplace            Laplace noise" in call("show", "mechanisms", "--domain", "locations").out
    assert names("--domain", "blackbox") == names()
    assert "exponential" in names()


def test_json_holds_kind_domain_and_parameters(call):
    entries = json.loads(call("show", "attacks", "--domain", "queries", "--json").out)
    split = next(entry for entry in entries if entry["name"] == "split_likelihood")
    assert (split["kind"], split["domain"]) == ("attacks", "queries")
    queries = next(one for one in split["parameters"] if one["name"] == "queries")
    assert queries["type"] == "whole number"
    assert queries["default"].isdigit()
    assert queries["about"]


def test_keys_of_a_domain_show_type_default_and_a_line(call):
    out = call("show", "keys", "--domain", "locations").out
    line = next(line for line in out.splitlines() if line.strip().startswith("data.timezone"))
    assert "text: The time zone in which days and hours are counted" in line
    assert "mechanism, with laplace:" in out
    assert "challenger.group_size" in out


def test_keys_of_every_plan_are_shown_without_a_domain(call):
    out = call("show", "keys").out
    assert "audit.rounds" in out
    assert "whole number [2000]: How many releases are simulated." in out
    assert "limits.accuracy" in out
