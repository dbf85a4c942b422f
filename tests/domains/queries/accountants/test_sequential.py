import numpy as np
import pytest

from domains.queries.accountants.random_queries import answered, asked, queries, with_and_without


def test_every_answer_is_charged_until_budget_is_spent():
    table, _ = with_and_without(np.random.default_rng(1))
    allowed, spent = answered("sequential", [[0], [1]], asked(table, queries(np.random.default_rng(2), 6)), 4)
    assert allowed[:, 0].tolist() == allowed[:, 1].tolist() == [True] * 4 + [False] * 2
    assert spent[:, 0].tolist() == [1, 2, 3, 4, 4, 4]


@pytest.mark.parametrize("seed", range(10))
def test_neighbouring_tables_are_charged_the_same(seed):
    rng = np.random.default_rng(seed)
    drawn = queries(rng, 12)
    one, other = (answered("sequential", [[0], [1]], asked(t, drawn), 7) for t in with_and_without(rng))
    np.testing.assert_array_equal(one, other)
