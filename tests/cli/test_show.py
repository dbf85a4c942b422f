import json

import pytest


@pytest.mark.parametrize("what", ["attacks", "domains", "knowledge", "mechanisms", "metrics"])
def test_everything_has_a_name_and_a_line(call, what):
    outcome = call("show", what)
    assert outcome.code == 0
    assert outcome.out.strip()
    for entry in json.loads(call("show", what, "--json").out):
        assert entry["name"]
        assert entry["about"]


def test_a_domain_narrows_it(call):
    assert (
        call("show", "attacks", "--domain", "coin").out == "peek   Believe the coin.\nsleep  Say nothing.\n"
    )


def test_an_unknown_domain_is_code_2(call):
    outcome = call("show", "attacks", "--domain", "coins")
    assert outcome == (2, "", "leakgauge: no domain is called 'coins'; did you mean 'coin'?\n")


def test_a_domain_lists_the_mechanisms_that_it_accepts(call):
    noise = ["discrete_gaussian", "gaussian", "geometric", "laplace", "logistic"]

    def names(*domain):
        return [entry["name"] for entry in json.loads(call("show", "mechanisms", *domain, "--json").out)]

    assert names("--domain", "locations") == [*noise, "raw", "own"]
    assert "laplace            Laplace noise" in call("show", "mechanisms", "--domain", "locations").out
    assert names("--domain", "blackbox") == names()
    assert "exponential" in names()
