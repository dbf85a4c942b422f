import json

import pytest


@pytest.mark.parametrize("what", ["attacks", "domains", "knowledge", "mechanisms", "metrics"])
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
