import math

import numpy as np
import pytest

from domains.queries.fake_oracle import FakeSeen, knowledge, played, success
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attacks import split_likelihood, split_t_test
from leakgauge.domains.queries.attacks.combined import Attack
from leakgauge.theory import query_splitting

FLAWED = {"epsilon": 0.3, "accountant": "per_row", "budget": 3.0}


@pytest.mark.parametrize("test", ["t_test", "midpoint", "likelihood"])
def test_enough_known_records_win(test):
    assert success(Attack(queries=11, test=test), knowledge(**FLAWED), 4_000)[0] >= 0.99  # cases 3 and 4


def test_answers_decide_without_known_records():
    known = knowledge(**FLAWED)
    scores = played(Attack(queries=10), known, 5_000)[1]  # cases 1 and 2
    np.testing.assert_array_equal(scores, played(split_t_test.Attack(queries=10), known, 5_000)[1])


@pytest.mark.parametrize("accountant", ["sequential", "per_predicate", "none"])
def test_only_answers_count_under_sound_accountant(accountant):
    known = knowledge(epsilon=0.3, accountant=accountant, budget=3.0)
    found = played(Attack(queries=30, test="likelihood"), known, 500)[1]
    np.testing.assert_array_equal(found, played(split_likelihood.Attack(queries=30), known, 500)[1])


def test_t_test_alone_misses_absent_targets():
    """Case 3 as the paper argues it: a test of level .05 errs at that rate, however many the answers."""
    known = knowledge(epsilon=1.0, accountant="per_row", budget=3.0)
    nobody = FakeSeen(known, np.zeros((4_000, 1), dtype=bool))
    by_test, by_case = (
        attack.study(known, np.random.default_rng(0)).score(nobody, np.random.default_rng(0))
        for attack in (split_t_test.Attack(queries=100), Attack(queries=100))
    )
    assert (by_test >= 0).mean() == pytest.approx(query_splitting.size_laplace(100), abs=0.012)
    assert (by_case < 0).all()


def test_refusal_of_first_query_is_uninformative():
    known = knowledge(epsilon=1.0, accountant="per_row", budget=0.5)
    assert (played(Attack(queries=5), known, 50)[1] == 0).all()


def test_budget_multiple_of_epsilon_is_exact():
    known = knowledge(epsilon=0.1, accountant="per_row", budget=0.3)  # 3 x 0.1 is 0.30000000000000004
    scores = played(Attack(queries=3), known, 200)[1]
    assert (np.abs(scores) < 1e5).all()


@pytest.mark.parametrize("wrong", [{"queries": 1}, {"level": 0.0}, {"level": math.nan}, {"sides": 0}])
def test_rejects_bad_parameters(wrong):
    with pytest.raises(BadInput, match="must be"):
        Attack(**wrong)
