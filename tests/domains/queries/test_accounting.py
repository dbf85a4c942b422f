import numpy as np
import pytest

from domains.queries.small_table import table
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.accounting import AnswerCounts, Ledger, accountant_names, find_accountant
from leakgauge.domains.queries.query import Query


@pytest.mark.parametrize("name", accountant_names())
def test_every_accountant_has_description_and_soundness(name):
    found = find_accountant(name)
    assert found.__doc__
    assert found.sound is (name in ("sequential", "per_predicate"))


def test_rejects_unknown_accountant():
    with pytest.raises(BadInput, match="did you mean 'sequential'"):
        find_accountant("sequentially")


@pytest.mark.parametrize("seed", range(5))
def test_tally_matches_dense_table(seed):
    rng = np.random.default_rng(seed)
    tally, table = AnswerCounts(3), np.zeros((3, 40), dtype=int)
    for _ in range(60):
        things = rng.permutation(40)[: rng.integers(0, 12)]
        assert tally.most(things).tolist() == table[:, things].max(axis=1, initial=0).tolist()
        answered = rng.random(3) < 0.7
        tally.add(things, answered)
        table[:, things] += answered[:, None]
        assert tally.largest.tolist() == table.max(axis=1).tolist()


def test_memory_grows_with_distinct_histories():
    tally = AnswerCounts(1)
    for half in (np.arange(0, 100_000, 2), np.arange(50_000)):
        tally.add(half, np.array([True]))
    assert len(tally._counts) <= 4 + 1


def test_answers_are_charged_to_rounds_that_got_them():
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


def test_no_answer_costs_nothing():
    ledger = Ledger(np.ones((3, 2), dtype=bool), 0.5)
    assert ledger.obtained.tolist() == [[0.0, 0.0]] * 3
    assert all((spent == 0).all() for spent in ledger.believed.values())
