import numpy as np
import pytest

from domains.queries.small_table import game, known
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.knowledge import build


def test_known_records_are_certainly_there_and_no_targets():
    challenger = game(targets=5)
    found = known(challenger, records=200)
    assert len(found.ids) == len(set(found.ids)) == 200
    assert not set(found.ids) & set(found.targets)
    assert set(found.ids) <= set(challenger.table.records.ids)
    assert (found.values == 1).all()
    assert not found.whole


def test_who_knows_all_others_knows_the_whole_query():
    found = known(game(targets=5))
    assert len(found.ids) == 995
    assert found.whole


def test_who_knows_fewer_knows_some_of_the_same():
    challenger = game()
    assert known(challenger, records=5).ids == known(challenger, records=9).ids[:5]


def test_only_records_that_the_query_selects_are_of_use():
    challenger = game(query={"where": "smoker"})
    found, table = known(challenger), challenger.table.records
    smokers = {table.ids[row] for row in np.flatnonzero(table.columns["smoker"])}
    assert set(found.ids) | set(found.targets) == smokers


def test_values_are_what_records_add_to_a_sum():
    challenger = game(query={"kind": "sum", "column": "income", "bound": 30.0}, targets=4)
    found, incomes = known(challenger), challenger.table.records.columns["income"]
    np.testing.assert_allclose(found.values, np.minimum(incomes[list(found.ids)], 30))
    np.testing.assert_allclose(found.shifts, np.minimum(incomes[list(found.targets)], 30))
    assert found.noise.noise_scale == pytest.approx(30 / 0.3)


@pytest.mark.parametrize(
    ("name", "parameters", "word"),
    [
        ("known", {"records": 1000}, "selects 999 records besides"),
        ("known", {"records": -1}, "records must be >= 0"),
        ("known", {"record": 3}, "did you mean 'records'"),
        ("knows", {}, "did you mean 'known'"),
    ],
)
def test_knowledge_that_cannot_be_had_is_refused(name, parameters, word):
    with pytest.raises(BadInput, match=word):
        build(name, parameters, game(), 1)
