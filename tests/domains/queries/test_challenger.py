import pickle

import numpy as np
import pytest

from domains.queries.small_table import game, known, records
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.queries.challenger import choose_targets
from leakgauge.domains.queries.plan_tables import QueriesTargetOrder, QueriesTargetsTable
from leakgauge.domains.queries.query import Query, QueryKind

SUM = Query(kind=QueryKind.SUM, column="income", bound=65.0)


def chosen(query, seed=1, table=None, **options):
    return choose_targets(
        table or records(), query, QueriesTargetsTable(**options), np.random.default_rng(seed)
    ).tolist()


def test_targets_are_drawn_from_selected_records():
    drawn = {row for seed in range(40) for row in chosen(Query(where="age > 30"), seed, n=2)}
    assert drawn == {3, 4, 5, 6, 7, 8}


def test_largest_contributions_may_be_chosen():
    assert set(chosen(SUM, n=3, choose=QueriesTargetOrder.MOST)) <= {7, 8, 9}  # clipped at 65, all alike
    assert chosen(
        Query(kind=QueryKind.SUM, column="income", bound=2000.0), n=1, choose=QueriesTargetOrder.MOST
    ) == [9]


def test_record_without_contribution_is_no_target():
    table = records(income=np.array([0.0] * 8 + [1.0, 2.0]))
    assert chosen(SUM, table=table, n=2) == [8, 9]
    with pytest.raises(BadInput, match="3 wanted, but the query selects 2"):
        chosen(SUM, table=table, n=3)
    with pytest.raises(BadInput, match="'income' of '3' is 0"):
        chosen(SUM, table=table, names=(3,))


def test_named_targets_keep_order():
    assert chosen(Query(), names=(7, "2")) == [7, 2]


def test_coins_are_fair_and_per_target():
    challenger = game(targets=3)
    members = challenger.flip(4_000, np.random.default_rng(1))
    assert members.shape == (4_000, challenger.n_targets) == (4_000, 3)
    assert np.abs(members.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(4_000)
    assert challenger.coins is Coins.FAIR


def test_promise_is_per_record_with_nominal_epsilon_of_one_answer():
    promised = game(budget=3.0).guarantee
    assert (promised.unit, promised.relation) == (Unit.RECORD, Relation.ADD_REMOVE)
    assert promised.epsilon == pytest.approx(3.0)
    assert promised.nominal_epsilon == 0.3
    assert game(budget=3.0, accountant="per_row").guarantee is None
    assert game(budget=3.0, accountant="per_row", promise=3.0).guarantee.epsilon == 3.0


def test_digest_covers_everything_that_changes_the_game():
    plans = [
        {},
        {"budget": 3.0},
        {"targets": 2},
        {"accountant": "none"},
        {"cache": "none"},
        {"query": {"where": "age > 30"}},
        {"mechanism": {"name": "laplace", "epsilon": 0.4}},
        {"data": {"records": 999}},
        {"seed": 2},
    ]
    assert len({game(**plan).digest for plan in plans}) == len(plans)
    assert game().digest == game().digest


def test_challenger_can_be_pickled():
    challenger = game(targets=2, budget=3.0, accountant="per_row")
    there = pickle.loads(pickle.dumps(challenger))
    members = challenger.flip(50, np.random.default_rng(1))
    query = Query(where="age > 30 AND region = 'north'")
    one, other = (
        c.release(members, np.random.default_rng(2)).oracle().ask(query) for c in (challenger, there)
    )
    np.testing.assert_array_equal(one, other)


def test_every_oracle_of_a_block_is_new():
    challenger = game(budget=0.3)
    played = challenger.release(np.ones((5, 1), dtype=bool), np.random.default_rng(2))
    first = played.oracle()
    answers = first.ask(Query())
    assert np.isnan(first.ask(Query(where="age > 30"))).all()
    np.testing.assert_array_equal(played.oracle().ask(Query()), answers)
    np.testing.assert_array_equal(known(challenger).view(played).oracle().ask(Query()), answers)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"where": "agee > 3"}, "challenger.query.where = 'agee > 3': no column is called 'agee'"),
        (
            {"where": "1=1; DROP TABLE records"},
            "challenger.query.where = '1=1; DROP TABLE records': contains a",
        ),
        (
            {"where": "hello world"},
            "challenger.query.where = 'hello world': is not a predicate: syntax error",
        ),
        ({"kind": "sum", "column": "incom", "bound": 1.0}, "challenger.query.column: no column is called"),
        ({"kind": "sum", "column": "region", "bound": 1.0}, "challenger.query.column: 'region' is VARCHAR"),
    ],
)
def test_rejects_invalid_query_with_its_plan_key(query, message):
    with pytest.raises(BadInput) as refusal:
        game(query=query)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_targets_digest_is_that_of_data_and_targets():
    names = {"targets": {"names": [3]}}
    assert game(**names).targets_digest == game(**names, budget=0.6, mechanism=NOISIER).targets_digest
    assert game(**names).targets_digest != game(targets={"names": [4]}).targets_digest
    assert game(**names).targets_digest != game(**names, data={"records": 50}).targets_digest


NOISIER = {"name": "laplace", "epsilon": 0.1}


def test_utility_of_a_service_is_what_its_analysts_get():
    """Three answers of 0.3 for 0.95, each with Laplace noise whose absolute value is 10 / 3 on average."""
    found = game(budget=0.95).utility
    assert found["paid_answers"] == 3
    assert found["answer_error"] == pytest.approx(1 / 0.3, rel=0.01)
    assert "paid_answers" not in game(budget=0.95, accountant="none").utility
