import heapq
from collections import defaultdict

import numpy as np
import pytest

from domains.queries.log.query_logs import answers, random_sparse, sparse
from leakgauge.domains.queries.log import incidence
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record, gaussian_epsilons
from leakgauge.theory import gdp

DELTA = 1e-5


def in_a_dictionary(log, found):
    """The same sums, one pair at a time."""
    pure, squares, cost = defaultdict(float), defaultdict(float), defaultdict(list)
    for record in range(found.n_records):
        for place in range(found.starts[record], found.starts[record + 1]):
            query = int(found.queries[place])
            size = log.bound[query] if found.contributions is None else abs(found.contributions[place])
            ratio = size / log.scale[query]
            if log.noise[query] == 2:
                squares[record] += ratio**2
                ratio = gdp.epsilon_at(ratio, DELTA)
            else:
                pure[record] += ratio
            cost[record].append((-ratio, query))
    return pure, squares, cost


@pytest.mark.parametrize("contributions", [False, True])
@pytest.mark.parametrize("block", [3, 10**6])
def test_epsilon_and_costliest_queries_match_direct_loop(monkeypatch, contributions, block):
    monkeypatch.setattr(incidence, "_BLOCK", block)
    rng = np.random.default_rng(2)
    log = answers(rng.uniform(1, 5, 40).round(1), noise=rng.integers(0, 3, 40), bound=3.0)
    found = random_sparse(rng, 40, 25, contributions=contributions)
    spent = epsilon_per_record(log, found, DELTA)
    pure, squares, cost = in_a_dictionary(log, found)
    for record in range(25):
        gaussian = gdp.epsilon_at(float(np.sqrt(squares[record])), DELTA)
        assert spent.epsilon[record] == pytest.approx(pure[record] + gaussian, rel=1e-9)
        expected = heapq.nsmallest(3, cost[record])
        kept = spent.top[record] >= 0
        assert spent.top_epsilon[record][kept] == pytest.approx([-one for one, _ in expected], abs=1e-9)
        if not contributions:
            assert spent.top[record][kept].tolist() == [query for _, query in expected]


def test_record_in_no_query_has_epsilon_zero():
    spent = epsilon_per_record(answers([2.0, 4.0]), sparse(2, 3, [0, 1], [0, 0]), DELTA)
    assert spent.epsilon.tolist() == [0.75, 0.0, 0.0]
    assert spent.top.tolist() == [[0, 1, -1], [-1, -1, -1], [-1, -1, -1]]


def test_ties_name_the_earliest_queries():
    spent = epsilon_per_record(answers([1.0] * 5), sparse(5, 1, [4, 3, 2, 1, 0], [0] * 5), DELTA)
    assert spent.top.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.3])
def test_many_gaussian_epsilons_match_single_ones(delta):
    mus = np.array([0.0, 1e-6, 0.01, 0.3, 1.0, 5.0, 60.0])
    expected = [gdp.epsilon_at(mu, delta) for mu in mus.tolist()]
    np.testing.assert_allclose(gaussian_epsilons(mus, delta), expected, rtol=1e-9, atol=1e-12)
