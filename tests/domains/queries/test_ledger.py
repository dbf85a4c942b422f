import numpy as np

from domains.queries.small_table import table
from leakgauge.domains.queries.ledger import Ledger
from leakgauge.domains.queries.query import Query


def test_answers_cost_those_who_got_them():
    """Two targets, four worlds; answers that some did not get."""
    worlds = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    ledger, people = Ledger(worlds, 0.5), table((8, 9))
    ledger.add(people.ask(Query(ids=(1, 8))), np.array([1, 1, 1, 1], dtype=bool))
    ledger.add(people.ask(Query(ids=(2, 8, 9))), np.array([1, 1, 0, 0], dtype=bool))
    ledger.add(people.ask(Query(ids=(3,))), np.array([1, 0, 0, 0], dtype=bool))
    assert ledger.obtained.tolist() == [[1.0, 0.5], [1.0, 0.5], [0.5, 0.0], [0.5, 0.0]]
    assert {name: spent.tolist() for name, spent in ledger.believed.items()} == {
        "none": [0.0, 0.0, 0.0, 0.0],
        "per_predicate": [1.0, 1.0, 0.5, 0.5],
        "per_row": [0.5, 1.0, 0.5, 0.5],
        "sequential": [1.5, 1.0, 0.5, 0.5],
    }


def test_nothing_costs_nothing():
    ledger = Ledger(np.ones((3, 2), dtype=bool), 0.5)
    assert ledger.obtained.tolist() == [[0.0, 0.0]] * 3
    assert all((spent == 0).all() for spent in ledger.believed.values())
