import numpy as np
import pytest

from domains.queries.small_table import records
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.people import choose_targets
from leakgauge.domains.queries.query import Kind, Query
from leakgauge.domains.queries.tables import Choose, Targets

SUM = Query(kind=Kind.SUM, column="income", bound=65.0)


def chosen(query, seed=1, table=None, **said):
    return choose_targets(table or records(), query, Targets(**said), np.random.default_rng(seed)).tolist()


def test_targets_are_drawn_from_those_whom_the_query_selects():
    drawn = {row for seed in range(40) for row in chosen(Query(where="age > 30"), seed, n=2)}
    assert drawn == {3, 4, 5, 6, 7, 8}


def test_the_records_that_move_a_sum_most_may_be_chosen():
    assert set(chosen(SUM, n=3, choose=Choose.MOST)) <= {7, 8, 9}  # clipped at 65, all alike
    assert chosen(Query(kind=Kind.SUM, column="income", bound=2000.0), n=1, choose=Choose.MOST) == [9]


def test_who_adds_nothing_is_no_target():
    table = records(income=np.array([0.0] * 8 + [1.0, 2.0]))
    assert chosen(SUM, table=table, n=2) == [8, 9]
    with pytest.raises(BadInput, match="3 wanted, but the query selects 2"):
        chosen(SUM, table=table, n=3)
    with pytest.raises(BadInput, match="'income' of '3' is 0"):
        chosen(SUM, table=table, names=(3,))


def test_named_targets_come_in_their_order_by_number_or_text():
    assert chosen(Query(), names=(7, "2")) == [7, 2]
