import pickle

import numpy as np
import pytest

from domains.queries.small_table import table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Kind, Query


def test_the_others_are_added_up_and_every_target_stands_alone():
    asked = table(targets=(9, 4)).ask(
        Query(kind=Kind.SUM, column="income", bound=50.0, where="income > 30 OR id = 4")
    )
    assert asked.others.tolist() == [3, 5, 6, 7, 8]
    assert asked.total == 30.5 + 50 + 50 + 50 + 50
    assert asked.shifts.tolist() == [50, -40]
    assert asked.targets.tolist() == [True, True]


def test_a_target_that_is_not_selected_moves_nothing():
    asked = table(targets=(9, 4)).ask(Query(ids=(1, 4)))
    assert asked.targets.tolist() == [False, True]
    assert asked.shifts.tolist() == [0, 1]
    assert asked.total == 1


def test_a_query_is_looked_up_once():
    there = table()
    assert there.ask(Query(ids=(1,))) is there.ask(Query(ids=(1,)))


def test_a_table_travels_without_what_it_remembers():
    there = table()
    there.ask(Query(where="age > 30"))
    back = pickle.loads(pickle.dumps(there))
    assert back.targets.tolist() == [3]
    assert (
        back.ask(Query(where="age > 30")).others.tolist()
        == there.ask(Query(where="age > 30")).others.tolist()
    )


@pytest.mark.parametrize("targets", [(), (3, 3)])
def test_targets_are_some_records_each_once(targets):
    with pytest.raises(BadInput, match="each once"):
        table(targets=np.array(targets, dtype=int))
