import numpy as np
import pytest

from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.mechanisms import laplace
from leakgauge.strategies import term_by_term
from leakgauge.strategies.count_priors import CountPrior
from leakgauge.strategies.tabulating import Cells
from strategies.summing import by_summation


@pytest.mark.parametrize("weights", [None, np.linspace(0, 1, 9)], ids=["known", "weighed"])
@pytest.mark.parametrize("entries", [1, 100, 2**20])
def test_sums_do_not_depend_on_how_many_are_done_at_a_time(entries, weights, monkeypatch):
    monkeypatch.setattr(term_by_term, "_ENTRIES", entries)
    chain = Chain(noise=laplace.Mechanism(epsilon=0.7), group_size=40, round=True, clamp=True)
    rates, places = np.linspace(0.01, 0.9, 9), np.arange(0.0, 36.0, 4)
    found = term_by_term.by_sums(chain.log_law, range(31), Cells(30, 30, 0, rates), places, weights)
    prior = CountPrior(rates, 30, 30, np.zeros(9, dtype=np.int64))
    np.testing.assert_allclose(found, by_summation(chain, places[None], 0, prior, weights)[0], atol=1e-9)
