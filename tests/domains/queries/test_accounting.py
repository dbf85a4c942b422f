import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.accounting import accountant, names


@pytest.mark.parametrize("name", names())
def test_every_accountant_says_what_it_is_and_whether_its_refusals_promise_anything(name):
    found = accountant(name)
    assert found.__doc__
    assert found.sound is (name in ("sequential", "per_predicate"))


def test_an_unknown_accountant_is_refused():
    with pytest.raises(BadInput, match="did you mean 'sequential'"):
        accountant("sequentially")
