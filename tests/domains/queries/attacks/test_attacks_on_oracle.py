"""The attacks against the oracle in this process, set up from the tables of a plan."""

from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import challenger, knowledge
from leakgauge.domains.queries.attacks import (
    combined,
    refusal,
    repeat,
    split_likelihood,
    split_midpoint,
    split_t_test,
)
from leakgauge.referee.metrics import auc
from leakgauge.theory import query_splitting

INCOME = {"kind": "sum", "column": "income", "bound": 50.0}


def trials(attack, setting, mechanism, n_rounds=4_000, records=None):
    owner = challenger.build(data={}, challenger=setting, mechanism=mechanism, folder=Path(), seed=3)
    known = knowledge.build("known", {} if records is None else {"records": records}, owner, seed=3)
    adversary = Adversary(known, attack.study(known, stream(1, Role.STUDY)))
    return known, play(owner, {"it": adversary}, 1, range(n_rounds), 0)["it"]


def success(found):
    says = found.scores >= found.reading.threshold
    return (says[found.members].mean() + 1 - says[~found.members].mean()) / 2


def laplace(epsilon):
    return {"name": "laplace", "epsilon": epsilon}


def near(value, expected, n_rounds):
    """Within four standard errors of a balanced accuracy, at their largest."""
    return abs(value - expected) < 4 * np.sqrt(0.25 / n_rounds)


@pytest.mark.parametrize("by", ["ids", "predicate"])
def test_split_attack_success_matches_theory(by):
    setting = {"accountant": "none"}
    for attack, expected in (
        (split_midpoint.Attack(queries=10, by=by), query_splitting.midpoint_laplace(10, 1.0)),
        (split_likelihood.Attack(queries=10, by=by), query_splitting.optimum_laplace(10, 1.0)[0]),
        (split_t_test.Attack(queries=10, by=by), query_splitting.success_laplace(10, 1.0)),
    ):
        _, found = trials(attack, setting, laplace(1.0))
        assert near(success(found), expected, 4_000)


@pytest.mark.parametrize(
    ("m", "epsilon", "textbook", "paper", "one_sided", "midpoint", "likelihood"),
    [
        (10, 1.0, 0.766, 0.777, 0.825, 0.873, 0.916),
        (29, 0.33, 0.600, 0.604, 0.655, 0.737, 0.802),
        (10, 0.3, 0.532, 0.533, 0.564, 0.636, 0.675),
    ],
)
def test_success_matches_known_values(m, epsilon, textbook, paper, one_sided, midpoint, likelihood):
    for attack, expected in (
        (split_t_test.Attack(queries=m), textbook),
        (split_t_test.Attack(queries=m, form="paper"), paper),
        (split_t_test.Attack(queries=m, sides=1), one_sided),
        (split_midpoint.Attack(queries=m), midpoint),
        (split_likelihood.Attack(queries=m), likelihood),
    ):
        _, found = trials(attack, {"accountant": "none"}, laplace(epsilon), 100_000)
        assert success(found) == pytest.approx(expected, abs=0.01)


def test_success_on_sums_depends_on_value_over_bound():
    known, found = trials(split_likelihood.Attack(), {"accountant": "none", "query": INCOME}, laplace(1.0))
    value = float(known.shifts[0])
    assert 0 < value < 50
    expected = query_splitting.optimum_laplace(10, query_splitting.laplace_ratio(1.0, value, 50.0))[0]
    assert near(success(found), expected, 4_000)


@pytest.mark.parametrize("accountant", ["per_predicate", "sequential"])
def test_sound_accountant_refusals_reveal_nothing(accountant):
    setting = {"accountant": accountant, "budget": 3.0}
    _, found = trials(refusal.Attack(queries=30), setting, laplace(0.3))
    answer = auc.Metric(confidence=0.99)(found)
    assert answer.low <= 0.5 <= answer.high
    assert np.unique(found.scores).size == 1


def test_per_row_refusals_reveal_membership():
    setting = {"accountant": "per_row", "budget": 3.0}
    for attack in (refusal.Attack(queries=11), combined.Attack(queries=11)):
        _, found = trials(attack, setting, laplace(0.3))
        assert success(found) >= 0.99
        assert auc.Metric(confidence=0.99)(found).low >= 0.99


def test_ten_known_records_are_too_few_for_refusals():
    setting = {"accountant": "per_row", "budget": 3.0}
    _, found = trials(combined.Attack(test="likelihood"), setting, laplace(0.3), records=10)
    assert near(success(found), query_splitting.optimum_laplace(10, 0.3)[0], 4_000)


def test_several_targets_are_refused_separately():
    setting = {"accountant": "per_row", "budget": 3.0, "targets": 5}
    _, found = trials(refusal.Attack(queries=12), setting, laplace(0.3), 200)
    np.testing.assert_array_equal(found.scores > 0, found.members)


def test_rejects_too_few_known_records_for_refusals():
    setting = {"accountant": "per_row", "budget": 3.0, "targets": 5}
    for attack in (refusal.Attack(queries=12), combined.Attack(queries=12)):
        with pytest.raises(BadInput, match="which takes 60 records"):
            trials(attack, setting, laplace(0.3), 10, records=59)


@pytest.mark.parametrize(
    ("cache", "wording", "m"),
    [
        ("none", "same", 20),
        ("text", "same", 1),
        ("text", "reworded", 20),
        ("canonical", "same", 1),
        ("canonical", "reworded", 1),
        ("canonical", "equivalent", 20),
    ],
)
def test_canonical_cache_stops_rewording(cache, wording, m):
    setting = {"accountant": "none", "cache": cache}
    _, found = trials(repeat.Attack(queries=20, wording=wording), setting, laplace(0.5))
    assert near(success(found), query_splitting.midpoint_laplace(m, 0.5), 4_000)


def test_split_queries_pass_caches_but_not_sound_budget():
    _, found = trials(split_midpoint.Attack(queries=20), {"accountant": "none"}, laplace(0.5))
    assert near(success(found), query_splitting.midpoint_laplace(20, 0.5), 4_000)
    setting = {"accountant": "per_predicate", "budget": 2.0}
    _, found = trials(split_midpoint.Attack(queries=20), setting, laplace(0.5))
    assert near(success(found), query_splitting.midpoint_laplace(4, 0.5), 4_000)
