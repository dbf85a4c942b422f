import numpy as np
import pytest

from domains.queries.small_table import game, known
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.knowledge import build


def test_known_records_are_present_and_not_targets():
    challenger = game(targets=5)
    found = known(challenger, records=200)
    assert len(found.ids) == len(set(found.ids)) == 200
    assert not set(found.ids) & set(found.targets)
    assert set(found.ids) <= set(challenger.table.records.ids)
    assert (found.values == 1).all()
    assert not found.whole


def test_informed_attacker_knows_the_whole_query():
    found = known(game(targets=5))
    assert len(found.ids) == 995
    assert found.whole


def test_knowledge_is_nested():
    challenger = game()
    assert known(challenger, records=5).ids == known(challenger, records=9).ids[:5]


def test_only_selected_records_are_known():
    challenger = game(query={"where": "smoker"})
    found, table = known(challenger), challenger.table.records
    smokers = {table.ids[row] for row in np.flatnonzero(table.columns["smoker"])}
    assert set(found.ids) | set(found.targets) == smokers


def test_values_are_contributions_to_the_sum():
    challenger = game(query={"kind": "sum", "column": "income", "bound": 30.0}, targets=4)
    found, incomes = known(challenger), challenger.table.records.columns["income"]
    np.testing.assert_allclose(found.values, np.minimum(incomes[list(found.ids)], 30))
    np.testing.assert_allclose(found.shifts, np.minimum(incomes[list(found.targets)], 30))
    assert found.noise.noise_scale == pytest.approx(30 / 0.3)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("known", {"records": 1000}, "selects 999 records besides"),
        ("known", {"records": -1}, "records must be >= 0"),
        ("known", {"record": 3}, "did you mean 'records'"),
        ("knows", {}, "did you mean 'known'"),
    ],
)
def test_rejects_unavailable_knowledge(name, parameters, message):
    with pytest.raises(BadInput, match=message):
        build(name, parameters, game(), 1)


def test_adversary_has_one_oracle():
    """Of two with the same noise, one asked about the target and the other not, the difference is the bit."""
    challenger = game(budget=0.6)
    found = known(challenger)
    seen = found.view(challenger.release(np.array([[True], [False]]), np.random.default_rng(1)))
    other, target = found.ids[0], found.targets[0]
    with_target = seen.oracle().ask(found.query.on([other, target]))
    without = seen.oracle().ask(found.query.on([other]))
    assert not np.isin(np.abs(with_target - without).round(9), [0, 1]).any()
    assert np.isnan(seen.oracle().ask(found.query.on([found.ids[1]]))).all()
    np.testing.assert_allclose(found.spent(seen)["sequential"], 0.6)


def test_budget_is_counted_from_both_sides():
    """By hand: six questions about the first target, one about the second, a budget for three answers."""
    challenger = game(targets=2, budget=0.9, accountant="per_row")
    knowledge = known(challenger)
    members = np.array([[True, False], [False, False]])
    seen = knowledge.view(challenger.release(members, np.random.default_rng(1)))
    oracle, (first, second) = seen.oracle(), knowledge.targets
    for other in knowledge.ids[:6]:
        oracle.ask(knowledge.query.on((first, other)))
    oracle.ask(knowledge.query.on((second,)))
    spent = knowledge.spent(seen)
    np.testing.assert_allclose(spent["obtained"], [[0.9, 0.3], [1.8, 0.3]])
    np.testing.assert_allclose(spent["believed"].ravel(), [0.9, 0.3])  # as per_row has it: members alone
    np.testing.assert_allclose(spent["per_row"], spent["believed"])
    np.testing.assert_allclose(spent["sequential"].ravel(), [1.2, 2.1])
    np.testing.assert_allclose(spent["per_predicate"].ravel(), [0.9, 1.8])
    assert not spent["none"].any()


def test_no_query_spends_nothing():
    challenger = game()
    knowledge = known(challenger)
    seen = knowledge.view(challenger.release(np.ones((3, 1), bool), np.random.default_rng(1)))
    assert all((epsilon == 0).all() for epsilon in knowledge.spent(seen).values())


def test_bit_dependent_accounts_are_hidden():
    """What ``per_row`` has written down after one question is the bit itself."""
    challenger = game()
    knowledge = known(challenger)
    seen = knowledge.view(challenger.release(np.array([[True], [False]]), np.random.default_rng(1)))
    oracle = seen.oracle()
    oracle.ask(knowledge.query.on(knowledge.targets))
    assert knowledge.spent(seen)["per_row"].ravel().tolist() == [0.3, 0.0]
    open_to_all = {name for thing in (seen, oracle) for name in dir(thing) if not name.startswith("_")}
    assert open_to_all == {"n_rounds", "oracle", "ask"}
