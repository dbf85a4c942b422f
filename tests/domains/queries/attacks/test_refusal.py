import numpy as np
import pytest

from domains.queries.fake_oracle import auc, knowledge, played, success
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attacks.refusal import Attack, refusal_scores


def test_per_row_accountant_reveals_members():
    known = knowledge(epsilon=0.3, accountant="per_row", budget=3.0)
    assert success(Attack(queries=11), known, 2_000) == (1.0, 0.0)
    assert auc(Attack(queries=30), known).low >= 0.99


def test_too_few_queries_are_never_refused():
    known = knowledge(epsilon=0.3, accountant="per_row", budget=3.0)
    assert (played(Attack(queries=10), known, 200)[1] == -1).all()


@pytest.mark.parametrize("accountant", ["per_predicate", "sequential", "none"])
def test_sound_accountant_refusals_are_uninformative(accountant):
    known = knowledge(epsilon=0.3, accountant=accountant, budget=3.0)
    found = auc(Attack(queries=30), known)
    assert found.low <= 0.5 <= found.high
    members, scores, _ = played(Attack(queries=30), known, 500)
    assert np.unique(scores).size == 1  # not by chance: it is the same in every round
    assert np.unique(members).size == 2


def test_targets_are_refused_separately():
    known = knowledge(epsilon=1.0, accountant="per_row", budget=3.0, shifts=(1.0, 1.0, 1.0))
    members, scores, _ = played(Attack(queries=5), known, 300)
    np.testing.assert_array_equal(scores > 0, members)


def test_score_is_position_of_refusal():
    answers = np.array([[[1.0, 1.0, 1.0, np.nan]], [[1.0, np.nan, np.nan, np.nan]], [[1.0] * 4]])
    assert refusal_scores(answers).ravel().tolist() == [0.25, 0.75, -1.0]


def test_budget_below_one_answer_scores_zero():
    known = knowledge(epsilon=1.0, accountant="per_row", budget=0.5)
    assert (played(Attack(queries=5), known, 100)[1] == 0).all()


def test_rejects_single_query():
    with pytest.raises(BadInput, match=r"queries must be in 2\.\."):
        Attack(queries=1)
