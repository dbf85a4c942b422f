import sys

import dp_accounting
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.renyi import renyi_epsilon


@pytest.mark.parametrize("ratio", [0.5, 2.0, 12.0])
def test_epsilon_is_that_of_dp_accounting_on_all_orders_of_the_paper(ratio):
    orders = [*np.arange(1.01, 10.97, 0.05), *range(10, 40)]  # beyond them none is best here
    accountant = dp_accounting.rdp.RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    noise = dp_accounting.GaussianDpEvent(ratio)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(10_000, 200, noise), 5_000)
    expected = accountant.get_epsilon(1e-5)
    assert expected * 0.99 < renyi_epsilon(ratio, 1e-5, 0.02, 5_000) <= expected * (1 + 2e-3)


def test_high_orders_are_used_where_they_are_best():
    ratio, orders = 60.0, range(60, 90, 3)
    accountant = dp_accounting.rdp.RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    noise = dp_accounting.GaussianDpEvent(ratio)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(10_000, 200, noise), 5_000)
    expected, order = accountant.get_epsilon_and_optimal_order(1e-5)
    assert orders[0] < order < orders[-1]
    assert renyi_epsilon(ratio, 1e-5, 0.02, 5_000) == pytest.approx(expected, rel=2e-3)


def test_without_the_library_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(BadInput, match=r"pip install 'leakgauge\[ml\]'"):
        renyi_epsilon(1.0, 1e-5, 0.02, 100)
