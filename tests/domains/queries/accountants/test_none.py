import numpy as np

from domains.queries.accountants.random_queries import answered, asked, queries, with_and_without


def test_counts_and_refuses_nothing():
    table, _ = with_and_without(np.random.default_rng(1))
    allowed, spent = answered("none", [[0], [1]], asked(table, queries(np.random.default_rng(2), 30)), 1)
    assert allowed.all()
    assert not spent.any()
