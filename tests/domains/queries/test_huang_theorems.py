"""Theorems 1 to 4 of Huang et al., against the oracle in this process."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries import challenger, knowledge
from leakgauge.domains.queries.target_questions import SelectBy, split_questions

EPSILON, M = 0.4, 12
SUM = {"kind": "sum", "column": "income", "bound": 80.0}


def game(records=None, **setting):
    setting = {"accountant": "none", **setting}
    mechanism = {"name": "laplace", "epsilon": EPSILON}
    owner = challenger.build(data={}, challenger=setting, mechanism=mechanism, folder=Path(), seed=5)
    return owner, knowledge.build("known", {} if records is None else {"records": records}, owner, seed=5)


def asked(owner, known, members, seed=1):
    """What was spent by then, and the answers."""
    seen = known.view(owner.release(members, np.random.default_rng(seed)))
    samples = split_questions(known, M, SelectBy.IDS).questions.ask(seen.oracle())
    return known.spent(seen), samples


@pytest.mark.parametrize("query", [{"kind": "count"}, SUM])
@pytest.mark.parametrize("present", [False, True])
def test_theorem_1_split_answers_are_independent(query, present):
    owner, known = game(query=query)
    _, samples = asked(owner, known, np.full((4_000, 1), present))
    noise = samples[:, 0] - present * known.shifts[0]
    scale = known.query.sensitivity / EPSILON
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=scale).cdf).pvalue > 1e-4
    between = np.corrcoef(noise.T)[~np.eye(M, dtype=bool)]
    assert np.abs(between).max() < 4.5 / np.sqrt(4_000)


def test_theorem_2_needs_as_many_known_records_as_answers():
    owner, known = game(records=M)
    assert asked(owner, known, np.ones((2, 1), dtype=bool))[1].shape == (2, 1, M)
    with pytest.raises(BadInput, match=f"queries = {M}"):
        split_questions(game(records=M - 1)[1], M, SelectBy.IDS)


def test_theorem_3_adversary_obtains_m_epsilon():
    owner, known = game()
    spent, _ = asked(owner, known, np.array([[True], [False]]))
    np.testing.assert_allclose(spent["obtained"], M * EPSILON)


def test_theorem_4_per_row_accountant_underestimates_absent_targets():
    owner, known = game()
    spent, _ = asked(owner, known, np.array([[True], [False]]))
    np.testing.assert_allclose(spent["per_row"].ravel(), [M * EPSILON, EPSILON])
    np.testing.assert_allclose(spent["per_predicate"].ravel(), [M * EPSILON, M * EPSILON])  # the sound one
    np.testing.assert_allclose(spent["sequential"].ravel(), [M * EPSILON, M * EPSILON])


def test_theorem_4_budget_refuses_members_only():
    owner, known = game(accountant="per_row", budget=(M - 1) * EPSILON)
    _, samples = asked(owner, known, np.array([[True], [False]]))
    assert np.isnan(samples[:, 0]).sum(axis=1).tolist() == [1, 0]
